"""The scoreboard as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compaction_conformance.overflow.scores import Entry, Score
from compaction_conformance.schema_words import brief, printable

_LISTED = 12
_HEAD = ("", "cases", "recall", "precision", "missed", "loops", "alarms", "no answer")


def table(entries: Sequence[Entry], cases: int, left_out: int) -> str:
    """One row an entrant, for undisputed cases; below, the disputed ones."""
    undisputed = entries[0].total.count if entries else 0
    lines = [
        f"{undisputed} undisputed cases of {cases}; {left_out} more end without an error text and are not counted",
        "",
    ]
    lines.append(_aligned([_HEAD, *(_row(entry.name, entry.total) for entry in entries)]))
    head = ("cases of policy", "cases", "as labelled", "says overflow")
    lines += ["", _aligned([head, *(_policy_row(entry) for entry in entries)])]
    return "\n".join(lines)


def split_table(entries: Sequence[Entry], split: str) -> str:
    """Recall and precision of every entrant in each group."""
    groups = sorted({group for entry in entries for group in entry.splits[split]})
    rows = [(f"by {split}", "overflows", "others", *(brief(entry.name) for entry in entries))]
    for group in groups:
        first = entries[0].splits[split][group]
        counted = (str(first.caught + first.missed), str(first.alarms + first.passed))
        rows.append((printable(group), *counted, *(_both(entry.splits[split][group]) for entry in entries)))
    return f"{_aligned(rows)}\n(recall / precision)"


def faults(entry: Entry) -> str:
    """The ids of what an entrant gets wrong."""
    lines = [f"{brief(entry.name)}: {entry.about}"]
    for label, ids in (("loop", entry.loops), ("missed", entry.missed), ("alarm", entry.alarms)):
        lines += [f"  {label:<7}{case_id}" for case_id in ids]
    return "\n".join(lines)


def as_json(entries: Sequence[Entry]) -> dict[str, Any]:
    return {
        "entrants": [
            {
                "name": entry.name,
                "about": entry.about,
                "undisputed": _score_json(entry.total),
                "policy": _score_json(entry.disputed),
                "splits": {
                    name: {group: _score_json(score) for group, score in groups.items()}
                    for name, groups in entry.splits.items()
                },
                "missed": list(entry.missed),
                "alarms": list(entry.alarms),
                "loops": list(entry.loops),
            }
            for entry in entries
        ]
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "cases": score.count,
        "caught": score.caught,
        "missed": score.missed,
        "alarms": score.alarms,
        "passed": score.passed,
        "loops": score.loops,
        "noAnswer": score.silent,
        "recall": score.recall,
        "precision": score.precision,
    }


def _row(name: str, score: Score) -> tuple[str, ...]:
    rates = (_rate(score.recall), _rate(score.precision))
    counts = (score.missed, score.loops, score.alarms, score.silent)
    return (brief(name), str(score.count), *rates, *(str(count) if count else "–" for count in counts))


def _policy_row(entry: Entry) -> tuple[str, ...]:
    score = entry.disputed
    return (
        brief(entry.name),
        str(score.count),
        str(score.caught + score.passed),
        str(score.caught + score.alarms),
    )


def _both(score: Score) -> str:
    return f"{_rate(score.recall)} / {_rate(score.precision)}"


def _rate(rate: float | None) -> str:
    """Rounded down, so that 1.000 means all."""
    return "–" if rate is None else f"{int(rate * 1000) / 1000:.3f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    return "\n".join([lines[0], "─" * max(map(len, lines)), *lines[1:]])
