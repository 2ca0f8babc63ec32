"""Foreign Python code in this process: bounded in time, and what it changed of the process is put right after it.

Code that takes every exception for itself, a long call of C, a thread and `os._exit` are beyond what Python can bound.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from compaction_conformance.process import MAX_LINE_BYTES

_LONGEST = 86_400.0  # seconds; the clock takes no number whatsoever
_REPEAT = 0.05  # seconds; a ring can be swallowed, by the code or by Python
LOG_BYTES = 8_000
_MOST_WORDS = 2_000

T = TypeVar("T")


class OutOfTime(BaseException):
    """Raised inside foreign code by the clock; no `except Exception` of its own catches it."""


class NotJson(Exception):
    """What foreign code gave is no JSON. `str()` says why."""


class Log:
    """What foreign code prints, of which the end is kept. It cannot be closed."""

    def __init__(self) -> None:
        self._tail = _Tail()
        self.stream = io.TextIOWrapper(self._tail, encoding="utf-8", errors="backslashreplace", write_through=True)

    @property
    def text(self) -> str:
        return self._tail.data.decode("utf-8", "replace")

    def clear(self) -> None:
        self._tail.data = b""


class _Tail(io.BufferedIOBase):
    name = "log"
    data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.data = (self.data + view[-LOG_BYTES:])[-LOG_BYTES:]
        return len(view)

    def close(self) -> None:
        """Who closes a stream on it does not close it for the next one."""


@contextmanager
def bounded(seconds: float, log: Log) -> Iterator[Kept]:
    """Around foreign code. Whatever that raises or takes for itself, `OutOfTime` is raised when it took longer, and
    `KeyboardInterrupt` when the user ended the program meanwhile.

    Outside the main thread nothing is done: signals do not arrive there, and the streams are everybody's."""
    if threading.current_thread() is not threading.main_thread():
        yield Kept(None, _Watch())
        return
    watch = _Watch()
    kept = Kept(log, watch)
    watch.begin(seconds)
    try:
        yield kept
    finally:
        kept.put_back()
        watch.end()
        kept.go_back()
        watch.tell()


class Kept:
    """What foreign code may change of the interpreter, as it was before, and the working directory."""

    def __init__(self, log: Log | None, watch: _Watch) -> None:
        self._log, self._watch = log, watch
        self._streams = sys.stdin, sys.stdout, sys.stderr
        self._depth, self._trace, self._profile = sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()
        self._folder = _folder() if log else None

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call foreign code. What it prints goes to the log, and nothing that it set is left when this returns."""
        if self._log is None:
            return function(*arguments)
        try:
            sys.stdout = sys.stderr = self._log.stream
            self._watch.inside = True
            return function(*arguments)
        finally:
            self._watch.inside = False
            try:
                if sys.getprofile() is not self._profile:  # which a profile function hears of, and may raise
                    sys.setprofile(self._profile)
            finally:
                if sys.gettrace() is not self._trace:
                    sys.settrace(self._trace)
                self.put_back()

    def put_back(self) -> None:
        sys.setrecursionlimit(self._depth)
        sys.stdin, sys.stdout, sys.stderr = self._streams

    def go_back(self) -> None:
        if self._folder is not None and self._folder != _folder():
            os.chdir(self._folder)


def _folder() -> str | None:
    with suppress(OSError):
        return os.getcwd()
    return None


class _Watch:
    """The signals that end foreign code: the clock's, which rings nowhere else, and those of the user."""

    def __init__(self) -> None:
        self.inside = False
        self._late = self._interrupted = False
        self._before: dict[int, Any] = {}
        self._timer = (0.0, 0.0)
        self._lost = sys.unraisablehook

    def begin(self, seconds: float) -> None:
        handlers: dict[int, Any] = {signal.SIGALRM: self._ring}
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                handlers[number] = self._passed_on(handler)
        self._before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        sys.unraisablehook = self._dropped
        self._timer = signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST), _REPEAT)

    def end(self) -> None:
        self.inside = False
        signal.setitimer(signal.ITIMER_REAL, *self._timer)
        sys.unraisablehook = self._lost
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def tell(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        if self._late:
            raise OutOfTime

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        self._late = True
        if self.inside:
            raise OutOfTime

    def _dropped(self, lost: sys.UnraisableHookArgs) -> None:
        """Python drops what is raised in a finalizer or in a callback of its collector, and says so; of a ring, which
        comes again, nothing need be said."""
        if lost.exc_type is not OutOfTime:
            self._lost(lost)

    def _passed_on(self, handler: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except KeyboardInterrupt:
                self._interrupted = True
                raise

        return handle


def plain(value: Any) -> Any:
    """The value as JSON has it: nothing of it is foreign any more. Raises `NotJson`."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= MAX_LINE_BYTES:
            return json.loads(text)
        reason = f"it has more than {MAX_LINE_BYTES} bytes"
    except RecursionError:
        reason = "it is nested too deeply"
    except BaseException as error:  # the members of the value may be code, too
        reason = words(error)
    raise NotJson(reason)


def text_of(error: BaseException) -> str:
    """What an exception says, in bounds; that may be code, too."""
    try:
        return str.__str__(str(error))[:_MOST_WORDS]
    except BaseException as trouble:
        return f"(its text raises {_name(trouble)})"


def words(error: BaseException) -> str:
    """The name of an exception, and what it says."""
    return f"{_name(error)}: {text_of(error)}"


def _name(error: BaseException) -> str:
    return str.__str__(type.__dict__["__name__"].__get__(type(error)))
