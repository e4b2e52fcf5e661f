"""The page: controls by Gradio, which never sees the text; what they do is done by ``static/page.js``."""

from collections.abc import Sequence
from pathlib import Path

import gradio as gr

from antiphon.studio.messages import MAX_TEXT

STATIC = Path(__file__).with_name("static")
HEAD = '<link rel="stylesheet" href="antiphon/page.css"><script type="module" src="antiphon/page.js"></script>'
TEXT = (
    "Hello. You are hearing this sentence while the next one is still being made. "
    "Each chunk of sound is played as soon as it arrives."
)
FASTEST = 50

_SPEAK = "(...controls) => window.antiphon.speak(...controls)"
_STOP = "() => window.antiphon.stop()"


def theme() -> gr.themes.Base:
    """Return Gradio's plain theme in the reader's own fonts: none is fetched."""
    return gr.themes.Default(
        primary_hue="indigo",
        neutral_hue="slate",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    )


def create_page(target: str, voices: Sequence[str] = (), languages: Sequence[str] = ()) -> gr.Blocks:
    """Lay out the page.

    Args:
        target: who speaks, to be shown.
        voices: to choose from, the first by default; others can be typed.
        languages: likewise.
    """
    page = gr.Blocks(title="Antiphon", analytics_enabled=False)
    with page:
        shown = target.partition("?")[0].replace("`", "")
        gr.Markdown(f"# Antiphon\nSpeech from `{shown}`, heard while it is being made.")
        text = gr.Textbox(TEXT, label="Text", lines=4, max_lines=12, max_length=MAX_TEXT, elem_id="antiphon-text")
        with gr.Row():
            voice = _names("Voice", voices)
            language = _names("Language", languages)
            pace = gr.Slider(0, FASTEST, value=0, step=1, label="Tokens a second", info="0: the whole text at once.")
        with gr.Row():
            speak = gr.Button("Speak", variant="primary", elem_id="antiphon-speak")
            stop = gr.Button("Stop", elem_id="antiphon-stop")
        gr.HTML((STATIC / "panel.html").read_text(encoding="utf-8"), elem_id="antiphon-panel")
        gr.on([speak.click, text.submit], fn=None, inputs=[text, voice, language, pace], js=_SPEAK)
        stop.click(fn=None, js=_STOP)
    return page


def _names(label: str, names: Sequence[str]) -> gr.Dropdown:
    return gr.Dropdown(
        list(names),
        value=next(iter(names), None),
        label=label,
        info="The server's own if empty.",
        allow_custom_value=True,
        elem_id=f"antiphon-{label.lower()}",
    )
