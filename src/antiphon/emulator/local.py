"""A local SageMaker, put together: state, certificates, servers, runtime."""

import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from antiphon.emulator.certificates import server_context, trust_bundle
from antiphon.emulator.endpoints import Launcher, Registry
from antiphon.emulator.environment import runtime_url
from antiphon.emulator.event_log import EventLog
from antiphon.emulator.run import Run
from antiphon.emulator.runtime.server import Runtime
from antiphon.emulator.runtime.timings import Timings
from antiphon.emulator.settings import EmulatorSettings, credentials
from antiphon.emulator.state import EmulatorError, Held, StateFolder
from antiphon.emulator.wire.sigv4 import SigningKeys


@asynccontextmanager
async def local_sagemaker(
    settings: EmulatorSettings,
    folder: StateFolder,
    launch: Launcher,
    tell: Callable[[str], None],
    *,
    detached: bool = False,
) -> AsyncIterator[Run]:
    """Run a local SageMaker; leaving ends it and every server that it started.

    Args:
        settings: what it is to be.
        folder: where it keeps its state, and says that it runs.
        launch: starts the servers of endpoints that name none.
        tell: takes a sentence when one of these servers has ended by itself.
        detached: what it says of itself.

    Raises:
        AlreadyRunningError: one runs in this folder.
        EmulatorError: it cannot listen, or cannot write its state.
    """
    with folder.hold(detached=detached) as held, EventLog(folder.events) as log:
        # Known before any voice is loaded.
        _check_port(settings.host, settings.port)
        trust_bundle(folder)
        registry = Registry()
        runtime = _runtime(settings, folder, registry, log)
        ends = _Ends(registry, held, log, tell)
        async with AsyncExitStack() as stack:
            try:
                for spec in settings.specs:
                    await stack.enter_async_context(registry.serving(spec, launch, ends))
                run = await _listen(stack, runtime, settings, held, registry)
                # Connections are counted anew from here.
                log.write("runtime.ready", pid=run.pid, url=run.url)
                yield run
            finally:
                ends.expected = True


class _Ends:
    """Tells everyone that a started server has ended, unless all of them are to: Ctrl-C reaches them as well."""

    def __init__(self, registry: Registry, held: Held, log: EventLog, tell: Callable[[str], None]) -> None:
        self._registry = registry
        self._held = held
        self._log = log
        self._tell = tell
        self.expected = False

    def __call__(self, name: str, status: int) -> None:
        if self.expected:
            return
        self._log.write("container.ended", endpoint=name, status=status)
        self._tell(
            f"the server of endpoint {name} has ended ({_how(status)}), and the endpoint is out of service; "
            "start anew: antiphon emulate down, then antiphon emulate up"
        )
        # A full disk has no room for the record; it has been said nevertheless.
        with suppress(EmulatorError):
            self._held.say(endpoints=self._registry.running)


def _how(status: int) -> str:
    if status < 0:
        return f"killed by signal {-status}, {signal.strsignal(-status)}"
    return f"exit status {status}"


def _runtime(settings: EmulatorSettings, folder: StateFolder, registry: Registry, log: EventLog) -> Runtime:
    keys = credentials(folder)
    known = SigningKeys({keys.access_key_id: keys.secret_access_key}, settings.region)
    timings = Timings().scaled(settings.time_scale)
    context = server_context(folder, settings.hostnames)
    return Runtime(registry, known if settings.verify else None, timings, log, context)


async def _listen(
    stack: AsyncExitStack, runtime: Runtime, settings: EmulatorSettings, held: Held, registry: Registry
) -> Run:
    try:
        port = await stack.enter_async_context(runtime.listening(settings.host, settings.port))
    except OSError as error:
        raise _cannot_listen(settings.host, settings.port, error) from None
    return held.say(
        ready=True,
        url=runtime_url(settings.host, port),
        port=port,
        region=settings.region,
        endpoints=registry.running,
        hostnames=settings.hostnames,
    )


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            # Where another one listens, binding alone may succeed.
            probe.listen()
        except OSError as error:
            raise _cannot_listen(host, port, error) from None


def _cannot_listen(host: str, port: int, error: OSError) -> EmulatorError:
    return EmulatorError(
        f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port, or 0 for any free one"
    )
