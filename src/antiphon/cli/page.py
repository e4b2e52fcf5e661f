"""`antiphon page`: a page in the browser that speaks through any target."""

import sys
import webbrowser
from socket import socket
from typing import Annotated

import typer

from antiphon.cli.engines import check_engine, engine_in
from antiphon.cli.failures import fail, reported
from antiphon.cli.running import run
from antiphon.cli.words import TARGETS
from antiphon.client.errors import SpeechError
from antiphon.client.targets import parse
from antiphon.engines import qwen3
from antiphon.studio.runner import PageError, listen, serve


def page(
    to: Annotated[str, typer.Option("--to", help=TARGETS)] = "local:",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any free port.")] = 7860,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    r"""Serve a page that speaks: text in, sound out as it arrives, with figures; until Ctrl-C.

    Whoever reaches the page speaks through the target with this process's credentials, so it listens on this machine
    only unless --host says otherwise. It needs Gradio: pip install 'antiphon\[ui]'.

    Examples:
        antiphon page --open

        antiphon page --to ws://127.0.0.1:8080

        antiphon page --to sagemaker://qwen3-tts
    """
    with reported(SpeechError):
        parse(to)
    if (engine := engine_in(to)) is not None:
        check_engine(engine)
    with reported(PageError):
        sock = listen(host, port)
    try:
        from antiphon.studio.app import create_app  # noqa: PLC0415 - an extra, and slow
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"gradio", "fastapi"}:
            raise
        raise fail("the page needs Gradio, which is not installed: pip install 'antiphon[ui]'") from None
    app = create_app(to, host, voices=qwen3.VOICES, languages=("Auto", *qwen3.LANGUAGES))
    with reported(SpeechError):
        run(serve(app, to, sock, lambda: _announce(sock, open_it=open_it)))


def _announce(sock: socket, *, open_it: bool) -> None:
    host, port = sock.getsockname()[:2]
    url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
    print(f"The page is at {url}; end it with Ctrl-C.", flush=True)
    if open_it and not webbrowser.open(url):
        print("antiphon: no browser could be opened", file=sys.stderr)
