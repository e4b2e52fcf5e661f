"""The scripts, by what they try."""

from tests.conformance.corpus import configs, endings, flow, formats, handshake, messages, splitting, voices
from tests.conformance.script import Script

SCRIPTS: tuple[Script, ...] = (
    *handshake.SCRIPTS,
    *configs.SCRIPTS,
    *messages.SCRIPTS,
    *flow.SCRIPTS,
    *splitting.SCRIPTS,
    *formats.SCRIPTS,
    *voices.SCRIPTS,
    *endings.SCRIPTS,
)
