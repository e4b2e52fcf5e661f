"""How far ahead of its listener an engine may run."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Pace:
    """The bounds on audio that exists but has not been heard.

    A step starts while the audio is below both bounds, and how much it will give is not known beforehand; so either
    bound can be exceeded by the audio of one step.

    Attributes:
        mode: `listener` keeps synthesis at most `max_lead_s` ahead of a real-time player that starts with the
            first chunk; `asap` synthesises as fast as the engine can and the reader takes, and its audio is no part of
            any lead.
        max_lead_s: seconds of audio that may be ahead of playback (`listener` only). Bounded by the clock and not by
            the socket, because kernel, HTTP/2 and proxy buffers can hide seconds of audio from a cancel.
        max_buffer_s: seconds of audio that may wait for a slow reader, in either mode.
    """

    mode: Literal["listener", "asap"] = "asap"
    max_lead_s: float = 2.0
    max_buffer_s: float = 2.0


class PlaybackClock:
    """When a real-time player, fed with what was delivered, runs dry.

    The player starts with the first chunk, and again after each time it ran dry.
    """

    def __init__(self) -> None:
        self._dry_at_s = float("-inf")

    def delivered(self, duration_s: float, now: float) -> None:
        """Take note of `duration_s` seconds of audio handed over at time `now`."""
        self._dry_at_s = max(self._dry_at_s, now) + duration_s

    def dropped(self, duration_s: float, now: float) -> None:
        """The last `duration_s` seconds handed over are dropped, as far as they were not played before `now`."""
        self._dry_at_s -= min(duration_s, self.lead_s(now))

    def lead_s(self, now: float) -> float:
        """Seconds of delivered audio that the player has not reached yet."""
        return max(0.0, self._dry_at_s - now)
