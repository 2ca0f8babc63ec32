"""An implementation that is a Python object: `describe()` answers the handshake, `call(method, params)` a request."""

from __future__ import annotations

import gc
import json
import signal
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from compaction_conformance.errors import HandshakeFailed
from compaction_conformance.expectation import ERROR_KINDS, Broken, Error, Reply, Result
from compaction_conformance.implementation import Description, Request, read_description


class PythonImplementation(Protocol):
    """What `--implementation python:module:name` has to point to (a module with these two functions will do).

    A refusal is any exception with a `kind` attribute from the closed list of `spec/protocol.md`.
    """

    def describe(self) -> dict[str, Any]: ...

    def call(self, method: str, params: Any) -> Any: ...


_LONGEST = 86_400.0  # seconds; the clock takes no number whatsoever
_REPEAT = 1.0  # seconds; rings again, for a ring in a finalizer is lost
_SOON = 0.001  # seconds


class _OutOfTime(BaseException):
    """Raised inside the implementation by the clock; no `except Exception` of its own catches it."""


class InProcess:
    """Every request gets params of its own, fresh from JSON, so that one call cannot spoil the next."""

    def __init__(self, target: PythonImplementation, *, edition: str, profile: str, time_limit: float = 10.0) -> None:
        self._target = target
        self._time_limit = time_limit
        self.log = ""
        try:
            answer = target.describe()
        except (Exception, SystemExit) as error:
            raise HandshakeFailed(f"describe() raised {type(error).__name__}: {error}") from error
        self.description: Description = read_description(answer, edition, profile)

    def answers(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            yield self._answer(request)

    def close(self) -> None:
        """Nothing to end."""

    def _answer(self, request: Request) -> Reply:
        limit = request.time_limit or self._time_limit
        self.log = ""
        try:
            with _clock(limit):
                value = self._target.call(request.method, json.loads(request.params_text))
            return Result(json.loads(json.dumps(value, allow_nan=False)))
        except _OutOfTime:
            return Broken("timeout", f"no answer within {limit:g} s")
        except SystemExit as end:
            return Broken("exited", f"raised SystemExit({end.code!r})")
        except Exception as error:
            return self._refusal(error)

    def _refusal(self, error: Exception) -> Error:
        kind = getattr(error, "kind", None)
        if kind in ERROR_KINDS:
            return Error(kind, str(error))
        self.log = traceback.format_exc(limit=-4)
        return Error(None, f"{type(error).__name__}: {error}", code=-32603)


@contextmanager
def _clock(seconds: float) -> Iterator[None]:
    """Interrupt Python code after some seconds; without a limit outside the main thread, which alone can be."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code in [getattr(each, "__code__", None) for each in gc.callbacks]:
            signal.setitimer(signal.ITIMER_REAL, _SOON, _REPEAT)  # Python would swallow what is raised there
        else:
            raise _OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, _LONGEST), _REPEAT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
