"""The player's audio thread, sample by sample, in a real browser and faster than real time."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page
from tests.studio.conftest import Serving

pytestmark = [pytest.mark.anyio, pytest.mark.compat]

RATE = 16_000
QUANTUM = 128
LEAD = RATE * 80 // 1000

# Renders `seconds` of what the worklet plays when it gets these orders at these times.
RENDER = """async ({rate, seconds, orders}) => {
  const context = new OfflineAudioContext(1, rate * seconds, rate);
  await context.audioWorklet.addModule("antiphon/worklet.js");
  const node = new AudioWorkletNode(context, "antiphon-pcm-player", {
    numberOfInputs: 0, outputChannelCount: [1], processorOptions: {leadMs: 80},
  });
  node.connect(context.destination);
  let counts, given = 0;
  const give = ({order, samples}) => new Promise((resolve) => {
    const number = (given += order === "interrupt" ? 2 : 1);
    node.port.onmessage = ({data}) => data.answered === number && resolve((counts = data));
    const send = (order) => node.port.postMessage({order, samples: samples && Int16Array.from(samples)});
    if (order === "interrupt") send("flush");
    send(order === "interrupt" ? "feed" : order);
  });
  for (const {at, ...order} of orders) {
    if (at === 0) await give(order);
    else context.suspend(at).then(async () => { await give(order); context.resume(); });
  }
  const rendered = (await context.startRendering()).getChannelData(0);
  await give({order: "measure"});
  return {counts, output: Array.from(rendered, (sample) => sample * 32768)};
}"""


@pytest.fixture(scope="module")
async def page(browser: Browser, serving: Serving) -> AsyncIterator[Page]:
    async with serving("local:tone") as url:
        page = await browser.new_page()
        await page.goto(url)
        yield page


async def render(page: Page, seconds: float, *orders: dict[str, Any]) -> tuple[dict[str, Any], list[float]]:
    rendered = await page.evaluate(RENDER, {"rate": RATE, "seconds": seconds, "orders": list(orders)})
    return rendered["counts"], rendered["output"]


def ramp(length: int, start: int = 1000) -> list[int]:
    """Samples that tell where they come from."""
    return [start + i for i in range(length)]


async def test_every_sample_is_played_once_and_in_order(page: Page) -> None:
    chunks = [ramp(1500), ramp(1), ramp(700, 9000)]
    orders = [{"at": 0, "order": "feed", "samples": chunk} for chunk in chunks]
    counts, output = await render(page, 0.5, *orders, {"at": 0, "order": "end"})
    played = [sample for chunk in chunks for sample in chunk]
    assert output[: len(played)] == played
    assert set(output[len(played) :]) == {0.0}
    assert counts["rendered"] == counts["fed"] == len(played)
    assert (counts["buffered"], counts["underruns"], counts["playing"]) == (0, 0, False)


async def test_full_scale_is_not_clipped(page: Page) -> None:
    _, output = await render(
        page, 0.1, {"at": 0, "order": "feed", "samples": [-32768, 32767]}, {"at": 0, "order": "end"}
    )
    assert output[:2] == [-32768, 32767]


async def test_a_hole_between_samples_is_one_underrun_of_its_length(page: Page) -> None:
    first, second = ramp(LEAD), ramp(LEAD)
    counts, output = await render(
        page, 1,
        {"at": 0, "order": "feed", "samples": first},
        {"at": 0.5, "order": "feed", "samples": second},
        {"at": 0.5 + QUANTUM / RATE, "order": "end"},
    )  # fmt: skip
    resumed = output.index(second[0], len(first))
    assert output[resumed : resumed + len(second)] == second
    assert counts["underruns"] == 1
    assert counts["underrunSamples"] == resumed - len(first)
    assert 0.5 * RATE <= resumed < 0.5 * RATE + 2 * QUANTUM


async def test_silence_after_the_end_is_no_underrun(page: Page) -> None:
    counts, _ = await render(
        page, 1,
        {"at": 0, "order": "feed", "samples": ramp(LEAD)},
        # It ran dry before it was told that this was all.
        {"at": 0.25, "order": "end"},
        {"at": 0.5, "order": "feed", "samples": ramp(LEAD)},
        {"at": 0.5 + QUANTUM / RATE, "order": "end"},
    )  # fmt: skip
    assert (counts["underruns"], counts["underrunSamples"]) == (0, 0)
    assert counts["rendered"] == 2 * LEAD


async def test_it_begins_with_its_lead_or_when_that_time_has_passed(page: Page) -> None:
    _, early = await render(page, 0.5, {"at": 0, "order": "feed", "samples": ramp(LEAD)})
    _, late = await render(page, 0.5, {"at": 0, "order": "feed", "samples": ramp(LEAD - 1)})
    assert early[0] == 1000
    assert late.index(1000) == LEAD


async def test_flush_is_silent_within_a_quantum_without_a_click(page: Page) -> None:
    cut = 63 * QUANTUM
    counts, output = await render(
        page, 1,
        {"at": 0, "order": "feed", "samples": [20_000] * RATE},
        {"at": cut / RATE, "order": "flush"},
    )  # fmt: skip
    assert set(output[:cut]) == {20_000}
    assert set(output[cut + QUANTUM :]) == {0.0}
    steps = [a - b for a, b in zip(output[cut - 1 : cut + QUANTUM], output[cut : cut + QUANTUM + 1], strict=True)]
    assert max(steps) <= 20_000 / QUANTUM + 1
    assert min(steps) >= 0
    assert counts["rendered"] == cut + QUANTUM
    assert counts["rendered"] + counts["flushed"] == counts["fed"] == RATE
    assert (counts["buffered"], counts["underruns"], counts["playing"]) == (0, 0, False)


async def test_it_tells_when_the_first_sound_came_that_is_no_silence(page: Page) -> None:
    counts, _ = await render(
        page,
        0.5,
        {"at": 0, "order": "feed", "samples": [0] * 1000 + [32] * 10 + [33] * 1000},
        {"at": 0, "order": "end"},
    )
    assert counts["audibleFrame"] == 1010


async def test_what_fades_is_not_the_first_sound_of_what_follows(page: Page) -> None:
    cut = 63 * QUANTUM
    counts, _ = await render(
        page, 1,
        {"at": 0, "order": "feed", "samples": [20_000] * RATE},
        {"at": cut / RATE, "order": "interrupt", "samples": [0] * 10 + [20_000] * 1000},
        {"at": 0.9, "order": "end"},
    )  # fmt: skip
    assert counts["audibleFrame"] == cut + QUANTUM + 10


PLAYER = """async () => {
  const {Player} = await import("./antiphon/player.js");
  const player = new Player({maxBufferedMs: 100});
  const refused = [];
  const attempt = (pcm) => { try { player.feed(pcm); } catch (error) { refused.push(`${error.name}: ${error.message}`); } };
  await player.connect(16000);
  attempt(new ArrayBuffer(3));
  attempt(new ArrayBuffer(2 * 1601));
  attempt(new ArrayBuffer(2 * 1600));
  await player.connect(8000);
  const again = player.statistics;
  player.feed(new ArrayBuffer(2 * 400));
  player.end();
  await player.drained();
  const last = player.statistics;
  await player.connect(1).catch((error) => refused.push(error.name));
  await player.close();
  return {refused, again, last, closed: player.statistics};
}"""


async def test_the_player_takes_whole_samples_up_to_its_bound_at_any_rate(page: Page) -> None:
    found = await page.evaluate(PLAYER)
    assert found["refused"] == [
        "RangeError: PCM comes in whole samples",
        "RangeError: more sound waits to be heard than may",
        "NotSupportedError",
    ]
    assert (found["again"]["sampleRate"], found["again"]["rendered"]) == (8000, 0)
    assert found["last"]["rendered"] == found["last"]["fed"] == 400
    assert found["closed"] is None
