"""All that a vector file has to be before it is used: its schema, the params' schemas, its expectations, its facts.

What is wrong with one vector is a `Flaw`. Who loads a file stops at the first; `vector_validation` reports them all.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import check_placeholders, read_expectation
from compaction_conformance.given import computed_facts
from compaction_conformance.json_files import read_text
from compaction_conformance.schema_words import pointer_to
from compaction_conformance.spec import Spec

_NAME_SHOWN = 80

Asked = tuple[str, Any, Any]
"""What a vector and its twin are compared by: operation, expectation, params."""


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a vector. `pointer` leads from the vector to it; `remedy` may be empty."""

    what: str
    pointer: str
    remedy: str = ""


def check_vector_file(path: Path, data: Any) -> None:
    """Raises `InvalidInput` for the first thing that is wrong, with file, line, vector and remedy."""
    check_shape(path, data)
    for raw in data["vectors"]:
        refuse(path, raw["id"], given_flaws(raw))


def check_shape(path: Path, data: Any) -> None:
    """All of it but the facts in `given`: enough to ask the vectors and to judge the answers."""
    if error := schemas.first_error("vector-file", data):
        name = _vector_name(data, error.pointer)[:_NAME_SHOWN]
        raise InvalidInput(
            f"{name + ': ' if name else ''}{error.message} (at {error.pointer or 'the top'})",
            where=place_of(path, name),
            remedy=_remedy(path, data, error.pointer),
        )
    for raw in data["vectors"]:
        refuse(path, raw["id"], params_flaws(raw))
        refuse(path, raw["id"], expectation_flaws(raw))


def refuse(path: Path, name: str, flaws: Iterable[Flaw]) -> None:
    """Raises `InvalidInput` for the first flaw of the vector, if there is one."""
    for flaw in flaws:
        raise InvalidInput(f"{name}: {flaw.what} (at {flaw.pointer})", where=place_of(path, name), remedy=flaw.remedy)


def place_of(path: Path, name: str) -> str:
    """File and line of the vector with the id, found by its text; the file alone when that fails."""
    mark = f'"id": {json.dumps(name)}'
    if name:
        for number, line in enumerate(read_text(path).split("\n"), 1):
            if mark in line:
                return f"{path}:{number}"
    return str(path)


# Flaws of a vector that keeps to its schema


def all_flaws(raw: dict[str, Any], spec: Spec) -> Iterator[Flaw]:
    """Every flaw that shows without other vectors."""
    yield from rule_flaws(raw, spec)
    of_params = tuple(params_flaws(raw))
    yield from of_params
    yield from expectation_flaws(raw)
    if not of_params:
        yield from given_flaws(raw)


def rule_flaws(raw: dict[str, Any], spec: Spec) -> Iterator[Flaw]:
    """Requirements that do not exist, and readings that the first one does not have."""
    names = raw["requirements"]
    for index, name in enumerate(names):
        if name not in spec.requirements:
            remedy = "`compaction-conformance list --requirements` shows the known ones"
            yield Flaw(f"unknown requirement {name}", f"/requirements/{index}", remedy)
    if (rule := spec.requirements.get(names[0])) is None:
        return
    for index, reading in enumerate(raw["expect"].get("readings", ())):
        if reading["reading"] not in rule.readings:
            known = ", ".join(rule.readings) or "none: it is no QUIRK"
            what = f"{rule.id} has no reading {reading['reading']!r} (it has: {known})"
            yield Flaw(what, f"/expect/readings/{index}")


def reading_flaws(raw: dict[str, Any], beside: Iterable[dict[str, Any]], spec: Spec) -> Iterator[Flaw]:
    """A QUIRK that expects one answer. Right is that of a control, where every reading answers so: it stands `beside` a
    vector of the rule that lists them."""
    rule = spec.requirements.get(raw["requirements"][0])
    if rule is None or not rule.readings or not raw["expect"].keys() & {"result", "error"}:
        return
    if not any(other["requirements"][0] == rule.id and "readings" in other.get("expect", ()) for other in beside):
        remedy = f'write {{"readings": [{{"reading": "{next(iter(rule.readings))}", …}}, …]}}'
        yield Flaw(f"a QUIRK lists its readings; {rule.id} has {', '.join(rule.readings)}", "/expect", remedy)


