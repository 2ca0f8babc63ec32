"""Vectors: one input with what is expected of it. Loaded with all the checks that keep a vector honest."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Expectation, ExpectReading, read_expectation
from compaction_conformance.given import computed_facts
from compaction_conformance.spec import DEFAULT_PROFILE, Requirement, Spec


@dataclass(frozen=True)
class Vector:
    """`params_text` is the request's params as one line of JSON, made once and sent as it is."""

    id: str
    requirements: tuple[Requirement, ...]
    description: str
    operation: str
    params: Any
    expect: Expectation
    chapter: str
    file: Path
    twin: str | None = None
    time_limit: float | None = None
    evidence: tuple[str, str] = ("", "")
    editions: tuple[str, ...] = ()
    profile: str = DEFAULT_PROFILE
    feature: str | None = None

    @property
    def requirement(self) -> Requirement:
        """The rule that the vector is about."""
        return self.requirements[0]

    @property
    def level(self) -> str:
        return self.requirement.level

    @cached_property
    def params_text(self) -> str:
        return json.dumps(self.params, separators=(",", ":"))


def load_vectors(directories: Iterable[Path], spec: Spec) -> tuple[Vector, ...]:
    """All vectors of the folders, by file name. Raises `InvalidInput` for the first one that is not sound."""
    vectors: dict[str, Vector] = {}
    retired: set[str] = set()
    for directory in directories:
        if not directory.is_dir():
            raise InvalidInput(
                "no such folder of vectors", where=str(directory), remedy="give a folder with .json files"
            )
        retired |= _tombstones(directory)
        for path in sorted(directory.rglob("*.json")):
            if path.name == "tombstones.json":
                continue
            for vector in _load_file(path, spec):
                if vector.id in vectors:
                    other = vectors[vector.id].file
                    raise InvalidInput(f"the id {vector.id} is used twice, also in {other}", where=str(path))
                if vector.id in retired:
                    raise InvalidInput(f"{vector.id} is a retired id", where=str(path), remedy="choose a new id")
                vectors[vector.id] = vector
    for vector in vectors.values():
        _check_twin(vector, vectors)
    return tuple(vectors.values())


def select(
    vectors: Iterable[Vector], *, only: str | None = None, edition: str | None = None, profile: str | None = None
) -> tuple[Vector, ...]:
    """Those of an edition and a profile whose id, requirement, operation or chapter fits the pattern.

    The pattern knows shell wildcards; a bare word that is nobody's whole id also matches what it begins.
    """
    chosen = tuple(
        vector
        for vector in vectors
        if (edition is None or edition in vector.editions) and (profile is None or profile == vector.profile)
    )
    if only is None:
        return chosen
    exactly = tuple(vector for vector in chosen if vector.id == only)
    return exactly or tuple(vector for vector in chosen if _fits(vector, only))


def _fits(vector: Vector, pattern: str) -> bool:
    names = (vector.id, vector.operation, vector.chapter, *(rule.id for rule in vector.requirements))
    return any(fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern}-") for name in names)


