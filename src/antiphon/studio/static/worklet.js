// Plays PCM as it comes, on the audio thread. `player.js` is what talks to it.

// Samples over which sound that is cut off fades, so that it ends without a click.
const FADE = 128;
// Of full scale, -60 dBFS: louder is heard, softer is silence.
const AUDIBLE = 1e-3;
const FULL_SCALE = 32768;
const REPORTS_PER_SECOND = 10;

class PcmPlayer extends AudioWorkletProcessor {
  constructor({ processorOptions: { leadMs } }) {
    super();
    this.lead = (leadMs * sampleRate) / 1000;
    this.chunks = []; // Int16Array, not yet played
    this.offset = 0; // samples of the first of them that were
    this.playing = false;
    this.ended = true; // no more will come of this stretch of sound
    this.waitingSince = 0; // frame at which the first sample that waits came
    this.tail = 0; // samples of what was cut off that still fade
    this.dry = 0; // samples of silence since it ran dry; an underrun once sound goes on
    this.nextReport = 0;
    this.counts = { fed: 0, rendered: 0, flushed: 0, buffered: 0, underruns: 0, underrunSamples: 0, audibleFrame: null };
    this.answered = 0; // orders
    this.port.onmessage = ({ data }) => {
      this[data.order](data);
      this.answered += 1;
      this.report();
    };
  }

  feed({ samples }) {
    if (this.ended) {
      this.ended = false;
      this.counts.audibleFrame = null;
    }
    if (this.counts.buffered === 0) this.waitingSince = currentFrame;
    this.chunks.push(samples);
    this.counts.fed += samples.length;
    this.counts.buffered += samples.length;
  }

  end() {
    this.ended = true;
    this.dry = 0;
  }

  flush() {
    const tail = new Int16Array(this.playing ? Math.min(FADE, this.counts.buffered) : 0);
    this.take(tail.length, (sample, i) => (tail[i] = sample * (1 - (i + 1) / tail.length)));
    this.counts.flushed += this.counts.buffered;
    this.chunks = tail.length ? [tail] : [];
    this.offset = 0;
    this.counts.buffered = this.tail = tail.length;
    this.end();
  }

  // Nothing: whatever the order, a report follows.
  measure() {}

  process(_inputs, [[output]]) {
    if (!this.playing && this.mayStart()) this.start();
    if (this.playing) this.render(output);
    else if (!this.ended && this.dry > 0) this.dry += output.length;
    if (this.playing && currentFrame >= this.nextReport) this.report();
    return true;
  }

  mayStart() {
    const { buffered } = this.counts;
    return buffered > 0 && (this.ended || buffered >= this.lead || currentFrame - this.waitingSince >= this.lead);
  }

  start() {
    this.playing = true;
    if (this.dry > 0) {
      this.counts.underruns += 1;
      this.counts.underrunSamples += this.dry;
      this.dry = 0;
    }
  }

  render(output) {
    const count = Math.min(output.length, this.counts.buffered);
    this.take(count, (sample, i) => (output[i] = sample / FULL_SCALE));
    this.counts.rendered += count;
    const faded = Math.min(this.tail, count);
    this.tail -= faded;
    if (this.counts.audibleFrame === null) this.listen(output, faded, count);
    if (count < output.length || (this.ended && this.counts.buffered === 0)) {
      this.playing = false;
      this.dry = this.ended ? 0 : output.length - count;
      this.report();
    }
  }

  listen(output, from, to) {
    const first = output.subarray(from, to).findIndex((sample) => Math.abs(sample) > AUDIBLE);
    if (first >= 0) {
      this.counts.audibleFrame = currentFrame + from + first;
      this.report();
    }
  }

  // Takes the next `count` samples, of which there are as many, off the queue.
  take(count, use) {
    for (let i = 0; i < count; i++) {
      use(this.chunks[0][this.offset], i);
      if (++this.offset === this.chunks[0].length) {
        this.chunks.shift();
        this.offset = 0;
      }
    }
    this.counts.buffered -= count;
  }

  report() {
    this.nextReport = currentFrame + sampleRate / REPORTS_PER_SECOND;
    this.port.postMessage({ ...this.counts, playing: this.playing, answered: this.answered });
  }
}

registerProcessor("antiphon-pcm-player", PcmPlayer);
