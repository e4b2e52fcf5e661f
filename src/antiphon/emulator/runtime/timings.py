"""How long things may take: the service's published times, and the runtime's own patience."""

from dataclasses import dataclass, replace

_SERVICE = ("ping_interval_s", "max_stream_s", "drain_s", "invoke_timeout_s", "response_stream_timeout_s")


@dataclass(frozen=True, slots=True)
class Timings:
    """Times in seconds.

    Attributes:
        ping_interval_s: Between two pings to the container (SageMaker developer guide: 60 s).
        missed_pongs: Pings left unanswered after which the container's connection is closed (as above: 5).
        max_stream_s: The longest life of a bidirectional stream (as above: 30 minutes).
        drain_s: How long a container may be silent after the client ended its input; SageMaker publishes none.
        invoke_timeout_s: For the answer to InvokeEndpoint (SageMaker API reference: 60 s).
        response_stream_timeout_s: For the whole of a response stream (as above: 8 minutes).
        handshake_timeout_s: For the container to accept a WebSocket.
        close_timeout_s: For the container to answer a Close.
        linger_s: For a client to end its request after the whole response; then it is reset (RFC 9113 §8.1). Sooner, its
            last writes would fail while it still learns that there is an end.
        tls_timeout_s: For a client to finish its TLS handshake.
        request_timeout_s: For a client's HTTP preface, headers or body to arrive.
        idle_timeout_s: For a connection without requests.
        stop_timeout_s: For connections to take their last bytes when the runtime stops.
    """

    ping_interval_s: float = 60.0
    missed_pongs: int = 5
    max_stream_s: float = 1800.0
    drain_s: float = 30.0
    invoke_timeout_s: float = 60.0
    response_stream_timeout_s: float = 480.0
    handshake_timeout_s: float = 10.0
    close_timeout_s: float = 2.0
    linger_s: float = 0.25
    tls_timeout_s: float = 10.0
    request_timeout_s: float = 30.0
    idle_timeout_s: float = 600.0
    stop_timeout_s: float = 2.0

    def scaled(self, factor: float) -> "Timings":
        """Make the service's times shorter or longer; the runtime's own patience with its peers stays."""
        return replace(self, **{name: getattr(self, name) * factor for name in _SERVICE})
