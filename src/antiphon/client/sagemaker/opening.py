"""How ``sagemaker://`` targets are opened, every step in bounded time."""

import asyncio
import ssl
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon.client.errors import ConnectError, TargetError
from antiphon.client.sagemaker import failures
from antiphon.client.sagemaker.credentials import Account, in_thread, load_account
from antiphon.client.sagemaker.target import SageMakerTarget
from antiphon.client.targets import ConnectOptions

if TYPE_CHECKING:
    from antiphon.client.sagemaker.clients import Lease
    from antiphon.client.sagemaker.sdk import SdkStream
    from antiphon.client.sagemaker.transport import SageMakerTransport

PROBE_AFTER_S = 1.0
"""CRT takes ten seconds and more to say that a certificate is not trusted; after this it is looked at here."""

_PROBE_TIMEOUT_S = 3.0


async def open_sagemaker(target: str, options: ConnectOptions) -> "SageMakerTransport":
    """Open a bidirectional stream to an endpoint; see `SageMakerTarget`.

    Raises:
        TargetError: the target, the region or the profile is wrong or missing.
        ConnectError: there are no credentials, nobody answers, or the service refuses.
    """
    parsed = SageMakerTarget.parse(target)
    if options.api_key is not None:
        raise TargetError("SageMaker takes AWS credentials; it has no way to carry an API key")
    if options.ssl_context is not None:
        raise TargetError("the AWS SDK takes no ssl_context: pass ca_file, or set AWS_CA_BUNDLE")
    await in_thread(_import_all)
    return await _Opening(parsed, options, asyncio.get_running_loop().time() + options.connect_timeout_s).run()


def _import_all() -> None:
    """Import what is slow to import, and an extra."""
    try:
        import_module("antiphon.client.sagemaker.transport")
        import_module("antiphon.client.sagemaker.sdk").load_sdk()
        import_module("botocore.session")
    except ImportError as error:
        raise ConnectError(f"{error}; sagemaker:// needs pip install 'antiphon[sagemaker]'") from None


@dataclass(frozen=True, slots=True)
class _Opening:
    target: SageMakerTarget
    options: ConnectOptions
    deadline: float

    async def run(self) -> "SageMakerTransport":
        from antiphon.client.sagemaker.transport import SageMakerTransport  # noqa: PLC0415 - an extra

        account = await self._account()
        stream, lease = await self._stream(account, f"{self.target} at {account.host}:{account.port}")
        return SageMakerTransport(stream, lease)

    @property
    def _left_s(self) -> float:
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    def _silent(self, who: str) -> ConnectError:
        return ConnectError(f"{who} did not answer within {self.options.connect_timeout_s:g} s", retryable=True)

    async def _account(self) -> Account:
        try:
            async with asyncio.timeout(self._left_s):
                return await load_account(self.target, self.options.ca_file)
        except TimeoutError:
            raise self._silent("what provides the AWS credentials") from None

    async def _stream(self, account: Account, where: str) -> "tuple[SdkStream, Lease]":
        from antiphon.client.sagemaker.http2 import AuthoritiesError, CrtError  # noqa: PLC0415 - an extra

        try:
            lease = await self._lease(account, where)
            try:
                return await self._on(lease, account), lease
            except CrtError:  # it had stopped taking streams, which only asking tells; the next one is new
                lease = await self._lease(account, where)
                return await self._on(lease, account), lease
        except CrtError as error:
            raise failures.unreachable(where, error.name) from None
        except AuthoritiesError as error:
            raise ConnectError(str(error)) from None
        except ConnectError:
            raise
        except TimeoutError:
            raise self._silent(where) from None
        except failures.RefusedError as error:
            raise failures.refused(where, self.target.endpoint, error) from None
        except Exception as error:
            raise failures.broken(where, error) from error

    async def _on(self, lease: "Lease", account: Account) -> "SdkStream":
        from antiphon.client.sagemaker.sdk import open_stream  # noqa: PLC0415 - an extra

        try:
            return await open_stream(self.target, account, lease.connection, self._left_s)
        except failures.RefusedError:
            await lease.release()
            raise
        except BaseException:
            await lease.release(retire=True)
            raise

    async def _lease(self, account: Account, where: str) -> "Lease":
        from antiphon.client.sagemaker import clients, http2  # noqa: PLC0415 - an extra

        authority = http2.Authority(account.host, account.port, account.ca_file)
        leasing = asyncio.create_task(clients.lease(authority, self._left_s), name="antiphon-sagemaker-lease")
        lease: Lease | None = None
        try:
            if not (await asyncio.wait({leasing}, timeout=min(PROBE_AFTER_S, self._left_s)))[0]:
                await _check_certificate(account, where, min(_PROBE_TIMEOUT_S, self._left_s))
                await asyncio.wait({leasing}, timeout=self._left_s)
            if not leasing.done():
                raise TimeoutError
            lease = leasing.result()
        finally:
            if lease is None:
                await _give_up(leasing)
        return lease


async def _give_up(leasing: "asyncio.Task[Any]") -> None:
    leasing.cancel()
    await asyncio.wait({leasing})
    if not leasing.cancelled() and leasing.exception() is None:
        await leasing.result().release()


async def _check_certificate(account: Account, where: str, timeout_s: float) -> None:
    """Find out whether it is the certificate that makes CRT silent.

    Raises:
        ConnectError: it is.
    """
    try:
        context = ssl.create_default_context(cafile=account.ca_file)
        context.set_alpn_protocols(["h2"])
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(account.host, account.port, ssl=context)
    except ssl.SSLCertVerificationError as error:
        advice = "pass ca_file, or set AWS_CA_BUNDLE"
        raise ConnectError(f"{where}: its certificate is not trusted: {error.verify_message}; {advice}") from None
    except OSError:  # of the network, or a time-out: the connection will tell
        return
    writer.close()
