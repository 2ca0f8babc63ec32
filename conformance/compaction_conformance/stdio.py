"""An implementation behind an adapter process: JSON-RPC lines over its stdin and stdout.

Requests are pipelined: up to `_WINDOW` are under way at once, answers come in the same order. Whatever the process
does, each request gets exactly one reply, and a process that misbehaved is replaced, within a budget.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import HandshakeFailed, Unavailable
from compaction_conformance.expectation import ERROR_KINDS, Broken, Error, NotRun, Reply, Result
from compaction_conformance.guarded_json import refuse_constant
from compaction_conformance.implementation import (
    HANDSHAKE_SECONDS,
    Description,
    Request,
    initialize_params,
    read_description,
)
from compaction_conformance.process import MAX_LINE_BYTES, Ended, Overlong, Process, TimedOut
from compaction_conformance.schema_words import brief

_WINDOW = 32
_WINDOW_BYTES = 4_000_000
_SETTLE_SECONDS = 0.05
_LINE_SHOWN = 400
_WHOLE_DIGITS = 300  # so many a double can hold, whatever they are


@dataclass(frozen=True)
class _Sent:
    id: int
    request: Request


@dataclass(frozen=True)
class _Told:
    """A reply, and the end of the log of the process from which it came."""

    reply: Reply
    log: str


class _Trouble(Exception):
    """The process can no longer be relied on. `reply` is what became of the request to blame: the oldest one under way,
    or, with `answered_before`, the one that was answered last, so long as its answer is held back."""

    def __init__(self, failure: str, detail: str, *, answered_before: bool = False) -> None:
        self.reply = Broken(failure, detail)
        self.answered_before = answered_before
        super().__init__(detail)


class Stdio:
    """`restarts` is how often the process may be started again before the rest of the run is given up."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        edition: str,
        profile: str,
        environment: Mapping[str, str] | None = None,
        time_limit: float = 10.0,
        restarts: int = 100,
    ) -> None:
        self._command, self._environment = command, environment
        self._edition, self._profile = edition, profile
        self._time_limit = time_limit
        self._restarts_left = restarts
        self._next_id = 0
        self._pending: deque[_Sent] = deque()
        self._again: deque[Request] = deque()
        self._lost = ""
        self._log = ""
        self._asked = False
        self._closed = False
        self._closing = threading.Lock()  # no process is started once it is closed, by whatever thread
        self.exit_code: int | None = None  # with which it ended when its input was closed
        self.description: Description = self._start()

    @property
    def log(self) -> str:
        """Of the process that gave the last reply."""
        return self._log

    def close(self) -> None:
        """Ends the process, also while another thread waits for it."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if not self._lost:
            self.exit_code = self._process.close()

    def answers(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request, in order; each is held back until the next line shows it was the only one.

        What is asked one request at a time is not held up: a late second answer is then told of the next request."""
        source = iter(requests)
        held: _Told | None = None
        count = 0
        while not self._lost:
            self._send_more(source)
            if not self._pending:
                break
            try:
                told = [_Told(self._receive(), self._process.stderr_tail)]
            except _Trouble as trouble:
                told = self._after(trouble, held)
                if trouble.answered_before:
                    held = None
            for each in told:
                if held is not None:
                    yield self._handed(held)
                held = each
                count += 1
        if held is not None:
            wait = 0.0 if self._asked and count == 1 else _SETTLE_SECONDS
            self._asked = True
            yield self._handed(held if self._lost else self._settled(held, wait))
        if self._lost:
            unanswered = len(self._pending) + len(self._again)
            self._pending.clear()
            self._again.clear()
            for _ in range(unanswered):
                yield NotRun(self._lost)
            for _ in source:
                yield NotRun(self._lost)

    def _handed(self, told: _Told) -> Reply:
        self._log = told.log
        return told.reply

    # Starting and ending the process

    def _start(self) -> Description:
        with self._closing:
            if self._closed:
                raise Unavailable("it is closed")
            try:
                self._process = Process(self._command, self._environment)
            except OSError as error:
                program = brief(self._command[0], _LINE_SHOWN)
                raise Unavailable(f"cannot start {program!r}: {error.strerror or error}") from None
        try:
            return self._introduced()
        except BaseException:  # a signal, too: nobody else knows of the process yet
            self._process.kill()
            self._pending.clear()
            raise

    def _introduced(self) -> Description:
        self._send(Request("initialize", json.dumps(initialize_params(self._edition, self._profile))))
        try:
            reply = self._receive(HANDSHAKE_SECONDS)
        except _Trouble as trouble:
            reply = trouble.reply
        if not isinstance(reply, Result):
            ended = isinstance(reply, Broken) and reply.failure in ("exited", "signalled")
            raise HandshakeFailed(self._first_words(reply), remedy=_ENDED_REMEDY if ended else _HANDSHAKE_REMEDY)
        return read_description(reply.value, self._edition, self._profile)

    def _first_words(self, reply: Reply) -> str:
        what = f"{reply.failure}, {reply.detail}" if isinstance(reply, Broken) else f"it answered {reply}"
        told = _most_telling(self._process.stderr_tail)
        head = f"no handshake with {brief(shlex.join(self._command), _LINE_SHOWN)}: {brief(what, _LINE_SHOWN)}"
        return head + (f"\n  its stderr: {told}" if told else "")

    def _restart(self) -> str:
        """A fresh process; what was under way is asked again. Sets `_lost` when there can be none.

        The end of the log of the process that is gone."""
        self._process.kill()
        log = self._process.stderr_tail
        self._again.extendleft(sent.request for sent in reversed(self._pending))
        self._pending.clear()
        if self._restarts_left == 0:
            self._lost = "the restart budget is spent"
            return log
        self._restarts_left -= 1
        try:
            self._start()
        except (HandshakeFailed, Unavailable) as error:
            self._lost = f"it could not be started again: {error.what}"
        return log

    # Sending and receiving

    def _send_more(self, source: Iterator[Request]) -> None:
        under_way = sum(len(sent.request.params_text) for sent in self._pending)
        while len(self._pending) < _WINDOW and (under_way < _WINDOW_BYTES or not self._pending):
            request = self._again.popleft() if self._again else next(source, None)
            if request is None:
                return
            self._send(request)
            under_way += len(request.params_text)

    def _send(self, request: Request) -> None:
        self._next_id += 1
        head = f'{{"jsonrpc":"2.0","id":{self._next_id},"method":{json.dumps(request.method)}'
        self._pending.append(_Sent(self._next_id, request))
        self._process.write(f'{head},"params":{request.params_text}}}\n'.encode())

    def _receive(self, seconds: float | None = None) -> Reply:
        """The reply to the oldest request under way. Raises `_Trouble` when the process has to be replaced."""
        limit = seconds or self._pending[0].request.time_limit or self._time_limit
        try:
            line = self._process.read_line(limit)
        except TimedOut as late:
            rest = f"; {late.partial} bytes of an unfinished line had come" if late.partial else ""
            raise _Trouble("timeout", f"no answer within {limit:g} s{rest}") from None
        except Ended as end:
            raise _ending(end) from None
        except Overlong:
            raise _Trouble("invalid_json", f"a line of more than {MAX_LINE_BYTES} bytes") from None
        reply = self._read(line)
        self._pending.popleft()
        return reply

    def _read(self, line: bytes) -> Reply:
        try:
            value, beyond = _value_of(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _Trouble("invalid_json", f"a line that is not UTF-8 (byte {error.start}): {_excerpt(line)}") from None
        except (ValueError, RecursionError) as error:
            raise _Trouble("invalid_json", f"a line that is not JSON ({_reason(error)}): {_excerpt(line)}") from None
        self._check_id(value, line)
        if beyond:
            return Broken("schema_violation", f"a number that no double holds (null stands for it): {beyond[:40]}")
        return read_response(value)

    def _check_id(self, value: Any, line: bytes) -> None:
        if not isinstance(value, dict) or type(value.get("id")) is not int:
            return  # no id to go by: taken for the oldest request, and judged by its shape
        wanted, got = self._pending[0].id, value["id"]
        if got == wanted:
            return
        if got < wanted:
            raise _Trouble("wrong_id", f"a second answer to one request: {_excerpt(line)}", answered_before=True)
        raise _Trouble("wrong_id", f"an answer with id {got} where {wanted} is due: {_excerpt(line)}")

    # After a failure that ends the process

    def _after(self, trouble: _Trouble, held: _Told | None) -> list[_Told]:
        """The replies that are settled now. The process is a fresh one afterwards, unless the run is lost."""
        if trouble.answered_before and held is not None:
            return [_Told(trouble.reply, self._restart())]
        if len(self._pending) == 1 or trouble.answered_before or trouble.reply.failure == "timeout":
            self._pending.popleft()
            return [_Told(trouble.reply, self._restart())]
        return self._ask_alone(trouble)

    def _ask_alone(self, trouble: _Trouble) -> list[_Told]:
        """Several requests were under way: ask them one at a time, until one breaks the process again. That one is to
        blame; if none does, the oldest is, for what happened the first time."""
        count = len(self._pending)
        log = self._restart()
        if self._lost:
            self._again.popleft()
            return [_Told(trouble.reply, log)]
        told: list[_Told] = []
        while len(told) < count:
            self._send(self._again.popleft())
            try:
                told.append(_Told(self._receive(), self._process.stderr_tail))
            except _Trouble as again:
                if again.answered_before and told:
                    told.pop()
                else:
                    self._pending.popleft()
                return [*told, _Told(again.reply, self._restart())]
        first = trouble.reply
        return [_Told(Broken(first.failure, f"{first.detail} (not again when asked alone)"), log), *told[1:]]

    def _settled(self, held: _Told, seconds: float) -> _Told:
        """The last reply, unless another line follows it at once."""
        with suppress(TimedOut, Ended, Overlong):
            line = self._process.read_line(seconds)
            return _Told(Broken("wrong_id", f"a line that nobody asked for: {_excerpt(line)}"), held.log)
        return held


_ERROR_LINE = re.compile(r"\S*(?:error|exception|panic)\b.*", re.IGNORECASE)
_ENDED_REMEDY = "the command ended before it answered; run it by hand"
_HANDSHAKE_REMEDY = "stdout is for answers only (logs go to stderr); see 'Life of an adapter' in spec/protocol.md"


def _most_telling(log: str) -> str:
    """The last line of a log that begins with the name of an error, else the last one: some say more after it."""
    lines = [line for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    return (errors or lines or [""])[-1][:_LINE_SHOWN]


def _is_whole(response: dict[str, Any]) -> bool:
    """It says which request it answers, and it holds a result or an error and not both."""
    return type(response.get("id")) is int and ("result" in response) != ("error" in response)


def read_response(value: Any) -> Reply:
    """From a JSON-RPC response object. Whatever has another shape is a `schema_violation`."""
    if isinstance(value, dict) and value.get("jsonrpc") == "2.0" and _is_whole(value):
        if "result" in value:
            return Result(value["result"])
        error = value["error"]
        if isinstance(error, dict) and isinstance(error.get("message"), str) and type(error.get("code")) is int:
            data = error.get("data")
            kind = data.get("kind") if isinstance(data, dict) else None
            if kind is None or kind in ERROR_KINDS:
                return Error(kind, error["message"], error["code"])
    problem = schemas.first_error("protocol/response", value)
    detail = f"at {problem.pointer or 'the top'}: {problem.message}" if problem else "unknown error kind"
    return Broken("schema_violation", f"no JSON-RPC response, {detail}")


def _ending(end: Ended) -> _Trouble:
    rest = f"; {end.partial} bytes of an unfinished line had come" if end.partial else ""
    if end.returncode is None:
        return _Trouble("closed_stdout", f"stdout was closed, the process goes on{rest}")
    if end.returncode < 0:
        return _Trouble("signalled", f"ended by signal {-end.returncode}{rest}")
    return _Trouble("exited", f"ended with exit code {end.returncode}{rest}")


def _value_of(text: str) -> tuple[Any, str]:
    """The value of a line, and one of the numbers in it that no double holds, if any: JavaScript reads those as
    infinities, and JSON has no way to write them again."""
    beyond = ""

    def real(digits: str) -> float:
        nonlocal beyond
        number = float(digits)
        beyond = digits if math.isinf(number) else beyond
        return number

    def whole(digits: str) -> int | float:
        return int(digits) if len(digits) <= _WHOLE_DIGITS else real(digits)

    try:
        value = json.loads(text, parse_float=real, parse_constant=refuse_constant)
    except ValueError:  # which Python also raises for too many digits
        value = json.loads(text, parse_float=real, parse_int=whole, parse_constant=refuse_constant)
    return value, beyond


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _excerpt(line: bytes) -> str:
    text = line[:120].decode("utf-8", "replace")
    return repr(text) + ("…" if len(line) > 120 else "")
