"""Findings as vector files: one cause, one vector, the same text wherever and whenever it was found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compaction_conformance import schemas, terminal
from compaction_conformance.errors import InvalidInput
from compaction_conformance.given import computed_facts
from compaction_conformance.implementation import Description
from compaction_conformance.json_files import read_json, write_text
from compaction_conformance.schema_words import printable
from compaction_conformance.search.hunts import Finding, expectation_for
from compaction_conformance.spec import Spec
from compaction_conformance.vector_checks import check_vector_file
from compaction_conformance.vector_text import vector_file_text

ORACLE = "pi"
_FACTS = ("pathEntries", "compactionsOnPath", "editsOnPath", "branches", "messages", "role", "draftType", "lines")


@dataclass(frozen=True)
class FoundVector:
    """A vector as it stands in a file, and what a person is told beside it."""

    chapter: str
    vector: dict[str, Any]
    title: str
    at: str
    want: str
    got: str
    failure: str

    @property
    def cause(self) -> str:
        return str(self.vector["provenance"]["cause"])

    @property
    def size(self) -> int:
        return len(str(self.vector["params"]))


def found_vector(finding: Finding, oracle: Description, spec: Spec, now: datetime | None = None) -> FoundVector:
    """The vector of a finding. Its id is a digest of operation and params; its requirements those of the property."""
    params = finding.params
    rule = spec.requirements[finding.cause.requirement]
    names = [rule.id, *(name for name in finding.requirements if name != rule.id and name in spec.requirements)]
    same_chapter = [name for name in names if spec.requirements[name].chapter == rule.chapter]
    digest = hashlib.sha256(f"{finding.cause.operation} {finding.request.params_text}".encode()).hexdigest()[:8]
    facts = {name: value for name, value in computed_facts(params).items() if name in _FACTS and value is not None}
    observed = oracle.name == ORACLE
    source = oracle.label if observed else f"{oracle.label}, found by search and not attested by the oracle"
    difference = finding.verdict.difference
    raw = {
        "id": f"{rule.id[:3]}-found-{digest}",
        "requirements": same_chapter,
        "description": _fact(finding.sentence or rule.title),
        **({"given": facts} if facts else {}),
        "operation": finding.cause.operation,
        "params": params,
        "expect": expectation_for(finding.cause.operation, finding.expected, params),
        "evidence": {"grade": "observed" if observed else "ours", "source": source},
        "provenance": {
            "property": finding.found_by,
            "implementation": printable(finding.implementation),
            "cause": str(finding.cause),
            "seed": finding.seed,
            "suite": version("pi-compaction-conformance"),
            "date": (now or datetime.now(UTC)).date().isoformat(),
        },
    }
    return FoundVector(
        rule.chapter,
        raw,
        rule.title,
        terminal.place(difference) if difference else "",
        *(terminal.shown_apart(difference.want, difference.got) if difference else ("", "")),
        finding.verdict.failure,
    )


def _fact(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:].removesuffix(".")


def merged(found: Iterable[FoundVector]) -> list[FoundVector]:
    """One of each cause, the smallest, and one of each id."""
    by_cause: dict[str, FoundVector] = {}
    for one in found:
        other = by_cause.get(one.cause)
        if other is None or one.size < other.size:
            by_cause[one.cause] = one
    return list({one.vector["id"]: one for one in by_cause.values()}.values())


@dataclass(frozen=True)
class Place:
    """Where the vector of a cause stands: the file, its id there, and whether it was added just now."""

    path: Path
    id: str
    is_new: bool


def write_found(found: Iterable[FoundVector], folder: Path) -> dict[str, Place]:
    """Adds vectors to the files of a folder, and tells the place of each by its cause.

    A cause that has a vector there already gets no second one, whatever implementation showed it: vectors stay, and so
    do their ids.
    """
    by_cause, by_id = _standing(folder)
    placed: dict[str, Place] = {}
    for one in merged(found):
        own_id = str(one.vector["id"])
        if (stands := by_cause.get(one.cause) or by_id.get(own_id)) is not None:
            placed[one.cause] = stands
            continue
        path = folder / one.chapter / f"found-{one.vector['operation'].replace('/', '-')}.json"
        before = read_json(path)["vectors"] if path.is_file() else []
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, vector_file_text(one.chapter, [*before, one.vector]))
        check_vector_file(path, read_json(path))
        placed[one.cause] = Place(path, own_id, True)
    return placed


def _standing(folder: Path) -> tuple[dict[str, Place], dict[str, Place]]:
    """The vectors that are in the folder, by cause and by id."""
    by_cause: dict[str, Place] = {}
    by_id: dict[str, Place] = {}
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else ():
        data = read_json(path)
        if error := schemas.first_error("vector-file", data):
            what = f"not a vector file: {error.message}"
            raise InvalidInput(what, where=str(path), remedy="give --out a folder that search alone writes into")
        for vector in data["vectors"]:
            place = Place(path, vector["id"], False)
            by_id[vector["id"]] = place
            if "provenance" in vector:
                by_cause[vector["provenance"]["cause"]] = place
    return by_cause, by_id
