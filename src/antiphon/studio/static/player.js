// Plays s16le mono PCM through the Web Audio API, as it comes and without a seam.
//
//   const player = new Player({ onReport: (statistics) => … });
//   await player.connect(24000);   // first time from a click, or the browser keeps silent
//   player.feed(arrayBuffer);      // any number of times; it plays once `leadMs` of sound, or of time, have come
//   player.end();                  // that was all: running dry is no underrun
//   player.flush();                // or: be silent at once, and forget what was not heard yet
//   await player.drained();        // everything was heard
//   await player.close();
//
// Its rate is the sound's, so nothing is resampled here; the browser converts to what the device plays.

const WORKLET = new URL("worklet.js", import.meta.url);
const BYTES_PER_SAMPLE = 2;

export class Player {
  #leadMs;
  #maxBufferedMs;
  #onReport;
  #context = null;
  #node = null;
  #opening = null;
  #fed = 0;
  #ordered = 0;
  #counts = null;
  #waiting = [];

  /**
   * @param {object} [options]
   * @param {number} [options.leadMs] sound that must have come before it begins, at first and after an underrun; it
   *   also begins when the first has waited so long
   * @param {number} [options.maxBufferedMs] sound that may wait to be heard
   * @param {(statistics: object) => void} [options.onReport] called with `statistics` ten times a second while there
   *   is sound, and whenever it begins or stops
   */
  constructor({ leadMs = 80, maxBufferedMs = 30 * 60 * 1000, onReport = () => {} } = {}) {
    this.#leadMs = leadMs;
    this.#maxBufferedMs = maxBufferedMs;
    this.#onReport = onReport;
  }

  /**
   * Be ready to play at a rate. At another rate than before, waits until everything was heard, and counts anew.
   * @param {number} sampleRate samples per second
   * @throws {DOMException} the browser plays no such rate
   */
  async connect(sampleRate) {
    await this.#opening;
    if (this.#context?.sampleRate !== sampleRate) {
      if (this.#context) {
        this.end();
        await this.drained();
        await this.close();
      }
      this.#opening = this.#open(sampleRate);
      await this.#opening.finally(() => (this.#opening = null));
    }
    // Not awaited: a browser that wants a click first answers when it has had one.
    if (this.#context.state === "suspended") this.#context.resume();
  }

  async #open(sampleRate) {
    const context = new AudioContext({ sampleRate, latencyHint: "interactive" });
    try {
      await context.audioWorklet.addModule(WORKLET);
    } catch (cause) {
      await context.close();
      throw new Error("the player's script cannot be loaded from the page's own server", { cause });
    }
    this.#context = context;
    this.#fed = this.#ordered = 0;
    this.#counts = { fed: 0, rendered: 0, flushed: 0, buffered: 0, underruns: 0, underrunSamples: 0, audibleFrame: null, playing: false, answered: 0 };
    this.#node = new AudioWorkletNode(context, "antiphon-pcm-player", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { leadMs: this.#leadMs },
    });
    this.#node.port.onmessage = ({ data }) => this.#take(data);
    this.#node.connect(context.destination);
  }

  /**
   * Play more.
   * @param {ArrayBuffer} pcm s16le mono samples at the rate of `connect`; it is given away
   * @throws {RangeError} it is no whole number of samples, or too much waits
   */
  feed(pcm) {
    if (pcm.byteLength % BYTES_PER_SAMPLE) throw new RangeError("PCM comes in whole samples");
    const samples = new Int16Array(pcm);
    if (samples.length === 0) return;
    const { rendered, flushed } = this.#counts;
    const waiting = this.#fed - rendered - flushed + samples.length;
    if (waiting * 1000 > this.#maxBufferedMs * this.#context.sampleRate) {
      throw new RangeError("more sound waits to be heard than may");
    }
    this.#fed += samples.length;
    this.#order({ order: "feed", samples }, [samples.buffer]);
  }

  /** Say that this was all for now. Feeding again begins another stretch of sound. */
  end() {
    this.#order({ order: "end" });
  }

  /** Be silent within a few milliseconds, and forget what was not heard yet. */
  flush() {
    this.#order({ order: "flush" });
  }

  /** Resolves when everything that was fed was heard or forgotten. */
  async drained() {
    while (this.#counts && this.#fed > this.#counts.rendered + this.#counts.flushed) await this.#report();
  }

  /** Resolves to `statistics` as they are now. */
  async measure() {
    this.#order({ order: "measure" });
    const ordered = this.#ordered;
    while (this.#counts?.answered < ordered) await this.#report();
    return this.statistics;
  }

  /**
   * Figures as of the last report, null before `connect`: samples `fed`, `rendered`, `flushed` and `buffered`; holes
   * between samples (`underruns`) and how long they were; `audibleAt`, when the first sound of this stretch that is no
   * silence left the device, on the clock of `performance.now()`.
   */
  get statistics() {
    if (!this.#counts) return null;
    const { sampleRate } = this.#context;
    const { underrunSamples, audibleFrame, answered, ...counts } = this.#counts;
    const ms = (samples) => (samples / sampleRate) * 1000;
    return {
      ...counts,
      sampleRate,
      bufferedMs: ms(counts.buffered),
      underrunMs: ms(underrunSamples),
      audibleAt: audibleFrame === null ? null : this.#timeOf(audibleFrame),
    };
  }

  /** Let go of the device. `connect` takes it again. */
  async close() {
    const context = this.#context;
    this.#node?.disconnect();
    this.#context = this.#node = this.#counts = null;
    this.#wake();
    await context?.close();
  }

  #order(order, transfer = []) {
    if (!this.#node) return;
    this.#ordered += 1;
    this.#node.port.postMessage(order, transfer);
  }

  #timeOf(frame) {
    const { currentTime, sampleRate, outputLatency = 0 } = this.#context;
    return performance.now() - (currentTime - frame / sampleRate - outputLatency) * 1000;
  }

  #take(counts) {
    this.#counts = counts;
    this.#onReport(this.statistics);
    this.#wake();
  }

  #report() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
