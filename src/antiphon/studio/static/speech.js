// The page's end of the bridge: one WebSocket, one utterance at a time.

const UNREACHABLE = "The page's own server cannot be reached. Is it still running?";

export class Speech {
  #url;
  #onEvent;
  #onAudio;
  #socket = null;
  #current = 0; // the utterance that is wanted; 0 is none
  #arriving = 0; // the utterance that what arrives is of
  #last = 0;

  /**
   * @param {string|URL} url of the bridge
   * @param {(event: object) => void} onEvent called with each marker, and with `{type: "error", message}`
   * @param {(pcm: ArrayBuffer) => void} onAudio called with each chunk
   */
  constructor(url, onEvent, onAudio) {
    this.#url = url;
    this.#onEvent = onEvent;
    this.#onAudio = onAudio;
  }

  /**
   * Say something, instead of whatever is being said.
   * @param {{text: string, voice: ?string, language: ?string, tokens_per_second: ?number}} request
   */
  speak(request) {
    this.#current = ++this.#last;
    this.#send({ type: "speak", id: this.#current, ...request });
  }

  /** Say no more; nothing of it is reported after this. */
  stop() {
    if (!this.#current) return;
    this.#current = 0;
    this.#send({ type: "stop" });
  }

  #send(message) {
    const data = JSON.stringify(message);
    const usable = this.#socket && this.#socket.readyState <= WebSocket.OPEN;
    const socket = usable ? this.#socket : (this.#socket = this.#open());
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
    else socket.addEventListener("open", () => socket.send(data), { once: true });
  }

  #open() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#take(data);
    socket.onclose = () => {
      if (socket === this.#socket && this.#current) this.#fail(UNREACHABLE);
    };
    return socket;
  }

  #take(data) {
    if (typeof data !== "string") {
      if (this.#arriving === this.#current) this.#onAudio(data);
      return;
    }
    const event = JSON.parse(data);
    // What has no id is about what was sent last.
    this.#arriving = event.id ?? this.#current;
    if (!this.#current || this.#arriving !== this.#current) return;
    if (event.type === "error") this.#fail(event.message);
    else this.#onEvent(event);
    if (event.type === "finished") this.#current = 0;
  }

  #fail(message) {
    this.#current = 0;
    this.#onEvent({ type: "error", message });
  }
}
