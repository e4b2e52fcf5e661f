"""`antiphon emulate`: a local SageMaker for the real AWS SDKs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from antiphon.cli.extras import extra
from antiphon.cli.failures import ExitCode, fail, reported
from antiphon.emulator.environment import as_shell, environment, runtime_url
from antiphon.emulator.event_log import follow as follow_file
from antiphon.emulator.event_log import older
from antiphon.emulator.run import Run, RunningEndpoint
from antiphon.emulator.settings import EmulatorSettings, credentials
from antiphon.emulator.state import EmulatorError, StateFolder
from antiphon.emulator.stopping import stop

emulate = typer.Typer(
    name="emulate",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="A local SageMaker: the AWS SDKs stream through it, on this machine and without an account.",
)


def _option(name: str, *flags: str) -> Any:
    """An option that is a setting: no default of its own, so that the file's value can stand."""
    field = EmulatorSettings.model_fields[name]
    shown = f" [dim]\\[default: {field.default}][/dim]" if field.default != () else ""
    return typer.Option(*flags, help=f"{field.description}{shown}", show_default=False)


@emulate.command()
def up(
    context: typer.Context,
    endpoint: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=ws://HOST:PORT of a server that runs, or NAME to start one; may be repeated.", show_default=False
        ),
    ] = None,
    port: Annotated[int | None, _option("port")] = None,
    host: Annotated[str | None, _option("host")] = None,
    region: Annotated[str | None, _option("region")] = None,
    hostname: Annotated[list[str] | None, _option("hostnames")] = None,
    engine: Annotated[str | None, _option("engine")] = None,
    dialect: Annotated[Literal["0.26", "0.30"] | None, _option("dialect")] = None,
    verify: Annotated[bool | None, _option("verify", "--verify/--no-verify")] = None,
    time_scale: Annotated[float | None, _option("time_scale")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of these settings, and endpoints.")] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Start it in the background, and return once it is ready.")
    ] = False,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write url, pid and endpoints here, as JSON, once it is ready.")
    ] = None,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", help="Stop when standard input ends, as it does with a parent process.")
    ] = False,
    background: Annotated[bool, typer.Option("--background", hidden=True)] = False,
) -> None:
    r"""Start a local SageMaker, until Ctrl-C or [bold]antiphon emulate down[/bold].

    It needs an extra: pip install 'antiphon\[emulator]'. State (keys, certificates, event log) is kept in
    $ANTIPHON_STATE_DIR; two with different folders and ports run side by side.

    Examples:
        antiphon emulate up --endpoint qwen3-tts

        antiphon emulate up --endpoint mine=ws://127.0.0.1:8080 --detach
    """
    given = {
        "port": port,
        "host": host,
        "region": region,
        "hostnames": hostname or None,
        "engine": engine,
        "dialect": dialect,
        "verify": verify,
        "time_scale": time_scale,
    }
    with reported(EmulatorError, code=ExitCode.USAGE):
        settings = EmulatorSettings.load(
            config, endpoint or (), **{name: value for name, value in given.items() if value is not None}
        )
    _up(context, settings, ready_file, detach=detach, exit_with_stdin=exit_with_stdin, background=background)


def _up(
    context: typer.Context,
    settings: EmulatorSettings,
    ready_file: Path | None,
    *,
    detach: bool,
    exit_with_stdin: bool,
    background: bool,
) -> None:
    # What starts servers is slow to import, and the other commands need nothing of it.
    from antiphon.cli import emulate_detached, emulate_up  # noqa: PLC0415

    if detach and exit_with_stdin:
        raise fail("--detach leaves nobody whose standard input could end; drop --exit-with-stdin", ExitCode.USAGE)
    emulate_up.check(settings, ready_file)
    folder = _folder()
    if detach:
        emulate_detached.run_in_background(context, settings, folder)
        return
    if exit_with_stdin:
        emulate_up.stop_with_stdin()
    emulate_up.run_here(settings, folder, ready_file, background=background)


@emulate.command()
def down() -> None:
    """Stop the local SageMaker of this state folder, and wait until it and its servers are gone."""
    folder = _folder()
    with reported(EmulatorError):
        run = stop(folder)
    print(f"stopped process {run.pid} ({run.url})" if run else f"nothing was running in {folder.path}")


