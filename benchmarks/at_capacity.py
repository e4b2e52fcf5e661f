"""As many listeners as hibari admits on this machine, all spoken to at once: does anyone's player run dry?

The server says how many it admits, from the speed it measured at its start. So many listen, with players that wait
100 ms before they start; one more than that is refused. Server and crowd are processes of their own on this machine.
"""

import sys
import urllib.request

from benchmarks._crowd import Crowd
from benchmarks._report import Options, Report, note, parse_options
from benchmarks._server import Server, serving
from benchmarks.many_listeners import PLAYER_BUFFER_MS, SPREAD_S, run


def main(options: Options) -> int:
    """Fill the server, at each pace."""
    report = Report("hibari with as many listeners as it admits", options)
    for pace in ("listener", "asap"):
        with serving("--engine", "hibari", "--pace", pace) as server:
            listeners = admitted(server)
            note(f"pace {pace}: {listeners} listeners …")
            _measure(report, pace, server, listeners, speaking_s=20.0 if not options.quick else 4.0)
    return report.finish()


def _measure(report: Report, pace: str, server: Server, listeners: int, speaking_s: float) -> None:
    crowd = Crowd(*server.address, listeners, speaking_s, SPREAD_S, 0, False, 0, PLAYER_BUFFER_MS / 1000)
    one = run(server, crowd)
    report.row(
        "Servers",
        pace=pace,
        admitted=listeners,
        starved=one.heard.starved,
        worst_ms=one.heard.starvation_s * 1000,
        lead_ms=one.heard.lead_s * 1000,
        server_cores=one.cores,
        cpu_ms_per_audio_s=one.cpu_ms,
        others_cores=one.others_cores,
    )
    for error in one.heard.errors:
        note(f"  {error}")
    report.bar(f"pace {pace}: starved listeners", one.heard.starved, 0, "listeners")
    report.bar(f"pace {pace}: errors", len(one.heard.errors), 0, "")


def admitted(server: Server) -> int:
    """How many listeners may speak at once."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as response:  # noqa: S310 - our own server
        lines = response.read().decode().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith("antiphon_speaking_limit "))
    return int(float(value))


if __name__ == "__main__":
    sys.exit(main(parse_options(__doc__)))
