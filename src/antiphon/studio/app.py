"""One application for the page, its scripts and its bridge."""

import os
from collections.abc import Sequence

import gradio as gr
from fastapi import FastAPI
from starlette.responses import Response
from starlette.routing import Mount, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from antiphon.studio.bridge import Bridge
from antiphon.studio.guard import Guard
from antiphon.studio.page import HEAD, STATIC, create_page, theme


class _Scripts(StaticFiles):
    """Files that the browser asks for again each time: a new version's scripts must not meet an old one's."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def create_app(
    target: str, host: str = "127.0.0.1", *, voices: Sequence[str] = (), languages: Sequence[str] = ()
) -> FastAPI:
    """Build the application.

    Args:
        target: who speaks, as `antiphon.connect` takes it.
        host: where it will listen.
        voices: as `create_page`.
        languages: as `create_page`.
    """
    routes = [
        WebSocketRoute("/antiphon/speech", Bridge(target).serve),
        Mount("/antiphon", _Scripts(directory=STATIC)),
    ]
    app = FastAPI(routes=routes, openapi_url=None)
    # Gradio would keep what was run in the browser; early versions of 6 did not, and know no argument for it.
    os.environ["GRADIO_RUN_HISTORY"] = "False"
    gr.mount_gradio_app(
        app,
        create_page(target, voices, languages),
        path="/",
        theme=theme(),
        head=HEAD,
        footer_links=[],
        ssr_mode=False,
        max_file_size=1,
        show_error=False,
    )
    app.add_middleware(Guard, name=host)
    return app
