// What the page's buttons do, and what its panel shows.

import { Player } from "./player.js";
import { Speech } from "./speech.js";

// What most voices speak, so that the device is ready when the first of them does; the events have the say.
const LIKELY_RATE = 24000;
const MAX_MARKERS = 200;

const player = new Player({ onReport: showStatistics });
const speech = new Speech(new URL("speech", import.meta.url.replace(/^http/, "ws")), inTurn(take), inTurn(hear));

let utterance = null; // what is being said, or was last
let turns = Promise.resolve();

const NOTHING_YET = [
  ["first_sound", "–"],
  ["played", "0.0 s"],
  ["buffered", "0.0 s"],
  ["underruns", "0"],
  ["format", "–"],
];

function speak(text, voice, language, pace) {
  quiet();
  if (!text.trim()) return show("error", "There is no text to speak.");
  utterance = { at: performance.now(), chunks: 0, bytes: 0, received: 0, before: null, over: false };
  document.getElementById("antiphon-markers").replaceChildren();
  for (const [figure, value] of NOTHING_YET) setFigure(figure, value);
  showCounts();
  show("waiting", "Waiting for the first sound …");
  turns = connect(player.statistics?.sampleRate ?? LIKELY_RATE).catch(failing(utterance));
  speech.speak({ text, voice: voice || null, language: language || null, tokens_per_second: pace || null });
}

async function connect(sampleRate) {
  const said = utterance;
  await player.connect(sampleRate);
  said.before = await player.measure();
}

function stop() {
  if (!utterance || utterance.over) return;
  quiet();
  mark(performance.now(), "Stopped");
  show("ready", "Stopped.");
}

function quiet() {
  speech.stop();
  player.flush();
  if (utterance) utterance.over = true;
}

// Calls in the order of their arrival, each after what the one before waited for, while their utterance lasts.
function inTurn(handle) {
  return (argument) => {
    const of = utterance;
    const arrivedAt = performance.now();
    turns = turns.then(() => (of === utterance && !of.over ? handle(argument, arrivedAt) : undefined)).catch(failing(of));
  };
}

function hear(pcm) {
  utterance.chunks += 1;
  utterance.bytes += pcm.byteLength;
  utterance.received += pcm.byteLength / 2 / player.statistics.sampleRate;
  player.feed(pcm);
  showCounts();
}

const EVENTS = {
  async unit_started({ index, text, sample_rate }, arrivedAt) {
    if (player.statistics.sampleRate !== sample_rate) await connect(sample_rate);
    setFigure("format", `PCM ${sample_rate / 1000} kHz`);
    mark(arrivedAt, `Unit ${index} started`, text);
  },
  unit_done({ index, busy_s }, arrivedAt) {
    mark(arrivedAt, `Unit ${index} done`, `${busy_s.toFixed(2)} s of work`);
  },
  unit_skipped({ index, text }, arrivedAt) {
    mark(arrivedAt, `Unit ${index} skipped`, text);
  },
  finished({ statistics }, arrivedAt) {
    player.end();
    const { units, audio_s, connect_s, first_chunk_s } = statistics;
    mark(arrivedAt, "Finished", summary(units, audio_s, connect_s, first_chunk_s));
    const said = utterance;
    // Not in turn: a later utterance must not wait for the end of this one.
    player.drained().then(() => said.over || done(said, audio_s));
  },
  error({ message }) {
    throw new Error(message);
  },
};

function take(event, arrivedAt) {
  return EVENTS[event.type](event, arrivedAt);
}

function summary(units, audio_s, connect_s, first_chunk_s) {
  if (!audio_s) return "nothing to say";
  const parts = [`${units} ${units === 1 ? "unit" : "units"}`, `${audio_s.toFixed(1)} s of speech`];
  parts.push(`connected in ${milliseconds(connect_s)}`, `first chunk ${milliseconds(first_chunk_s)} after the text`);
  return parts.join(", ");
}

function done(said, audio_s) {
  said.over = true;
  show("ready", audio_s ? "Done." : "There was nothing to say in that text.");
}

function fail(error) {
  quiet();
  mark(performance.now(), "Failed");
  show("error", sentence(error.message));
}

// What goes wrong with an utterance that another has taken the place of concerns nobody.
function failing(said) {
  return (error) => said === utterance && fail(error);
}

function showCounts() {
  setFigure("chunks", utterance.chunks.toLocaleString("en"));
  setFigure("bytes", utterance.bytes.toLocaleString("en"));
  setFigure("received", seconds(utterance.received));
}

function showStatistics(statistics) {
  if (!statistics || !utterance?.before) return;
  const { sampleRate, rendered, underruns, bufferedMs, audibleAt, playing } = statistics;
  const { before } = utterance;
  setFigure("played", seconds((rendered - before.rendered) / sampleRate));
  setFigure("buffered", seconds(bufferedMs / 1000));
  setFigure("underruns", underruns - before.underruns);
  if (utterance.over || !playing) return;
  if (document.getElementById("antiphon-status").dataset.state === "waiting") show("speaking", "Speaking …");
  if (audibleAt >= utterance.at) setFigure("first_sound", milliseconds((audibleAt - utterance.at) / 1000));
}

function show(state, message) {
  const status = document.getElementById("antiphon-status");
  status.dataset.state = state;
  status.textContent = message;
}

function mark(at, name, detail = "") {
  const marker = document.createElement("li");
  const cells = [milliseconds((at - utterance.at) / 1000), name, detail];
  marker.append(...cells.map((cell) => Object.assign(document.createElement("span"), { textContent: cell })));
  const markers = document.getElementById("antiphon-markers");
  markers.append(marker);
  if (markers.children.length > MAX_MARKERS) markers.firstElementChild.remove();
}

function setFigure(name, value) {
  document.querySelector(`#antiphon [data-figure=${name}]`).textContent = value;
}

const seconds = (value) => `${value.toFixed(1)} s`;
const milliseconds = (value_s) => (value_s === null ? "never" : `${Math.round(value_s * 1000).toLocaleString("en")} ms`);
// A message may begin with a target, which is spelled as it is.
const capital = (message) => (/^[a-z-]+:/.test(message) ? message : message.charAt(0).toUpperCase() + message.slice(1));
const sentence = (message) => `${capital(message)}${/[.?!]$/.test(message) ? "" : "."}`;

window.antiphon = { speak, stop, measure: () => player.measure() };
