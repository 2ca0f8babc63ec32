"""An implementation that is a Python object: `describe()` answers the handshake, `call(method, params)` a request."""

from __future__ import annotations

import importlib
import json
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

from compaction_conformance.errors import HandshakeFailed, Unavailable
from compaction_conformance.expectation import ERROR_KINDS, Broken, Error, Reply, Result
from compaction_conformance.foreign import LOG_BYTES, Kept, Log, NotJson, OutOfTime, bounded, plain, text_of, words
from compaction_conformance.implementation import HANDSHAKE_SECONDS, Description, Request, read_description

_SLOW_REMEDY = "leave for the first call what takes long, or plug the implementation in over stdio"
_DESCRIBE_REMEDY = "give a dict as in 'Life of an adapter' in spec/protocol.md"
_IMPORT_REMEDY = "give python:module or python:module:name of an object with describe() and call()"


class PythonImplementation(Protocol):
    """What `--implementation python:module:name` has to point to (a module with these two functions will do).

    A refusal is any exception with a `kind` attribute from the closed list of `spec/protocol.md`.
    """

    def describe(self) -> dict[str, Any]: ...

    def call(self, method: str, params: Any) -> Any: ...


class InProcess:
    """Every request gets params of its own, fresh from JSON, so that one call cannot spoil the next; of an answer its
    JSON alone is kept, so that what is judged is no foreign object."""

    def __init__(
        self,
        target: PythonImplementation,
        *,
        edition: str,
        profile: str,
        time_limit: float = 10.0,
        handshake_limit: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._target = target
        self._time_limit = time_limit
        self._printed = Log()
        self._trace = ""
        self.description: Description = read_description(self._described(handshake_limit), edition, profile)

    @property
    def log(self) -> str:
        """What it printed during the last call, and where it raised what is no refusal."""
        return "\n".join(filter(None, (self._printed.text, self._trace)))

    def answers(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            yield self._answer(request)

    def close(self) -> None:
        """Nothing to end."""

    def _described(self, limit: float) -> Any:
        try:
            with bounded(limit, self._printed) as kept:
                return self._own_description(kept)
        except OutOfTime:
            raise HandshakeFailed(f"describe() gave no answer within {limit:g} s", remedy=_SLOW_REMEDY) from None

    def _own_description(self, kept: Kept) -> Any:
        try:
            answer = kept.call(self._target.describe)
        except BaseException as error:
            raise HandshakeFailed(f"describe() raised {words(error)}") from None
        try:
            return kept.call(plain, answer)
        except NotJson as error:
            raise HandshakeFailed(f"describe() gave no JSON: {error}", remedy=_DESCRIBE_REMEDY) from None

    def _answer(self, request: Request) -> Reply:
        limit = request.time_limit or self._time_limit
        self._trace = ""
        self._printed.clear()
        try:
            with bounded(limit, self._printed) as kept:
                return self._own_answer(request, kept)
        except OutOfTime:
            return Broken("timeout", f"no answer within {limit:g} s")

    def _own_answer(self, request: Request, kept: Kept) -> Reply:
        """Whatever is raised here is caught: `bounded` raises anew what the clock and the user raised."""
        try:
            answer = kept.call(self._target.call, request.method, json.loads(request.params_text))
        except Exception as error:
            return self._refusal(error)
        except BaseException as end:
            return Broken("exited", f"raised {words(end)}")
        try:
            return Result(kept.call(plain, answer))
        except NotJson as error:
            return Broken("invalid_json", f"an answer that is no JSON: {error}")

    def _refusal(self, error: Exception) -> Error:
        kind = _kind(error)
        if kind is not None:
            return Error(kind, text_of(error))
        with suppress(BaseException):  # it asks the exception for its text
            self._trace = traceback.format_exc(limit=-4)[-LOG_BYTES:]
        return Error(None, words(error), code=-32603)


def _kind(error: Exception) -> str | None:
    """The kind of a refusal; the attribute may be code, or a text that claims to be equal to any other."""
    try:
        kind = getattr(error, "kind", None)
        plain_kind = str.__str__(kind) if isinstance(kind, str) else None
    except BaseException:
        return None
    return plain_kind if plain_kind in ERROR_KINDS else None


def imported(module: str, path: Sequence[str], *, where: str, limit: float = HANDSHAKE_SECONDS) -> Any:
    """An object with describe() and call(), by its module and the names that lead to it. Raises `Unavailable`."""
    printed = Log()
    try:
        with bounded(limit, printed) as kept:
            return kept.call(_found, module, path, where)
    except OutOfTime:
        what = f"cannot import it: that took more than {limit:g} s"
        raise Unavailable(what, where=where, remedy=_SLOW_REMEDY) from None


def _found(module: str, path: Sequence[str], where: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
        for part in path:
            found = getattr(found, part)
        lacking = [name for name in ("describe", "call") if not callable(getattr(found, name, None))]
    except BaseException as error:  # nor may it end this program
        raise Unavailable(f"cannot import it: {words(error)}", where=where, remedy=_IMPORT_REMEDY) from None
    if lacking:
        raise Unavailable(f"it has no {lacking[0]}()", where=where)
    return found
