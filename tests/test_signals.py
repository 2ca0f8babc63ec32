"""A signal ends a command and every adapter that it started, also one that does not listen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
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


def _heard() -> None:
    """In a child: a shell in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
        preexec_fn=_heard,
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


def test_an_interruption_while_modules_are_loaded_is_no_noise(tmp_path: Path) -> None:
    slow = tmp_path / "jsonschema.py"
    slow.write_text(f"import time, pathlib\npathlib.Path({str(tmp_path / 'loading')!r}).touch()\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "compaction_conformance.cli", "list"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        preexec_fn=_heard,
    ) as run:
        assert _until((tmp_path / "loading").exists)
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=20)
    assert (run.returncode, told) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_second_interruption_of_what_is_said_to_nobody_is_no_noise(number: signal.Signals) -> None:
    """Nobody reads what is written: the first signal ends the work, the second one the wait for a reader."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, bytes(1 << 12)):
            pass
    os.set_blocking(writer, True)
    command = [sys.executable, "-m", "compaction_conformance.cli", "list", "--operations"]
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heard,
    ) as run:
        assert run.stderr
        assert _until(lambda: _is_idle(run.pid))
        run.send_signal(number)
        told = run.stderr.readline()
        assert _until(lambda: _is_idle(run.pid))
        assert run.poll() is None
        run.send_signal(number)
        rest = run.communicate(timeout=20)[1]
    os.close(reader)
    os.close(writer)
    assert (run.returncode, told, rest) == (130, "interrupted\n", "")


def _is_idle(process: int) -> bool:
    """Whether it takes no time of the processor for a while."""
    stat = Path(f"/proc/{process}/stat")
    spent = stat.read_text().split()[13:15]
    time.sleep(0.5)
    return spent != ["0", "0"] and stat.read_text().split()[13:15] == spent


def test_a_second_interruption_leaves_no_adapter_behind(tmp_path: Path) -> None:
    adapter = f"{sys.executable} {_STALLING} {tmp_path}"
    command = [
        sys.executable,
        "-m",
        "compaction_conformance.cli",
        "run",
        "--only",
        "TOK-*",
        "--implementation",
        adapter,
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=_heard
    ) as run:
        assert _until(lambda: any(tmp_path.glob("*.stalled")))
        run.send_signal(signal.SIGINT)
        time.sleep(0.5)  # while the adapter is given its moment to end
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=20)
    process = int(next(tmp_path.glob("*.started")).stem)
    assert (run.returncode, told) == (130, b"interrupted\n")
    assert _until(lambda: not _is_alive(process), 5.0)