def params_flaws(raw: dict[str, Any]) -> Iterator[Flaw]:
    """Params that their operation does not take, or that no line of JSON can hold."""
    operation, params = raw["operation"], raw["params"]
    if operation not in schemas.operations():
        remedy = "`compaction-conformance list --operations` shows the known ones"
        yield Flaw(f"unknown operation {operation!r}", "/operation", remedy)
        return
    if error := schemas.first_error(schemas.params_schema(operation), params):
        yield Flaw(error.message, f"/params{error.pointer}")
        return
    try:
        json.dumps(params, allow_nan=False)
    except (ValueError, RecursionError):
        yield Flaw("a number in it is too large for JSON, or it is nested too deeply", "/params")
    try:
        base64.b64decode(params.get("contentBase64", ""), validate=True)
    except ValueError as problem:
        yield Flaw(str(problem), "/params/contentBase64")


def expectation_flaws(raw: dict[str, Any]) -> Iterator[Flaw]:
    try:
        check_placeholders(raw["expect"])
        read_expectation(raw["expect"])
    except ValueError as problem:
        yield Flaw(str(problem), "/expect")


def given_flaws(raw: dict[str, Any]) -> Iterator[Flaw]:
    """Facts that cannot be computed from the params, or are others. The params have to be sound."""
    if not raw.get("given"):
        return
    try:
        facts = computed_facts(raw["params"])
    except OverflowError:
        yield Flaw("the params hold a number that is too large to count with", "/given")
        return
    for fact, want in raw["given"].items():
        pointer = pointer_to(["given", fact])
        if fact not in facts:
            yield Flaw(f"the fact {fact!r} cannot be computed from its params", pointer)
        elif facts[fact] != want:
            what = f"it no longer exercises its point: {fact} is {json.dumps(facts[fact])}, not {json.dumps(want)}"
            yield Flaw(what, pointer, "mend the params or the `given`")


def twin_flaws(name: str, own: Asked, other: Asked | None) -> Iterator[Flaw]:
    """What is wrong with the twin called `name`; `other` is None where there is no such vector."""
    if other is None:
        what = f"unknown twin {name}"
    elif other[0] != own[0]:
        what = f"it and its twin {name} use different operations"
    elif other[1] == own[1]:
        what = f"it and its twin {name} expect the same"
    elif json.dumps(other[2]) == json.dumps(own[2]):  # `true` is not 1, and the order of members can be the point
        what = f"it and its twin {name} have the same params"
    else:
        return
    yield Flaw(what, "/twin", "a twin changes one thing, and the answer")


def _remedy(path: Path, data: Any, pointer: str) -> str:
    """The oracle can fill in what a new vector lacks; what is not held against it has evidence of its own."""
    parts = pointer.split("/")
    raw = data["vectors"][int(parts[2])] if len(parts) == 3 and parts[1] == "vectors" else {}
    if raw and is_unfilled(raw):
        command = f"compaction-conformance attest --fill {shlex.quote(str(path))}"
        return f"let the oracle fill it: `{command}`; of advice (SHOULD), write what it rests on"
    return "see fixtures/README.md for the shape of a vector file"


def is_unfilled(raw: Any) -> bool:
    """Whether a vector lacks what the oracle can fill in."""
    return isinstance(raw, dict) and not {"expect", "evidence"} <= raw.keys()


def _vector_name(data: Any, pointer: str) -> str:
    parts = pointer.split("/")
    try:
        name = data["vectors"][int(parts[2])]["id"] if parts[1] == "vectors" else ""
    except (IndexError, KeyError, TypeError, ValueError):
        return ""
    return name if isinstance(name, str) else ""
