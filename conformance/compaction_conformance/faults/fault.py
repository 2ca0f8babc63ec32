"""What a named fault is, and the implementation that has it.

A fault is the embedded reference with a few of its functions or tables replaced while an operation is served. It is
plugged in as any implementation in Python is: `python:compaction_conformance.faults:NAME`.
"""

from __future__ import annotations
import __future__

import copy
import importlib
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

import compaction_reference

Make: TypeAlias = Callable[[Any], Any]
"""From the right function or value to the wrong one."""

Patches: TypeAlias = Mapping[str, Make]
"""What is replaced, by its place in the reference, such as `cut_point.find` or `session.Session.append`; a name with a
slash, such as `session/parse`, is a whole operation."""

_OPERATIONS = {"coding-agent": "operations", "harness": "harness.operations"}


@dataclass(frozen=True)
class Fault:
    """`wrong` says in one sentence what the implementation does; `breaks` are the rules that it breaks, the one that it
    is about first. `url` is a report of such a bug and `seen` the program in which it was. `chapters` are those of the
    documents behind the rules (see `SEED_CHAPTERS`). Advice that the reference does not follow has a fault too: its
    patches are those of `corrected` without one, so that what is wrong is the reference's own behaviour."""

    id: str
    breaks: tuple[str, ...]
    url: str
    seen: str
    wrong: str
    patches: Patches
    chapters: tuple[str, ...] = ()
    profile: str = "coding-agent"

    def implementation(self) -> Patched:
        return Patched(self.id, self.patches, self.profile)


class Patched:
    """The reference with patches, as `compaction_conformance.in_process` takes it."""

    def __init__(self, name: str, patches: Patches, profile: str = "coding-agent") -> None:
        self._name = name
        self._operations = importlib.import_module(f"{compaction_reference.__name__}.{_OPERATIONS[profile]}")
        self._replaced = _replaced(patches)
        self._wrong = {
            method: make(self._operations.OPERATIONS[method]) for method, make in patches.items() if "/" in method
        }

    def describe(self) -> dict[str, Any]:
        about = copy.deepcopy(self._operations.describe())
        about["implementation"]["name"] = self._name
        return dict(about)

    def call(self, method: str, params: Any) -> Any:
        with self._patched():
            return self._wrong[method](params) if method in self._wrong else self._operations.call(method, params)

    @contextmanager
    def _patched(self) -> Iterator[None]:
        before = [(owner, name, vars(owner)[name]) for owner, name, _ in self._replaced]
        for owner, name, value in self._replaced:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)


def _replaced(patches: Patches) -> list[tuple[Any, str, Any]]:
    """(owner, name, new value) for every place that holds what is replaced. Modules import functions by name: a place
    in the module that defines one stands for all of them, a place in one that imports it for that module alone."""
    planned: dict[tuple[int, str], tuple[Any, str, Any]] = {}
    places = [(*_owner(place), make) for place, make in patches.items() if "/" not in place]
    for owner, name, make in sorted(places, key=lambda place: _is_imported(place[0], place[1])):
        right = vars(owner)[name]
        imported = _is_imported(owner, name)
        wrong = make(planned[id(owner), name][2] if (id(owner), name) in planned else right)
        holders = _modules() if isinstance(owner, ModuleType) and not imported else (owner,)
        for holder in holders:
            for own, value in list(vars(holder).items()):
                if value is right and (callable(right) or own == name):
                    planned[id(holder), own] = (holder, own, wrong)
    return list(planned.values())


def _is_imported(owner: Any, name: str) -> bool:
    found = vars(owner)[name]
    return isinstance(owner, ModuleType) and callable(found) and getattr(found, "__module__", "") != owner.__name__


def _owner(place: str) -> tuple[Any, str]:
    """The module or class that holds the last name of a place. Raises `LookupError` where nothing has that name."""
    parts = place.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join((compaction_reference.__name__, *parts[:length])))
        if module is None or not _is_known(module):
            continue
        owner: Any = module
        for part in parts[length:-1]:
            owner = vars(owner)[part]
        if parts[-1] in vars(owner):
            return owner, parts[-1]
    raise LookupError(f"the reference has no {place}")


@cache
def _modules() -> tuple[ModuleType, ...]:
    root = compaction_reference
    names = [info.name for info in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    return tuple(importlib.import_module(name) for name in names if not name.endswith("__main__"))


def _is_known(module: ModuleType) -> bool:
    return module in _modules()


# ---- ways to make a wrong function -----------------------------------------------------------------------------------


def edited(*changes: str) -> Make:
    """The function with a text in its source replaced by another, for each pair of `changes`. Its names are looked up
    in the reference's module. Raises `LookupError` where the source does not hold the first text exactly once: then the
    reference has moved on, and the fault has to."""

    def make(right: Any) -> Any:
        function: Any = right.fget if isinstance(right, property) else right
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            if source.count(old) != 1:
                raise LookupError(f"{function.__qualname__} holds {old!r} {source.count(old)} times")
            source = source.replace(old, new)
        name, flags = f"<{function.__qualname__} with a fault>", __future__.annotations.compiler_flag
        names: dict[str, Any] = {}
        exec(compile(source.removeprefix("@property\n"), name, "exec", flags, True), function.__globals__, names)
        wrong = names[function.__name__]
        return property(wrong) if isinstance(right, property) else wrong

    return make


def instead(function: Callable[..., Any]) -> Make:
    """Another function in its place."""
    return lambda right: function


def always(value: Any) -> Make:
    """A function that answers the same, whatever it is asked."""
    return lambda right: lambda *_, **__: copy.deepcopy(value)


def then(change: Callable[[Any], Any]) -> Make:
    """The right answer, changed."""
    return lambda right: lambda *args, **names: change(right(*args, **names))


def cached_then(change: Callable[[Any], Any]) -> Make:
    """The right answer of a function that always gives the same, changed once."""
    return lambda right: cache(lambda: change(right()))


def given(change: Callable[..., Any]) -> Make:
    """`change(right, *args)` in place of `right(*args)`."""
    return lambda right: lambda *args, **names: change(right, *args, **names)


def value(new: Any) -> Make:
    """Another constant."""
    return lambda right: new
