"""That no test leaves a task behind, and a server with TLS for the transports' tests."""

import asyncio
import logging
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve


@pytest.fixture
async def no_task_is_left(anyio_backend: str) -> AsyncIterator[None]:
    yield
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("antiphon")] == []


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, its own authority, and its key; valid for a day."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subject = ["-subj", "/CN=antiphon-test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"]
    algorithm = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *algorithm, *subject, *files], check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def ca_file(certificate: tuple[Path, Path]) -> str:
    return str(certificate[0])


@pytest.fixture
async def tls_server(certificate: tuple[Path, Path], anyio_backend: str) -> AsyncIterator[str]:
    """The URL of a WebSocket server with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    async def handler(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with serve(handler, "127.0.0.1", 0, ssl=context, logger=logging.getLogger("tests.server")) as server:
        yield f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
