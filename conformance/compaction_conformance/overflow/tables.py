"""The pattern table of every edition, applied the way its own note asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from compaction_conformance.paths import spec_dir
from compaction_conformance.schemas import read_valid

_FOLD = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Row:
    """One regex of the table. `provider` counts for the rules of one provider alone."""

    id: str
    provider: str
    pattern: re.Pattern[str]

    def matches(self, text: str) -> bool:
        return self.pattern.search(folded(text)) is not None


@dataclass(frozen=True)
class Ruling:
    """What a table says of a text. `decided_by` has the ids that decide, `outvoted` those that an exclusion beats."""

    overflow: bool
    decided_by: tuple[str, ...]
    outvoted: tuple[str, ...] = ()


@dataclass(frozen=True)
class EditionTable:
    """The rows of one edition."""

    edition: str
    patterns: tuple[Row, ...]
    exclusions: tuple[Row, ...]
    provider_rules: tuple[Row, ...]

    def rule(self, text: str, provider: str = "") -> Ruling:
        """Exclusions first, then every pattern, then the rules of the provider."""
        matched = tuple(row.id for row in self.patterns if row.matches(text))
        matched += tuple(row.id for row in self.provider_rules if row.provider == provider and row.matches(text))
        if excluded := tuple(row.id for row in self.exclusions if row.matches(text)):
            return Ruling(False, excluded, matched)
        return Ruling(bool(matched), matched)

    def row(self, row_id: str) -> Row:
        """The row with an id of this edition."""
        rows = (*self.patterns, *self.exclusions, *self.provider_rules)
        return next(row for row in rows if row.id == row_id)


@cache
def edition_tables() -> tuple[EditionTable, ...]:
    """One table an edition, in the order of their names."""
    data = read_valid(spec_dir() / "overflow-patterns.json", "overflow-patterns")
    groups = ("patterns", "exclusions", "providerRules")
    editions = sorted({edition for group in groups for row in data[group] for edition in row["editions"]})
    return tuple(
        EditionTable(
            edition, *(tuple(_row(row) for row in data[group] if edition in row["editions"]) for group in groups)
        )
        for edition in editions
    )


@cache
def decisions() -> dict[str, str]:
    """What each decision of the recommended classifier means, by its id."""
    data = read_valid(spec_dir() / "recommended-overflow.json", "recommended-overflow")
    return {row["id"]: row["means"] for row in data["decisions"]}


def folded(text: str) -> str:
    """The text with the letters A to Z in small; every other character stays."""
    return text.translate(_FOLD)


def _row(raw: Any) -> Row:
    return Row(raw["id"], raw["provider"], re.compile(raw["regex"]))
