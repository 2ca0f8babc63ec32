"""A signal ends a command and every adapter that it started, also one that does not listen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from compaction_conformance.paths import fixtures_dir

_SESSION = str(fixtures_dir() / "sessions" / "first-steps.jsonl")
_STALLING = str(Path(__file__).with_name("stalling_adapter.py"))


def _until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("mode", "stalled", "words"),
    [
        ("initialize", 1, ["run", "--only", "TOK-01", "--implementation", "{}"]),
        ("", 1, ["run", "--only", "TOK-*", "--implementation", "{}"]),
        ("", 2, ["run", "--only", "TOK-*", "-n", "2", "--implementation", "{}"]),
        ("projection/messages", 1, ["compare", "{}", "reference", _SESSION]),
        ("", 2, ["search", "-n", "2", "--seconds", "60", "--implementation", "{}"]),
    ],
    ids=["handshake", "run", "run -n 2", "compare", "search -n 2"],
)
def test_no_adapter_is_left_behind(
    mode: str, stalled: int, words: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    adapter = f"{sys.executable} {_STALLING} {tmp_path} {mode}"
    command = [sys.executable, "-m", "compaction_conformance.cli", *(word.format(adapter) for word in words)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell in the background has it ignored
    ) as run:
        try:
            assert _until(lambda: len(list(tmp_path.glob("*.stalled"))) >= stalled)
            run.send_signal(number)
            _, told = run.communicate(timeout=20)
        finally:
            run.kill()
            started = [int(file.stem) for file in tmp_path.glob("*.started")]
            ended = _until(lambda: not any(map(_is_alive, started)), 5.0)
            for process in filter(_is_alive, started):
                os.kill(process, signal.SIGKILL)
    assert (run.returncode, told) == (3, "interrupted\n")
    assert ended
