"""Prometheus metrics. Labels never carry anything that a client chose."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from antiphon.scheduling import SchedulerStatistics
from antiphon.server.speaker import Speaker

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """One server's metrics in a registry of their own.

    Attributes:
        sessions: WebSocket sessions open now.
        sessions_total: WebSocket sessions since the start, by `SessionRunner.outcome`, or refused before they began.
        first_chunk_s: from when a unit's first step could start to its first chunk.
    """

    def __init__(self, speaker: Speaker) -> None:
        self.registry = CollectorRegistry()
        self.sessions = Gauge("antiphon_open_sessions", "WebSocket sessions open now", registry=self.registry)
        self.sessions_total = Counter("antiphon_sessions", "WebSocket sessions", ["outcome"], registry=self.registry)
        self.first_chunk_s = Histogram(
            "antiphon_first_chunk_seconds",
            "From when a unit could be synthesised to its first chunk of audio",
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        speaker.on_first_chunk = self.first_chunk_s.observe
        self.registry.register(_SchedulerCollector(speaker))


class _SchedulerCollector(Collector):
    """Reads the scheduler's own statistics when scraped, so that nothing is counted twice."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        numbers = self._speaker.scheduler.statistics()
        yield from _gauges(numbers)
        yield from _counters(numbers)


def _gauges(numbers: SchedulerStatistics) -> Iterable[Metric]:
    yield GaugeMetricFamily("antiphon_speaking", "Listeners that are being spoken to", value=numbers.speaking)
    yield GaugeMetricFamily("antiphon_speaking_limit", "Listeners that are admitted", value=numbers.max_speaking)
    yield GaugeMetricFamily("antiphon_steps_waiting", "Units that wait for a worker", value=numbers.ready)
    yield GaugeMetricFamily("antiphon_steps_running", "Steps in progress", value=numbers.stepping)


def _counters(numbers: SchedulerStatistics) -> Iterable[Metric]:
    yield CounterMetricFamily("antiphon_steps", "Engine steps started", value=numbers.steps)
    yield CounterMetricFamily("antiphon_refused", "Units refused for lack of capacity", value=numbers.refused)
    yield CounterMetricFamily("antiphon_audio_seconds", "Audio synthesised", value=numbers.audio_s)
    yield CounterMetricFamily("antiphon_synthesis_seconds", "Time spent in steps", value=numbers.synthesis_s)
    units = CounterMetricFamily("antiphon_units", "Units by how they ended", labels=["outcome"])
    units.add_metric(["complete"], numbers.units_complete)
    units.add_metric(["failed"], numbers.units_failed)
    units.add_metric(["closed"], numbers.units_closed)
    yield units


async def metrics(request: Request) -> Response:
    """``GET /metrics``."""
    return Response(generate_latest(request.app.state.server.metrics.registry), media_type=CONTENT_TYPE)
