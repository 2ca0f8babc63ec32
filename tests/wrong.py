"""Implementations for tests: the reference with one thing changed. `python:wrong:NAME` plugs one in."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

from compaction_reference import operations


class Wrong:
    """The reference, save that some operations go through a function of their own: (params, right answer) → answer."""

    def __init__(self, name: str, **changed: Callable[[Any, Callable[[], Any]], Any]) -> None:
        self._name = name
        self._changed = {method.replace("__", "/"): change for method, change in changed.items()}

    def describe(self) -> dict[str, Any]:
        about: dict[str, Any] = operations.describe()
        return {**about, "implementation": {**about["implementation"], "name": self._name}}

    def call(self, method: str, params: Any) -> Any:
        right = lambda: operations.call(method, params)  # noqa: E731
        return self._changed[method](params, right) if method in self._changed else right()


def _bytes(params: Any, right: Callable[[], Any]) -> Any:
    content = params["message"].get("content")
    return {"tokens": -(-len(content.encode("utf-8", "replace")) // 4)} if isinstance(content, str) else right()


def _crash(params: Any, right: Callable[[], Any]) -> Any:
    raise ZeroDivisionError("a bug with\x1b[31m colours <b>& more")


def _slow(params: Any, right: Callable[[], Any]) -> Any:
    time.sleep(30)


class Partial:
    """Serves one operation alone."""

    def describe(self) -> dict[str, Any]:
        return {**operations.describe(), "operations": ["tokens/from_usage"]}

    def call(self, method: str, params: Any) -> Any:
        return operations.call(method, params)


class Unserved(Partial):
    """Declares what it does not serve."""

    def call(self, method: str, params: Any) -> Any:
        raise NotImplementedError(method)


counts_bytes = Wrong("counts-bytes", tokens__of_message=_bytes)
crashes = Wrong("crashes", tokens__from_usage=_crash)
slow = Wrong("slow", tokens__from_usage=_slow)
not_json = Wrong("not-json", tokens__from_usage=lambda params, right: {"tokens": {1, 2}})
bad_shape = Wrong("bad-shape", tokens__from_usage=lambda params, right: {"token": 1})
leaves = Wrong("leaves", tokens__from_usage=lambda params, right: sys.exit(7))
spoils = Wrong("spoils", tokens__from_usage=lambda params, right: (right(), params["usage"].clear())[0])
never_overflows = Wrong("never-overflows", overflow__is_overflow=lambda params, right: {"overflow": False})
nothing_to_refuse = Wrong("nothing-to-refuse", settings__resolve=lambda params, right: _lenient(right))
keeps_all = Wrong("keeps-all", projection__messages=lambda params, right: _unfolded(params))
loses_content = Wrong("loses-content", projection__messages=lambda params, right: {"messages": []})
looks = Counter[str]()
walks_slowly = Wrong("walks-slowly", session__path=lambda params, right: (_quadratic(params), right())[1])
writes_beyond = Wrong("writes-beyond", session__write=lambda params, right: _beyond(right()))
decomposes = Wrong("decomposes", files__lists=lambda params, right: _decomposed(right()))
talks = Wrong("talks", tokens__from_usage=lambda params, right: {"tokens": str(right()["tokens"])})
refuses_paths = Wrong("refuses-paths", session__path=_crash)
partial = Partial()
unserved = Unserved()


def _quadratic(params: Any) -> None:
    """Looks at every entry for every entry."""
    looks["taken"] += sum(other["id"] != entry["id"] for entry in params["entries"] for other in params["entries"])


def _beyond(answer: Any) -> Any:
    """Every time of a file is a number that no double holds."""
    return {"content": re.sub(r'"timestamp": ?"[^"]*"', '"timestamp":1e400', answer["content"] or "")}


def _decomposed(answer: Any) -> Any:
    return {name: [unicodedata.normalize("NFD", path) for path in paths] for name, paths in answer.items()}


def _unfolded(params: Any) -> Any:
    """The whole path, as if the newest compaction named its first entry."""
    first = params["entries"][0]["id"]
    entries = [{**e, "firstKeptEntryId": first} if e["type"] == "compaction" else e for e in params["entries"]]
    return operations.call("projection/messages", {**params, "entries": entries})


def _lenient(right: Callable[[], Any]) -> Any:
    try:
        return right()
    except Exception:
        return {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000}
