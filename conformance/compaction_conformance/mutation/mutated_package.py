"""A second copy of the reference in this process, in which one module at a time is a mutant.

The copy has a name of its own, so the reference that others use stays as it is. Only the mutated module and those that
import it are loaded anew.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from compaction_conformance.mutation.mutants import PACKAGE_DIR

NAME = "compaction_reference_mutated"
OPERATIONS = {"coding-agent": "operations", "harness": "harness.operations"}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the copy. `sources` are those that differ from the reference."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(NAME + "."):
            return None
        file = PACKAGE_DIR.joinpath(*fullname.split(".")[1:])
        is_package = file.is_dir()
        origin = str(file / "__init__.py" if is_package else file.with_suffix(".py"))
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=origin, is_package=is_package)
        spec.has_location = True
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None and module.__spec__.origin is not None
        own = module.__name__.removeprefix(NAME).removeprefix(".")
        changed = self.sources.get(own)
        origin = module.__spec__.origin
        code = _code(origin) if changed is None else compile(changed, origin, "exec", dont_inherit=True)
        exec(code, module.__dict__)


@cache
def _code(origin: str) -> CodeType:
    with open(origin, encoding="utf-8") as file:
        return compile(file.read(), origin, "exec", dont_inherit=True)


_finder = _Finder()


def operations(profile: str) -> Any:
    """The module that serves a profile, as the copy is now."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    return importlib.import_module(f"{NAME}.{OPERATIONS[profile]}")


@contextmanager
def mutated(module: str, source: str) -> Iterator[None]:
    """The copy with the module changed. Whatever the change raises while it is loaded comes through."""
    for profile in OPERATIONS:
        operations(profile)
    renewed = [f"{NAME}.{name}" for name in importers(module)]
    before = {name: sys.modules[name] for name in renewed if name in sys.modules}
    _forget(renewed)
    _finder.sources = {module: source}
    try:
        for profile in OPERATIONS:
            operations(profile)
        yield
    finally:
        _finder.sources = {}
        _forget(renewed)
        for name, kept in before.items():
            sys.modules[name] = kept
            parent, _, own = name.rpartition(".")
            setattr(sys.modules[parent], own, kept)


def _forget(names: Sequence[str]) -> None:
    for name in names:
        sys.modules.pop(name, None)
        parent, _, own = name.rpartition(".")
        if parent in sys.modules and own in vars(sys.modules[parent]):
            delattr(sys.modules[parent], own)


@cache
def importers(module: str) -> tuple[str, ...]:
    """The module, and all that import it, directly or not."""
    found = {module}
    while True:
        more = {name for name, imported in _imports().items() if imported & found} - found
        if not more:
            return tuple(sorted(found))
        found |= more


@cache
def _imports() -> dict[str, frozenset[str]]:
    """What every module imports, by name. Packages count as modules that import nothing."""
    files = (path for path in PACKAGE_DIR.rglob("*.py") if path.name != "__init__.py")
    names = {".".join(path.relative_to(PACKAGE_DIR).with_suffix("").parts): path for path in files}
    return {name: frozenset(_imported(name, path.read_text("utf-8"), names)) for name, path in names.items()}


def _imported(name: str, source: str, known: Any) -> Iterator[str]:
    package = name.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for candidate in (base, *([*base, alias.name] for alias in node.names)):
                if ".".join(candidate) in known:
                    yield ".".join(candidate)
