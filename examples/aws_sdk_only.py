"""Speech over SageMaker's bidirectional stream with the AWS SDK alone.

Text goes in word by word, sound comes back while more is written. Against AWS it needs credentials, a region and an
endpoint that runs a vLLM-Omni image; against a local SageMaker:

    antiphon emulate up --endpoint qwen3-tts --detach
    eval "$(antiphon emulate env)"
    python examples/aws_sdk_only.py qwen3-tts

Needs Python 3.12 and "aws-sdk-sagemaker-runtime-http2[awscrt]>=0.11,<0.13".
"""
# ruff: noqa: INP001, T201 - a script that prints

import argparse
import asyncio
import json
import logging
import os
import sys
import wave
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponseStreamEventPayloadPart,
)
from smithy_http.aio.crt import AWSCRTHTTPClient

TEXT = "Hello from Amazon SageMaker. This sentence was still being written when you heard the first one."
OPEN_TIMEOUT_S = 30.0  # without credentials, or when the connection breaks too early, the SDK waits for ever
SILENCE_TIMEOUT_S = 120.0  # a model that was not used yet may take a minute
END_TIMEOUT_S = 5.0


async def open_stream(client: AsyncSageMakerRuntimeHTTP2Client, endpoint: str) -> tuple[Any, Any]:
    """Return the stream's two sides. SageMaker answers as soon as the container has taken the connection."""
    call = InvokeEndpointWithBidirectionalStreamInput(
        endpoint_name=endpoint, model_invocation_path="v1/audio/speech/stream"
    )
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            stream = await client.invoke_endpoint_with_bidirectional_stream(call)
            _, receiver = await stream.await_output()
    except TimeoutError:
        hint = "are there credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE), and is the region right?"
        raise TimeoutError(f"no answer within {OPEN_TIMEOUT_S:g} s; {hint}") from None
    return stream.input_stream, receiver


async def send(sender: Any, **message: Any) -> None:
    """Send one JSON message, complete in itself, as text: the container sees one text frame."""
    part = RequestPayloadPart(bytes_=json.dumps(message).encode(), data_type="UTF8", completion_state="COMPLETE")
    await sender.send(RequestStreamEventPayloadPart(value=part))


async def write(sender: Any, options: argparse.Namespace, arrived: asyncio.Queue[Any]) -> None:
    """Write the text as a language model would. Only this task sends: the SDK signs each event after the last."""
    try:
        await write_words(sender, options)
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody must wait for speech any more
        await asyncio.sleep(END_TIMEOUT_S)  # if the stream broke, what the reader is about to hear says why
        await arrived.put(error)


async def write_words(sender: Any, options: argparse.Namespace) -> None:
    """Write the text word by word."""
    # Servers before vLLM-Omni 0.30 ignore the splitting, and speak everything at input.done.
    how = {"response_format": "pcm", "stream_audio": True, "split_granularity": "sentence"}
    await send(sender, type="session.config", voice=options.voice, language="English", **how)
    for word in options.text.split():
        await send(sender, type="input.text", text=f"{word} ")
        await asyncio.sleep(1 / options.words_per_second)
    await send(sender, type="input.done")


async def receive(receiver: Any, arrived: asyncio.Queue[Any]) -> None:
    """Read into a queue. A read that is cancelled ends the stream for good, so all waiting is on the queue."""
    try:
        while (event := await receiver.receive()) is not None:
            await arrived.put(event)
        await arrived.put(EOFError("the stream ended without session.done"))
    except Exception as error:  # noqa: BLE001 - ModelStreamError and InternalStreamFailure are raised, too
        await arrived.put(error)


async def messages(arrived: asyncio.Queue[Any]) -> AsyncIterator[dict[str, Any] | bytes]:
    """Yield the container's messages, JSON or audio, put together from their parts."""
    whole = bytearray()
    while True:
        try:
            event = await asyncio.wait_for(arrived.get(), SILENCE_TIMEOUT_S)
        except TimeoutError:
            raise TimeoutError(f"the container was silent for {SILENCE_TIMEOUT_S:g} s") from None
        if isinstance(event, Exception):
            raise event
        if not isinstance(event, ResponseStreamEventPayloadPart):
            continue
        whole += event.value.bytes_ or b""
        if event.value.completion_state != "PARTIAL":
            yield json.loads(whole) if event.value.data_type == "UTF8" else bytes(whole)
            whole.clear()


