"""`antiphon page` as a process; what the page does is tested in tests/studio."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
from tests.cli.command import antiphon, assert_a_sentence

WITHOUT_GRADIO = 'raise ModuleNotFoundError("No module named \'gradio\'", name="gradio")\n'


def test_it_serves_until_it_is_told_to_end() -> None:
    command = [sys.executable, "-m", "antiphon", "page", "--to", "local:tone", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert found is not None, said
            page = httpx.get(found[0], trust_env=False)
            assert "vivian" in page.text
            assert "local:tone" in page.text
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130
    assert (rest, errors) == ("", "")


def test_without_gradio_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "gradio.py").write_text(WITHOUT_GRADIO)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    said = assert_a_sentence(antiphon("page", PYTHONPATH=path), 1)
    assert "pip install 'antiphon[ui]'" in said


def test_a_target_that_is_none() -> None:
    assert "did you mean ws://127.0.0.1:8080" in assert_a_sentence(antiphon("page", "--to", "127.0.0.1:8080"), 1)
    assert "did you mean tone?" in assert_a_sentence(antiphon("page", "--to", "local:tonne"), 1)


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1 port {port}" in assert_a_sentence(antiphon("page", "--port", str(port)), 1)


def test_help_says_what_it_needs() -> None:
    assert "antiphon[ui]" in antiphon("page", "--help").stdout