def read_json(path: Path) -> Any:
    """The file's JSON value. Raises `InvalidInput` with file and line."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8: {error.reason} at byte {error.start}", where=str(path)) from None
    except RecursionError:
        raise InvalidInput("nested too deeply to read", where=str(path)) from None
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def _tombstones(directory: Path) -> set[str]:
    path = directory.parent / "tombstones.json"
    return set(read_json(path)["vectors"]) if path.is_file() else set()


def _load_file(path: Path, spec: Spec) -> Iterator[Vector]:
    data = read_json(path)
    if error := schemas.first_error("vector-file", data):
        raise InvalidInput(
            f"{_name_at(data, error.pointer)}{error.message} (at {error.pointer or 'the top'})",
            where=_where(path, data, error.pointer),
            remedy="see fixtures/README.md for the shape of a vector file",
        )
    for index, raw in enumerate(data["vectors"]):
        yield _load_vector(raw, data["chapter"], path, spec, lambda i=index: _where(path, data, f"/vectors/{i}"))


def _load_vector(raw: dict[str, Any], chapter: str, path: Path, spec: Spec, where: Any) -> Vector:
    name = raw["id"]
    unknown = [rule for rule in raw["requirements"] if rule not in spec.requirements]
    if unknown:
        raise InvalidInput(
            f"{name} names the unknown requirement {unknown[0]}",
            where=where(),
            remedy="`compaction-conformance list --requirements` shows the known ones",
        )
    if error := schemas.first_error(_params_schema(raw["operation"], name, where), raw["params"]):
        raise InvalidInput(f"{name}: params{error.pointer}: {error.message}", where=where())
    rules = tuple(spec.requirements[rule] for rule in raw["requirements"])
    try:
        expect = read_expectation(raw["expect"])
    except ValueError as problem:
        raise InvalidInput(f"{name}: {problem}", where=where()) from None
    _check_readings(name, expect, rules[0], where)
    _check_given(name, raw, where)
    return Vector(
        id=name,
        requirements=rules,
        description=raw["description"],
        operation=raw["operation"],
        params=raw["params"],
        expect=expect,
        chapter=chapter,
        file=path,
        twin=raw.get("twin"),
        time_limit=raw.get("timeLimit"),
        evidence=(raw["evidence"]["grade"], raw["evidence"].get("source", "")),
        editions=tuple(raw.get("editions", rules[0].editions)),
        profile=spec.profiles[rules[0].chapter],
        feature=raw.get("feature"),
    )


def _params_schema(operation: str, name: str, where: Any) -> str:
    if operation not in schemas.operations():
        raise InvalidInput(
            f"{name} uses the unknown operation {operation!r}",
            where=where(),
            remedy="`compaction-conformance list --operations` shows the known ones",
        )
    return schemas.params_schema(operation)


def _check_readings(name: str, expect: Expectation, rule: Requirement, where: Any) -> None:
    if not isinstance(expect, ExpectReading):
        return
    for reading, _ in expect.readings:
        if reading not in rule.readings:
            known = ", ".join(rule.readings) or "none: it is no QUIRK"
            raise InvalidInput(f"{name}: {rule.id} has no reading {reading!r} (it has: {known})", where=where())


def _check_given(name: str, raw: dict[str, Any], where: Any) -> None:
    if not raw.get("given"):
        return
    facts = computed_facts(raw["params"])
    for fact, want in raw["given"].items():
        if fact not in facts:
            raise InvalidInput(f"{name}: the fact {fact!r} cannot be computed from its params", where=where())
        if facts[fact] != want:
            raise InvalidInput(
                f"{name} no longer exercises its point: {fact} is {json.dumps(facts[fact])}, not {json.dumps(want)}",
                where=where(),
                remedy="mend the params or the `given`",
            )


def _check_twin(vector: Vector, vectors: dict[str, Vector]) -> None:
    if vector.twin is None:
        return
    twin = vectors.get(vector.twin)
    if twin is None:
        problem = f"has the unknown twin {vector.twin}"
    elif twin.operation != vector.operation:
        problem = f"and its twin {twin.id} use different operations"
    elif twin.expect == vector.expect:
        problem = f"and its twin {twin.id} expect the same"
    elif twin.params == vector.params:
        problem = f"and its twin {twin.id} have the same params"
    else:
        return
    raise InvalidInput(
        f"{vector.id} {problem}", where=str(vector.file), remedy="a twin changes one thing, and the answer"
    )


def _where(path: Path, data: Any, pointer: str) -> str:
    """File and line of the vector that a pointer leads into, found by its id; the file alone when it has none."""
    name = _vector_name(data, pointer)
    if name:
        mark = f'"id": {json.dumps(name)}'
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if mark in line:
                return f"{path}:{number}"
    return str(path)


def _name_at(data: Any, pointer: str) -> str:
    name = _vector_name(data, pointer)
    return f"{name}: " if name else ""


def _vector_name(data: Any, pointer: str) -> str:
    parts = pointer.split("/")
    try:
        name = data["vectors"][int(parts[2])]["id"] if parts[1] == "vectors" else ""
    except (IndexError, KeyError, TypeError, ValueError):
        return ""
    return name if isinstance(name, str) else ""
