"""What must hold of everything that a server sends, whatever happens: watched frame by frame."""

from typing import Any

from antiphon.protocol.duplex.errors import MEANINGS, Ends, ErrorCode

BYTES_PER_SAMPLE = 2


class Watcher:
    """Sees what a connection's server sends and asserts the rules of order.

    Attributes:
        ended: the contexts that are over, each with what ended it.
    """

    def __init__(self) -> None:
        self.ended: dict[str, str] = {}
        self._speaker: str | None = None
        self._unit: str | None = None  # whose unit is being sent
        self._unit_bytes = 0
        self._context_bytes: dict[str, int] = {}
        self._sentences: dict[str, int] = {}
        self._utterances: dict[str, int] = {}

    def see(self, frame: dict[str, Any] | bytes) -> None:
        """A text frame, decoded, or a binary one."""
        if isinstance(frame, bytes):
            assert self._unit is not None, "audio between units"
            assert frame, "an empty frame"
            self._unit_bytes += len(frame)
            self._context_bytes[self._unit] = self._context_bytes.get(self._unit, 0) + len(frame)
            return
        handler = getattr(self, "_" + frame["type"].replace(".", "_"), None)
        if handler is not None:
            handler(frame, frame.get("context_id"))

    def _audio_start(self, frame: dict[str, Any], context_id: str) -> None:
        assert self._unit is None, "units interleave"
        assert context_id not in self.ended, "a unit of a context that is over"
        assert self._speaker in (None, context_id) or self._speaker in self.ended, "two contexts speak in turns"
        self._speaker = self._unit = context_id
        self._unit_bytes = 0
        self._count_utterance(frame, context_id)
        assert frame["sentence_index"] == self._sentences.get(context_id, 0)
        self._sentences[context_id] = frame["sentence_index"] + 1

    def _audio_done(self, frame: dict[str, Any], context_id: str) -> None:
        assert self._unit == context_id, "the end of another unit"
        assert frame["total_bytes"] == self._unit_bytes
        self._unit = None

    def _input_flushed(self, _frame: dict[str, Any], context_id: str) -> None:
        assert self._unit != context_id, "flushed before the end of a unit"
        assert context_id not in self.ended

    def _session_done(self, frame: dict[str, Any], context_id: str) -> None:
        assert self._unit != context_id
        assert frame["total_sentences"] == self._sentences.get(context_id, 0)
        self._count_utterance(frame, context_id)
        self._end(context_id, "session.done")

    def _audio_cancelled(self, frame: dict[str, Any], context_id: str) -> None:
        assert frame["audio_samples_sent"] == self._context_bytes.get(context_id, 0) // BYTES_PER_SAMPLE
        self._end(context_id, "audio.cancelled")

    def _error(self, frame: dict[str, Any], context_id: str | None) -> None:
        meaning = MEANINGS[ErrorCode(frame["code"])]
        assert frame["retryable"] is meaning.retryable
        if meaning.ends is Ends.CONTEXT:
            assert context_id is not None
            self._end(context_id, frame["code"])

    def _end(self, context_id: str, how: str) -> None:
        assert context_id not in self.ended, "a context ends twice"
        self.ended[context_id] = how
        if self._unit == context_id:
            self._unit = None

    def _count_utterance(self, frame: dict[str, Any], context_id: str) -> None:
        index = self._utterances.setdefault(context_id, len(self._utterances))
        assert frame["utterance_index"] == index
