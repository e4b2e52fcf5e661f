"""The container behind an endpoint, over HTTP."""

import errno
import ssl
from dataclasses import dataclass

import httpx

from antiphon.emulator.wire import errors
from antiphon.emulator.wire.errors import AwsError

Headers = list[tuple[str, str]]

# asyncio tells of several addresses, as `localhost` has, in one text.
_REFUSED = f"[Errno {errno.ECONNREFUSED}]"


@dataclass(frozen=True, slots=True)
class Target:
    """Who answers.

    Attributes:
        url: where the container listens, ``http://host:port``.
        endpoint: its name.
        variant: the production variant.
    """

    url: str
    endpoint: str
    variant: str

    def model_error(self, message: str, status: int = 0, original: str = "") -> AwsError:
        """Tell that the container failed, and where its log would be."""
        group = f"/aws/sagemaker/Endpoints/{self.endpoint}"
        arn = f"arn:aws:logs:local:000000000000:log-group:{group}:log-stream:{self.variant}"
        return errors.model_error(message, status, original, arn)


def container_client() -> httpx.AsyncClient:
    """Make the client that all invocations of a runtime share; no time limit is its own, they are the invocation's.

    A connection is used once: a container may close an idle one just when it is needed again.
    """
    return httpx.AsyncClient(
        timeout=None,  # noqa: S113 - as said above
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        headers={"accept-encoding": "identity"},
        # Containers speak plain HTTP: reading the public authorities would be for nothing, and proxies are not for them.
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
    )


def failure(what: str, error: BaseException, url: str) -> str:
    """Say why a container gives no answer: `what` went wrong, unless it is only that nobody listens at its URL."""
    return f"nothing listens at {url}" if _refused(error) else f"{what}: {type(error).__name__}"


def _refused(error: BaseException | None) -> bool:
    # What httpx raises hides what the system said below several layers.
    if error is None:
        return False
    if isinstance(error, BaseExceptionGroup):
        return any(_refused(one) for one in error.exceptions)
    if isinstance(error, ConnectionRefusedError) or _REFUSED in str(error):
        return True
    return _refused(error.__cause__ or error.__context__)


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """Read a body, or as much of it as there is room for."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= limit:
            break
    return bytes(body[:limit])


def given(response: httpx.Response, name: str) -> Headers:
    """Give a header as it is on the wire, if there is one."""
    wanted = name.encode()
    return [(name, value.decode("latin-1")) for key, value in response.headers.raw if key.lower() == wanted]
