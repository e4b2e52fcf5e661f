"""The least that a Python WebSocket server can do: uvicorn and websockets send chunks at the pace of playback.

    python -m benchmarks._bare --ready-file FILE

Whatever a speech server costs beyond this is its own. A client's first message says how many chunks, of how many
milliseconds, it wants; after them comes one text message, as at the end of speech.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import uvicorn

_BYTES_PER_MS = 48  # 24 kHz, 16 bits


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve one connection; an ASGI application."""
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    message = await receive()
    if message["type"] == "websocket.receive":
        await _play(json.loads(message["text"]), send)
        await receive()


async def _play(wanted: dict[str, int], send: Any) -> None:
    clock = asyncio.get_running_loop().time
    chunk = bytes(wanted["chunk_ms"] * _BYTES_PER_MS)
    due = clock()
    for _ in range(wanted["chunks"]):
        await send({"type": "websocket.send", "bytes": chunk})
        due += wanted["chunk_ms"] / 1000
        await asyncio.sleep(due - clock())
    await send({"type": "websocket.send", "text": '{"type":"session.done"}'})


async def _serve(ready: Path) -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    ready.with_suffix(".part").write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
    ready.with_suffix(".part").replace(ready)
    server = uvicorn.Server(config)
    # uvicorn would raise the signal again once it has ended, and the status would not be 0.
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: setattr(server, "should_exit", True))
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ready-file", type=Path, required=True)
    asyncio.run(_serve(parser.parse_args().ready_file))
