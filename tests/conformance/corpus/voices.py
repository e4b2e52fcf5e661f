"""Requests that the model's adapter checks when a unit's turn has come."""

from typing import Any

from tests.conformance.script import Dialect, Script, pcm, script, speak

# 0.26 does not compare the task with the checkpoint.
_CLONE: dict[Dialect, str] = {"0.26": "it would go on to decode the reference audio, which needs torch"}

_FIELDS: dict[str, dict[str, Any]] = {
    "a voice": {"voice": "ryan"},
    "a voice in capitals": {"voice": "VIVIAN"},
    "a voice in mixed case": {"voice": "Uncle_Fu"},
    "an unknown voice": {"voice": "Nobody"},
    "an empty voice": {"voice": ""},
    "the voice default": {"voice": "default"},
    "a voice with spaces": {"voice": " ryan "},
    "a voice with quotes": {"voice": "o'neil"},
    "a voice beyond ASCII": {"voice": "ÉLODIE"},
    "a language": {"language": "English"},
    "a language in capitals": {"language": "ENGLISH"},
    "a language in small letters": {"language": "chinese"},
    "the language auto": {"language": "auto"},
    "an unknown language": {"language": "klingon"},
    "a language code": {"language": "en"},
    "an empty language": {"language": ""},
    "a language with an apostrophe": {"language": "o'odham"},
    "a wrong voice and a wrong language": {"voice": "nobody", "language": "klingon"},
    "task CustomVoice": {"task_type": "CustomVoice"},
    "task VoiceDesign": {"task_type": "VoiceDesign"},
    "task VoiceDesign, wrong language": {"task_type": "VoiceDesign", "language": "klingon"},
    "task Base": {"task_type": "Base"},
    "task Base and a voice": {"task_type": "Base", "voice": "ryan"},
    "task Base and an unknown voice": {"task_type": "Base", "voice": "nobody"},
    "reference audio that is no URL": {"ref_audio": "speech.wav"},
    "reference audio over FTP": {"ref_audio": "ftp://example.com/speech.wav"},
    "reference audio that is empty": {"ref_audio": ""},
    "reference audio without its text": {"ref_audio": "data:audio/wav;base64,AAAA"},
    "reference audio, blank text": {"ref_audio": "data:audio/wav;base64,AAAA", "ref_text": "  "},
    "reference text alone": {"ref_text": "Hello."},
    "reference text for CustomVoice": {"task_type": "CustomVoice", "ref_text": "Hello."},
    "x_vector_only_mode": {"x_vector_only_mode": True},
    "x_vector_only_mode off": {"x_vector_only_mode": False},
    "an embedding": {"speaker_embedding": [0.5, 0.5]},
    "an empty embedding": {"speaker_embedding": []},
    "an embedding for Base": {"task_type": "Base", "speaker_embedding": [0.5, 0.5]},
    "an empty embedding for Base": {"task_type": "Base", "speaker_embedding": []},
    "instructions at their limit": {"instructions": "x" * 500},
    "instructions too long": {"instructions": "x" * 501},
    "instructions too long in Chinese": {"instructions": "慢" * 501},
    "max_new_tokens at its limit": {"max_new_tokens": 4096},
    "max_new_tokens beyond the model": {"max_new_tokens": 4097},
    "max_new_tokens one": {"max_new_tokens": 1},
    "max_new_tokens three": {"max_new_tokens": 3},
    "everything wrong": {"voice": "x", "language": "y", "instructions": "x" * 501, "max_new_tokens": 5000},
}

SCRIPTS: tuple[Script, ...] = (
    *(script(f"checked: {name}", pcm(**fields), *speak("Is it spoken?")) for name, fields in _FIELDS.items()),
    script(
        "checked: a clone with everything",
        pcm(ref_audio="data:audio/wav;base64,AAAA", ref_text="Hello."),
        *speak("Is it spoken?"),
        skip=_CLONE,
    ),
    script("checked: VoiceDesign, described", pcm(task_type="VoiceDesign", instructions="Deep."), *speak("Deep?")),
)
