"""A child process that speaks in lines: non-blocking on all three pipes, bounded in memory, and always ended.

One thread reads; any may end it, which the one that reads is told. The child may flood, stall, die or close its pipes;
reading a line either returns one or raises exactly one of the three classes below.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

MAX_LINE_BYTES = 256 * 1024 * 1024
_CHUNK = 256 * 1024
_STDERR_TAIL_BYTES = 8 * 1024
_LONGEST_WAIT = 0.5  # then it is seen whether another thread has ended the child


class TimedOut(Exception):
    """No whole line came in time; `partial` is the number of bytes of an unfinished one."""

    def __init__(self, partial: int) -> None:
        self.partial = partial


class Ended(Exception):
    """Standard output is at its end. `returncode` is as in `subprocess`, None while the process goes on."""

    def __init__(self, returncode: int | None, partial: int) -> None:
        self.returncode, self.partial = returncode, partial


class Overlong(Exception):
    """A line grew beyond the limit."""


class Process:
    """Starts at once; raises `OSError` when the command cannot be started."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        self._child = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        assert self._child.stdin and self._child.stdout and self._child.stderr
        self._stdin, self._stdout, self._stderr = self._child.stdin, self._child.stdout, self._child.stderr
        self._selector = selectors.DefaultSelector()
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        self._outgoing: deque[memoryview] = deque()
        self._lines: deque[bytes] = deque()
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._max_line_bytes = max_line_bytes
        self._at_end = self._killed = False
        self._errors = b""

    @property
    def stderr_tail(self) -> str:
        """The end of what has come on stderr until now."""
        self._drain_stderr()
        return self._errors.decode("utf-8", "replace")

    def write(self, data: bytes) -> None:
        """Queue bytes for the child; they go out while lines are read."""
        if not self._outgoing and self._stdin_is_open():
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._outgoing.append(memoryview(data))
        self._flush()

    def read_line(self, seconds: float) -> bytes:
        """The next line without its newline; in no seconds, one that is there already.

        Raises `TimedOut`, `Ended` or `Overlong`."""
        deadline = time.monotonic() + seconds
        while not self._lines:
            if self._partial_bytes > self._max_line_bytes:
                raise Overlong
            if self._at_end or self._killed:
                raise Ended(self._returncode_soon(), self._partial_bytes)
            left = deadline - time.monotonic()
            self._wait(min(max(left, 0.0), _LONGEST_WAIT))
            if left <= 0 and not self._lines:
                raise TimedOut(self._partial_bytes)
        return self._lines.popleft()

    def _wait(self, seconds: float) -> None:
        """Until a pipe is ready, which is then served."""
        try:
            for key, _ in self._selector.select(seconds):
                self._serve(key.fileobj)
        except ValueError:  # closed, while this thread waited
            if not self._killed:
                raise

    def close(self, grace: float = 2.0) -> int | None:
        """Close the child's stdin, give it a moment to end by itself, and end it if it does not.

        The exit code with which it ended by itself, or None.
        """
        self._unregister(self._stdin)
        with suppress(OSError):
            self._stdin.close()
        code = None
        try:
            with suppress(subprocess.TimeoutExpired):
                code = self._child.wait(grace)
        finally:
            self.kill()
        return code

    def kill(self) -> None:
        """End the child and all of its process group, and give back the pipes."""
        self._killed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._drain_stderr()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                pipe.close()

    def _serve(self, pipe: object) -> None:
        if pipe is self._stdin:
            self._flush()
        elif pipe is self._stdout:
            self._take(self._read(self._stdout.fileno()))
        else:
            self._keep_error(self._read(self._stderr.fileno()))

    def _take(self, chunk: bytes | None) -> None:
        if chunk is None:
            return
        if not chunk:
            self._at_end = True
            self._unregister(self._stdout)
            return
        *whole, rest = chunk.split(b"\n")
        if whole:
            self._lines.append(b"".join([*self._partial, whole[0]]))
            self._lines.extend(whole[1:])
            self._partial, self._partial_bytes = [], 0
        if rest:
            self._partial.append(rest)
            self._partial_bytes += len(rest)

    def _keep_error(self, chunk: bytes | None) -> None:
        if chunk == b"":
            self._unregister(self._stderr)
        elif chunk:
            self._errors = (self._errors + chunk)[-_STDERR_TAIL_BYTES:]

    def _drain_stderr(self) -> None:
        with suppress(ValueError):  # closed
            for _ in range(4):
                chunk = self._read(self._stderr.fileno())
                if not chunk:
                    return
                self._keep_error(chunk)

    def _read(self, descriptor: int) -> bytes | None:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _flush(self) -> None:
        try:
            while self._outgoing:
                written = os.write(self._stdin.fileno(), self._outgoing[0][:_CHUNK])
                rest = self._outgoing[0][written:]
                if rest:
                    self._outgoing[0] = rest
                else:
                    self._outgoing.popleft()
        except BlockingIOError:
            return
        except (OSError, ValueError):  # the child closed its end; its stdout will tell how it went
            self._outgoing.clear()
        self._unregister(self._stdin)

    def _stdin_is_open(self) -> bool:
        return not self._stdin.closed and self._stdin not in (key.fileobj for key in self._selector.get_map().values())

    def _unregister(self, pipe: object) -> None:
        with suppress(KeyError, ValueError, RuntimeError):
            self._selector.unregister(pipe)  # type: ignore[arg-type]

    def _returncode_soon(self) -> int | None:
        try:
            return self._child.wait(0.5)
        except subprocess.TimeoutExpired:
            return None
