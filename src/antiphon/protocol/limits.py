"""How much and how long a session may make the server wait."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one session. Those that vLLM-Omni has too have its values.

    The three `max_pending_*` bounds are high-water marks: at one of them the session stops reading, at a quarter
    of each it reads on. They cannot be hard, for one message may hold text for many units; what it can hold is
    bounded by `max_text_message_chars`.

    Attributes:
        config_timeout_s: from the connection to its first message.
        idle_timeout_s: without a message while nothing is being spoken.
        max_message_chars: of any text frame; a `session.config` may carry reference audio.
        max_text_message_chars: of any other message's frame.
        max_buffered_chars: text that waits for a boundary or `input.done`; beyond it `input.text` is refused.
        max_pending_units: units that are known and not yet spoken, the playing one included.
        max_pending_chars: characters of those units, their configs and the replies that wait behind them.
        max_pending_replies: replies that wait behind a unit.
    """

    config_timeout_s: float = 10.0
    idle_timeout_s: float = 30.0
    max_message_chars: int = 4 * 1024 * 1024
    max_text_message_chars: int = 128 * 1024
    max_buffered_chars: int = 1024 * 1024
    max_pending_units: int = 64
    max_pending_chars: int = 1024 * 1024
    max_pending_replies: int = 64
