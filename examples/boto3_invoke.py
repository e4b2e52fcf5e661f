"""Speech from a SageMaker endpoint with boto3 alone: the text is complete, the audio streams.

    antiphon emulate up --endpoint qwen3-tts --detach
    eval "$(antiphon emulate env)"
    python examples/boto3_invoke.py qwen3-tts
    python examples/boto3_invoke.py qwen3-tts --whole

Needs boto3. The bidirectional stream (aws_sdk_only.py) starts to speak before the text is complete; this does not.
"""
# ruff: noqa: INP001, T201 - a script that prints

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import boto3
from botocore.exceptions import NoCredentialsError, NoRegionError

TEXT = "Hello from Amazon SageMaker. This was spoken with nothing but boto3."
UNCONFIGURED = (NoCredentialsError, NoRegionError)


def speak(endpoint: str, text: str, voice: str, *, whole: bool) -> Iterator[bytes]:
    """Yield a WAV file in parts as they arrive; in a single one if it is to come `whole`."""
    runtime = boto3.client("sagemaker-runtime")
    body: dict[str, str | bool] = {"input": text, "voice": voice, "response_format": "wav"}
    # The container has one door for everything; this attribute says which of its routes is meant.
    call = {"EndpointName": endpoint, "ContentType": "application/json", "CustomAttributes": "route=/v1/audio/speech"}
    if whole:
        yield runtime.invoke_endpoint(**call, Body=json.dumps(body))["Body"].read()
        return
    body |= {"stream": True, "stream_format": "audio"}  # without the format, newer servers send server-sent events
    for event in runtime.invoke_endpoint_with_response_stream(**call, Body=json.dumps(body))["Body"]:
        yield event["PayloadPart"]["Bytes"]  # an error on the way is raised as an EventStreamError


def arguments() -> argparse.Namespace:
    """Read the command line; what cannot end well is refused before anything is spoken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("endpoint", help="name of the SageMaker endpoint")
    parser.add_argument("--text", default=TEXT, help="what to say")
    parser.add_argument("--voice", default="vivian")
    parser.add_argument("--whole", action="store_true", help="wait for the whole file (InvokeEndpoint)")
    parser.add_argument("--output", type=Path, default=Path("speech.wav"), help="WAV file to write")
    options = parser.parse_args()
    if not options.output.parent.is_dir():
        parser.error(f"cannot write {options.output}: there is no folder {options.output.parent}")
    return options


def main(options: argparse.Namespace) -> None:
    """Speak, and write the WAV file while it arrives."""
    parts = speak(options.endpoint, options.text, options.voice, whole=options.whole)
    first = next(parts)  # before the file is opened: what is refused should not cost an older one its content
    size = 0
    with options.output.open("wb") as file:
        for number, part in enumerate(chain([first], parts), 1):
            size += file.write(part)
            print(f"\r{number} parts, {size} bytes", end="", flush=True)
    print(f" in {options.output}")


if __name__ == "__main__":
    try:
        main(arguments())
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - of the SDK, its connection, the container or the file
        hint = '; for a local SageMaker: eval "$(antiphon emulate env)"' if isinstance(error, UNCONFIGURED) else ""
        sys.exit(f"{type(error).__name__}: {error}{hint}")