async def listen(arrived: asyncio.Queue[Any]) -> tuple[bytes, int]:
    """Take everything up to session.done, which alone says that all went well; return audio and sample rate."""
    audio, chunks, sample_rate = bytearray(), 0, 0
    async for message in messages(arrived):
        if isinstance(message, bytes):
            audio += message
            chunks += 1
            print(f"  {chunks} chunks, {len(audio)} bytes", flush=True)
            continue
        print(json.dumps(message, ensure_ascii=False), flush=True)
        sample_rate = message.get("sample_rate", sample_rate)
        if message["type"] == "error" or message.get("error"):
            raise RuntimeError(message.get("message", "the container could not speak this text"))
        if message["type"] == "session.done":
            break
    return bytes(audio), sample_rate


async def speak(client: AsyncSageMakerRuntimeHTTP2Client, options: argparse.Namespace) -> tuple[bytes, int]:
    """Speak the text over one stream and end it."""
    sender, receiver = await open_stream(client, options.endpoint)
    arrived: asyncio.Queue[Any] = asyncio.Queue(maxsize=64)
    reader = asyncio.create_task(receive(receiver, arrived))
    writer = asyncio.create_task(write(sender, options, arrived))
    try:
        heard = await listen(arrived)
        await writer
    finally:
        writer.cancel()
        await end(sender, reader)
    return heard


async def end(sender: Any, reader: asyncio.Task[None]) -> None:
    """End the stream from both sides."""
    with suppress(Exception):  # it may be broken
        await send(sender, type="session.close")
        await sender.close()
    # What comes now is how streams end, often a ModelStreamError with close code 1000; it is no failure.
    await asyncio.wait({reader}, timeout=END_TIMEOUT_S)
    reader.cancel()


async def main(options: argparse.Namespace) -> None:
    """Speak, and write the WAV file."""
    region = os.environ["AWS_REGION"]
    # The SDK leaves the port out, and on 443 nobody answers.
    url = os.environ.get("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2")
    url = url or f"https://runtime.sagemaker.{region}.amazonaws.com:8443"
    # When the container is the first to close, a task of the SDK fails that nobody waits for.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    # The SDK's default transport cannot do this operation.
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
        region=region, endpoint_uri=url, transport=AWSCRTHTTPClient()
    )
    audio, sample_rate = await speak(AsyncSageMakerRuntimeHTTP2Client(config), options)
    if not audio:
        sys.exit("there was nothing to say in that text")
    with wave.open(str(options.output), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(audio)
    print(f"{len(audio) / 2 / sample_rate:.2f} s of speech in {options.output}")


def arguments() -> argparse.Namespace:
    """Read the command line; what cannot end well is refused before anything is spoken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("endpoint", help="name of the SageMaker endpoint")
    parser.add_argument("--text", default=TEXT, help="what to say")
    parser.add_argument("--voice", default="vivian")
    parser.add_argument("--words-per-second", type=float, default=10.0, help="how fast it is written")
    parser.add_argument("--output", type=Path, default=Path("speech.wav"), help="WAV file to write")
    options = parser.parse_args()
    if not options.words_per_second > 0:
        parser.error("--words-per-second must be more than 0")
    if not options.output.parent.is_dir():
        parser.error(f"cannot write {options.output}: there is no folder {options.output.parent}")
    if "AWS_REGION" not in os.environ:
        parser.exit(1, 'AWS_REGION is not set; for a local SageMaker: eval "$(antiphon emulate env)"\n')
    return options


if __name__ == "__main__":
    try:
        asyncio.run(main(arguments()))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - of the SDK, its transport, the container or the file
        sys.exit(f"{type(error).__name__}: {error}")
