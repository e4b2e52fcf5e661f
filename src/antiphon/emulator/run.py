"""What a running local SageMaker says of itself."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class RunningEndpoint:
    """An endpoint that can be invoked.

    Attributes:
        name: as it is invoked.
        url: of its container, ``http://HOST:PORT``.
        started: whether the emulator started that container, and ends it.
        in_service: False once a container that the emulator started has ended by itself.
    """

    name: str
    url: str
    started: bool
    in_service: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """What a running emulator says of itself.

    Attributes:
        pid: its process.
        ready: whether every endpoint can be invoked; before that, the rest may be empty.
        url: of the runtime, ``https://HOST:PORT``.
        port: of the runtime.
        region: that requests are signed for.
        endpoints: that there are.
        hostnames: that the certificate has beside the local ones.
        detached: whether it runs in the background.
    """

    pid: int
    ready: bool = False
    url: str = ""
    port: int = 0
    region: str = ""
    endpoints: tuple[RunningEndpoint, ...] = ()
    hostnames: tuple[str, ...] = ()
    detached: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            endpoints = tuple(RunningEndpoint(**endpoint) for endpoint in fields.pop("endpoints"))
            hostnames = tuple(fields.pop("hostnames"))
            run = cls(**fields, endpoints=endpoints, hostnames=hostnames)
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"this describes no local SageMaker: {error}") from None
        # Signals go to this process: to 0 and below, they would go to many.
        if type(run.pid) is not int or run.pid <= 0:
            raise ValueError(f"{run.pid!r} is not the process of a local SageMaker")
        return run

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))
