"""Serve the real handlers on a free port: print ``{"url": …}`` and stop when standard input ends, or after a while."""

import argparse
import asyncio
import json
import logging
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import uvicorn
from tests.conformance.oracle import stand_ins
from tests.conformance.oracle.app import ROUTE, create_app
from tests.conformance.oracle.behaviours import BEHAVIOURS


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="folder of the unpacked vllm-omni wheel")
    parser.add_argument("--config-timeout-s", type=float, default=10.0)
    parser.add_argument("--idle-timeout-s", type=float, default=30.0)
    parser.add_argument("--lifetime-s", type=float, default=600.0)
    return parser.parse_args()


async def _serve(server: uvicorn.Server, lifetime_s: float) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    def wait_for_parent() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(stop)

    loop.call_later(lifetime_s, stop)
    threading.Thread(target=wait_for_parent, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        json.dump({"url": f"ws://127.0.0.1:{listener.getsockname()[1]}{ROUTE}"}, sys.stdout)
        sys.stdout.write("\n")
        sys.stdout.flush()
        await server.serve(sockets=[listener])


def main() -> None:
    """Run the oracle until its parent is gone."""
    arguments = _arguments()
    logging.disable()  # failures are what the scripts are about
    stand_ins.install(arguments.source, BEHAVIOURS)
    with tempfile.TemporaryDirectory() as speakers:
        os.environ["SPEAKER_SAMPLES_DIR"] = speakers  # the service makes this folder, by default under the home folder
        app = create_app(config_timeout_s=arguments.config_timeout_s, idle_timeout_s=arguments.idle_timeout_s)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        asyncio.run(_serve(uvicorn.Server(config), arguments.lifetime_s))


if __name__ == "__main__":
    main()
