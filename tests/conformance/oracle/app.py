"""The route of vLLM-Omni's `api_server` around its real handlers."""

from importlib import import_module
from types import SimpleNamespace

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from tests.conformance.oracle.engine import FakeEngine

from antiphon.engines import qwen3

ROUTE = "/v1/audio/speech/stream"
_PACKAGE = "vllm_omni.entrypoints.openai"


def create_app(*, config_timeout_s: float, idle_timeout_s: float) -> Starlette:
    """Build the application on handlers that `stand_ins.install` made importable.

    Args:
        config_timeout_s: how long a connection may take to send its first message.
        idle_timeout_s: how long it may then stay silent.
    """
    service = import_module(f"{_PACKAGE}.serving_speech").OmniOpenAIServingSpeech(
        FakeEngine(), SimpleNamespace(names={qwen3.MODEL}), model_name=qwen3.MODEL
    )
    handler = import_module(f"{_PACKAGE}.serving_speech_stream").OmniStreamingSpeechHandler(
        speech_service=service, idle_timeout=idle_timeout_s, config_timeout=config_timeout_s
    )

    async def streaming_speech(websocket: WebSocket) -> None:
        await handler.handle_session(websocket)

    return Starlette(routes=[WebSocketRoute(ROUTE, streaming_speech)])
