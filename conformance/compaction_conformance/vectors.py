"""Vectors: one input with what is expected of it. Loaded with all the checks that keep a vector honest."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Expectation, read_expectation
from compaction_conformance.json_files import parsed_json, read_bytes, read_json
from compaction_conformance.seal import is_sealed
from compaction_conformance.spec import DEFAULT_PROFILE, Requirement, Spec
from compaction_conformance.vector_checks import Asked, check_vector_file, reading_flaws, refuse, rule_flaws, twin_flaws


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


AnyVector = TypeVar("AnyVector", bound=Vector)


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
        files = [path for path in sorted(directory.rglob("*.json")) if path.name != "tombstones.json"]
        if not files:
            raise InvalidInput("holds no vector file", where=str(directory), remedy="give a folder with .json files")
        for path in files:
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
    vectors: Iterable[AnyVector], *, only: str | None = None, edition: str | None = None, profile: str | None = None
) -> tuple[AnyVector, ...]:
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
    return exactly or tuple(vector for vector in chosen if fits(_names(vector), only))


def known_names(vectors: Iterable[Vector]) -> tuple[str, ...]:
    """All that the pattern of `select` can name, chapters first."""
    named = [_names(vector) for vector in vectors]
    chapters = (names[2] for names in named)
    return tuple(dict.fromkeys([*chapters, *(name for names in named for name in names)]))


def in_order(vectors: Iterable[AnyVector], spec: Spec) -> tuple[AnyVector, ...]:
    """By chapter of the rule, in the order of the spec, where appendices are last."""
    places = {chapter.slug: number for number, chapter in enumerate(spec.chapters)}
    return tuple(sorted(vectors, key=lambda vector: places[vector.requirement.chapter]))


def _names(vector: Vector) -> tuple[str, ...]:
    return (vector.id, vector.operation, vector.chapter, *(rule.id for rule in vector.requirements))


def fits(names: Iterable[str], pattern: str) -> bool:
    """Whether one of the names is what the pattern asks for, as `select` tells."""
    return any(fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern}-") for name in names)


def _tombstones(directory: Path) -> set[str]:
    path = directory.parent / "tombstones.json"
    if not path.is_file():
        return set()
    data = read_json(path)
    retired = data.get("vectors") if isinstance(data, dict) else None
    if not isinstance(retired, list) or not all(isinstance(name, str) for name in retired):
        raise InvalidInput("not a list of retired ids", where=str(path), remedy='write {"vectors": ["TOK-gone"]}')
    return set(retired)


def _load_file(path: Path, spec: Spec) -> list[Vector]:
    content = read_bytes(path)
    data = parsed_json(content, path)
    if not is_sealed(content):
        check_vector_file(path, data)
    vectors = [_vector(raw, data, path, spec) for raw in data["vectors"]]
    for raw in data["vectors"]:
        refuse(path, raw["id"], reading_flaws(raw, data["vectors"], spec))
    return vectors


def _vector(raw: dict[str, Any], data: Any, path: Path, spec: Spec) -> Vector:
    name = raw["id"]
    refuse(path, name, rule_flaws(raw, spec))
    rules = tuple(spec.requirements[rule] for rule in raw["requirements"])
    return Vector(
        id=name,
        requirements=rules,
        description=raw["description"],
        operation=raw["operation"],
        params=raw["params"],
        expect=read_expectation(raw["expect"]),
        chapter=data["chapter"],
        file=path,
        twin=raw.get("twin"),
        time_limit=raw.get("timeLimit"),
        evidence=(raw["evidence"]["grade"], raw["evidence"]["source"]),
        editions=tuple(raw.get("editions", rules[0].editions)),
        profile=spec.profiles[rules[0].chapter],
        feature=raw.get("feature"),
    )


def _check_twin(vector: Vector, vectors: dict[str, Vector]) -> None:
    if vector.twin is not None:
        twin = vectors.get(vector.twin)
        flaws = twin_flaws(vector.twin, _asked(vector), None if twin is None else _asked(twin))
        refuse(vector.file, vector.id, flaws)


def _asked(vector: Vector) -> Asked:
    return vector.operation, vector.expect, vector.params
