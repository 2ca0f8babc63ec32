"""What a person reads: one block a failure, and the table of chapters. Values are hostile and are shown escaped."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from compaction_conformance.expectation import Broken, NotRun
from compaction_conformance.judge import NOTHING
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome, RunReport
from compaction_conformance.schema_words import printable
from compaction_conformance.spec import Requirement, Spec

_VALUE_WIDTH = 200
_NAME_WIDTH = 40
_INPUT_ITEMS = 12
OF_SESSIONS = ("SWEEP-", "VARIANT-")  # what is asked with `--sweeps` alone


def failure_block(
    outcome: Outcome, label: str, implementation: str, repro: Path | None, options: Sequence[str] = ()
) -> str:
    """Everything needed to understand and repeat one failure. `options` are the arguments that the repetition needs
    beside the implementation and the vector's id."""
    vector, verdict = outcome.vector, outcome.verdict
    rule = vector.requirement
    word = "ADVICE" if rule.level == "SHOULD" else "FAIL"
    lines = [f"{word} {vector.id} · {rule.id} {rule.title} · {printable(label)} ({verdict.failure})"]
    rows = [("about", vector.description), ("rule", rule.sentence)]
    difference = verdict.difference
    if difference is not None and not isinstance(outcome.reply, Broken):
        rows += [("at", difference.pointer or "the whole answer")]
        rows += [("want", shown(difference.want)), ("got", shown(difference.got))]
    if difference is not None and difference.note:
        rows += [("note", printable(difference.note))]
    rows += [("input", describe_input(vector.params))]
    rows += [("again", again(implementation, vector.id, options))]
    if repro is not None:
        rows += [("repro", str(repro))]
    if outcome.log.strip():
        rows += [("log", printable(line)) for line in outcome.log.strip().splitlines()[-6:]]
    return "\n".join(lines + [f"  {name:<6} {text}" for name, text in rows])


def again(implementation: str, name: str, options: Sequence[str] = ()) -> str:
    """The command line that asks for one vector, sweep or variant."""
    sweeps = ["--sweeps"] if name.startswith(OF_SESSIONS) else []
    command = ["compaction-conformance", "run", "--implementation", implementation, *options, *sweeps, "--only", name]
    return shlex.join(command)


def shown(value: Any) -> str:
    """A value as one short line of JSON, escaped for a terminal."""
    if value is NOTHING:
        return "nothing"
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except RecursionError:
        return "a value that is nested too deeply to be shown"
    rest = f"… ({len(text)} characters)" if len(text) > _VALUE_WIDTH else ""
    return printable(text[:_VALUE_WIDTH]) + rest


def describe_input(params: Any) -> str:
    """The params in one line; entries and messages by id, type and role."""
    if not isinstance(params, dict):
        return shown(params)
    parts = []
    for name, value in params.items():
        if name in ("entries", "messages") and isinstance(value, list):
            items = [_describe_item(item) for item in value[:_INPUT_ITEMS]]
            if len(value) > _INPUT_ITEMS:
                items.append(f"… {len(value) - _INPUT_ITEMS} more")
            parts.append(" · ".join(items) if items else f"no {name}")
        else:
            parts.append(f"{name}={shown(value)}")
    return printable("  ".join(parts))


def _describe_item(item: Any) -> str:
    if not isinstance(item, dict):
        return shown(item)
    kind = item.get("type") or item.get("role") or "?"
    if kind == "message" and isinstance(item.get("message"), dict):
        kind = item["message"].get("role", "?")
    text = f"{_name(item['id'])} {_name(kind)}" if "id" in item else _name(kind)
    target = item.get("firstKeptEntryId") or item.get("targetId")
    return f"{text}→{_name(target)}" if target else text


def _name(value: Any) -> str:
    """An id, a type or a role; in a damaged session it can be anything."""
    text = value if isinstance(value, str) else shown(value)
    return text if len(text) <= _NAME_WIDTH else f"{text[:_NAME_WIDTH]}…"