@emulate.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say whether the local SageMaker of this state folder runs; exit status 0 only when it can be used."""
    folder = _folder()
    run = folder.running()
    lost = _lost(run)
    if as_json:
        said = {"running": run is not None and run.ready, "lost": sorted(lost), "state": str(folder.path)}
        print(json.dumps({**said, **(asdict(run) if run else {})}))
    else:
        print(_status(folder, run, lost))
    if run is None or not run.ready or lost:
        raise typer.Exit(ExitCode.FAILED)


def _lost(run: Run | None) -> frozenset[str]:
    """The endpoints whose servers the emulator started and which have ended since."""
    return frozenset(one.name for one in (run.endpoints if run else ()) if not one.in_service)


def _status(folder: StateFolder, run: Run | None, lost: frozenset[str]) -> str:
    if run is None:
        return f"{'starting' if folder.held else 'not running'} (state in {folder.path})"
    if not run.ready:
        return f"starting (process {run.pid}, state in {folder.path})"
    endpoints = [f"  endpoint  {endpoint.name} → {endpoint.url}{_kind(endpoint)}" for endpoint in run.endpoints]
    if lost:
        gone = f"  the server of {', '.join(sorted(lost))} has ended;"
        endpoints.append(f"{gone} start anew: antiphon emulate down, then up")
    return "\n".join(
        [f"running on {run.url} ({run.region}), process {run.pid}", *endpoints, f"  state     {folder.path}"]
    )


def _kind(endpoint: RunningEndpoint) -> str:
    if not endpoint.in_service:
        return ", not in service"
    return ", started by it" if endpoint.started else ""


@emulate.command()
def logs(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is still to come, until Ctrl-C.")
    ] = False,
    events: Annotated[bool, typer.Option("--events", help="What happened on the wire, as JSON lines.")] = False,
) -> None:
    """Show what a local SageMaker in the background says, or what happened on its wire."""
    folder = _folder()
    run = folder.running()
    if not events and run is not None and not run.detached:
        raise fail("it runs in the foreground and says everything there; for what happens on the wire: logs --events")
    path = folder.events if events else folder.log
    if not follow and not any(file.exists() for file in (older(path), path)):
        raise fail(f"there is no {path} yet; start one: antiphon emulate up --detach --endpoint NAME")
    try:
        for line in _lines(path, follow=follow):
            print(line, end="", flush=follow)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _lines(path: Path, *, follow: bool) -> Iterator[str]:
    if older(path).exists():
        yield from _read(older(path))
    yield from follow_file(path) if follow else _read(path)


def _read(path: Path) -> Iterator[str]:
    with reported(OSError), path.open(encoding="utf-8", errors="replace") as file:
        yield from file


@emulate.command()
def env(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Of an emulator still to be started; default the running one's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; null is to be unset.")] = False,
) -> None:
    """Print the variables that point the AWS SDKs here, for [bold]eval "$(antiphon emulate env)"[/bold]."""
    with extra("emulator", "the local SageMaker"):
        from antiphon.emulator.certificates import trust_bundle  # noqa: PLC0415 - it needs the extra

    folder = _folder()
    with reported(EmulatorError):
        url, region = _where(folder, port)
        variables = environment(url, region, credentials(folder), trust_bundle(folder))
    print(json.dumps(variables, indent=2) if as_json else as_shell(variables), end="\n" if as_json else "")


def _where(folder: StateFolder, port: int | None) -> tuple[str, str]:
    """Return the URL and the region of the running emulator, or of one that will listen on this port."""
    run = folder.running()
    if run is not None and run.ready and port in {None, run.port}:
        return run.url, run.region
    if port is None:
        raise EmulatorError(
            "no local SageMaker runs in this state folder; start one: antiphon emulate up --detach --endpoint qwen3-tts, "
            "or say with --port where one will listen"
        )
    defaults = EmulatorSettings.model_fields
    return runtime_url(defaults["host"].default, port), run.region if run else defaults["region"].default


def _folder() -> StateFolder:
    with reported(EmulatorError):
        return StateFolder.default()
