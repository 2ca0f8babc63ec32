"""All that a vector file has to be before it is used: its schema, the params' schemas, its expectations, its facts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import check_placeholders, read_expectation
from compaction_conformance.given import computed_facts
from compaction_conformance.json_files import read_text

_NAME_SHOWN = 80


def check_vector_file(path: Path, data: Any) -> None:
    """Raises `InvalidInput` for the first thing that is wrong, with file, line, vector and remedy."""
    check_shape(path, data)
    for raw in data["vectors"]:
        _check_given(raw, path)


def check_shape(path: Path, data: Any) -> None:
    """All of it but the facts in `given`: enough to ask the vectors and to judge the answers."""
    if error := schemas.first_error("vector-file", data):
        name = _vector_name(data, error.pointer)[:_NAME_SHOWN]
        raise InvalidInput(
            f"{name + ': ' if name else ''}{error.message} (at {error.pointer or 'the top'})",
            where=place_of(path, name),
            remedy="see fixtures/README.md for the shape of a vector file",
        )
    for raw in data["vectors"]:
        _check_params(raw, path)
        _check_expectation(raw, path)


def place_of(path: Path, name: str) -> str:
    """File and line of the vector with the id, found by its text; the file alone when that fails."""
    mark = f'"id": {json.dumps(name)}'
    if name:
        for number, line in enumerate(read_text(path).split("\n"), 1):
            if mark in line:
                return f"{path}:{number}"
    return str(path)


def _check_params(raw: dict[str, Any], path: Path) -> None:
    name, operation = raw["id"], raw["operation"]
    if operation not in schemas.operations():
        raise InvalidInput(
            f"{name} uses the unknown operation {operation!r}",
            where=place_of(path, name),
            remedy="`compaction-conformance list --operations` shows the known ones",
        )
    if error := schemas.first_error(schemas.params_schema(operation), raw["params"]):
        raise InvalidInput(f"{name}: params{error.pointer}: {error.message}", where=place_of(path, name))
    try:
        base64.b64decode(raw["params"].get("contentBase64", ""), validate=True)
    except ValueError as problem:
        raise InvalidInput(f"{name}: params/contentBase64: {problem}", where=place_of(path, name)) from None


def _check_expectation(raw: dict[str, Any], path: Path) -> None:
    try:
        check_placeholders(raw["expect"])
        read_expectation(raw["expect"])
    except ValueError as problem:
        raise InvalidInput(f"{raw['id']}: {problem}", where=place_of(path, raw["id"])) from None


def _check_given(raw: dict[str, Any], path: Path) -> None:
    given = raw.get("given")
    if not given:
        return
    name, facts = raw["id"], computed_facts(raw["params"])
    for fact, want in given.items():
        if fact not in facts:
            raise InvalidInput(
                f"{name}: the fact {fact!r} cannot be computed from its params", where=place_of(path, name)
            )
        if facts[fact] != want:
            raise InvalidInput(
                f"{name} no longer exercises its point: {fact} is {json.dumps(facts[fact])}, not {json.dumps(want)}",
                where=place_of(path, name),
                remedy="mend the params or the `given`",
            )


def _vector_name(data: Any, pointer: str) -> str:
    parts = pointer.split("/")
    try:
        name = data["vectors"][int(parts[2])]["id"] if parts[1] == "vectors" else ""
    except (IndexError, KeyError, TypeError, ValueError):
        return ""
    return name if isinstance(name, str) else ""