def chapter_table(report: RunReport, spec: Spec) -> str:
    """One row a chapter and a last one for all: passed of all at each level, what is undeclared, what was not run."""
    by_chapter: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in report.outcomes:
        by_chapter[outcome.vector.requirement.chapter].append(outcome)
    head = ("chapter", "rules", "vectors", "MUST", "", "QUIRK", "SHOULD", "undeclared", "not run")
    rows: list[tuple[str, ...]] = [head]
    for chapter in spec.chapters:
        if outcomes := by_chapter.get(chapter.slug, []):
            rows.append(_row(chapter.title, outcomes))
    rows.append(_row("all", report.outcomes))
    return _aligned(rows)


def _row(title: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    rules = {outcome.vector.requirement.id for outcome in outcomes}
    must, quirk, should = (_passed_of(outcomes, level) for level in ("MUST", "QUIRK", "SHOULD"))
    return (
        title,
        str(len(rules)),
        str(len(outcomes)),
        _ratio(must),
        _percent(must),
        _ratio(quirk),
        _ratio(should),
        str(sum(outcome.status == UNSUPPORTED for outcome in outcomes) or "–"),
        str(sum(outcome.status == NOT_RUN for outcome in outcomes) or "–"),
    )


def _passed_of(outcomes: Iterable[Outcome], level: str) -> tuple[int, int]:
    at_level = [outcome for outcome in outcomes if outcome.vector.level == level]
    return sum(outcome.status == PASSED for outcome in at_level), len(at_level)


def _ratio(passed_of: tuple[int, int]) -> str:
    return f"{passed_of[0]}/{passed_of[1]}" if passed_of[1] else "–"


def _percent(passed_of: tuple[int, int]) -> str:
    """Rounded down, so that 100 % means all."""
    passed, count = passed_of
    return f"{passed * 1000 // count / 10:g} %" if count else "–"


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    rule = "─" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def readings_taken(report: RunReport) -> str:
    """For every QUIRK that was met, the reading that the implementation takes (several, if its vectors disagree)."""
    taken: dict[str, set[str]] = defaultdict(set)
    for outcome in report.outcomes:
        if outcome.vector.level == "QUIRK" and outcome.status == PASSED and outcome.verdict.reading:
            taken[outcome.vector.requirement.id].add(outcome.verdict.reading)
    by_reading: dict[str, list[str]] = defaultdict(list)
    for rule, readings in sorted(taken.items()):
        by_reading[" or ".join(sorted(readings))].append(rule)
    return "\n".join(f"reading {reading}: {' '.join(rules)}" for reading, rules in sorted(by_reading.items()))


def advice(report: RunReport) -> str:
    """The SHOULD rules that were not met, one line each."""
    missed: dict[str, list[Requirement]] = defaultdict(list)
    for outcome in report.outcomes:
        if outcome.vector.level == "SHOULD" and outcome.status == FAILED:
            missed[outcome.vector.requirement.id].append(outcome.vector.requirement)
    rows = [f"advice {name}: {rules[0].title} ({len(rules)} not met)" for name, rules in sorted(missed.items())]
    return "\n".join(rows)


def conclusion(report: RunReport, exit_code: int) -> str:
    label = printable(report.implementation.label)
    must, passed, undeclared = (report.of("MUST", *statuses) for statuses in ((), (PASSED,), (UNSUPPORTED,)))
    conformant = "conformant in what it declares" if undeclared else "conformant"
    words = {0: conformant, 1: "not conformant", 3: "incomplete"}[exit_code]
    told = f", {undeclared} are of operations that it does not declare" if undeclared else ""
    why = f" ({why_incomplete(report)})" if exit_code == 3 else ""
    return f"{label}: {words}{why}, {passed} of {must} MUST vectors met{told}"


def why_incomplete(report: RunReport) -> str:
    """Why vectors were not run: every reason, and how many there are of it."""
    replies = [outcome.reply for outcome in report.outcomes]
    reasons = Counter(reply.reason for reply in replies if isinstance(reply, NotRun))
    told = [f"{count} not run: {printable(reason)}" for reason, count in reasons.items()]
    return "; ".join(told) or "no vector was asked"
