"""What a run comes to: the table of chapters, where most failures are, readings, advice, and the last line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from compaction_conformance.expectation import NotRun
from compaction_conformance.golden.sweep_run import shown_outcome
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome, RunReport
from compaction_conformance.schema_words import brief
from compaction_conformance.spec import Requirement, Spec
from compaction_conformance.tables import aligned

_WORDS_WIDTH = 1_000  # of what an implementation says in its own words
_PLACES = 5
_PLACE_WIDTH = 120
_INDEX = re.compile("/[0-9]+(?=/|$)")


def telling_first(failed: Sequence[Outcome]) -> list[Outcome]:
    """Every operation once before any twice, of an operation every place, and of a place every rule, by its smallest
    input."""
    by_size = sorted(failed, key=lambda outcome: len(outcome.vector.params_text))
    smallest = {outcome.vector.requirement.id: outcome.vector.id for outcome in reversed(by_size)}
    rules_first = sorted(failed, key=lambda outcome: smallest[outcome.vector.requirement.id] != outcome.vector.id)
    places_first = _in_turn(rules_first, lambda outcome: _place(shown_outcome(outcome)))
    return _in_turn(places_first, lambda outcome: shown_outcome(outcome).vector.operation)


def _in_turn(outcomes: Iterable[Outcome], group: Callable[[Outcome], str]) -> list[Outcome]:
    """The first one of every group, then the second ones, and so on; in their order otherwise."""
    seen = Counter[str]()
    rounds: list[tuple[int, Outcome]] = []
    for outcome in outcomes:
        own = group(outcome)
        seen[own] += 1
        rounds.append((seen[own], outcome))
    return [outcome for _, outcome in sorted(rounds, key=lambda pair: pair[0])]


def frequent_places(outcomes: Iterable[Outcome]) -> str:
    """Where most of the failures are, one line a place: operation, pointer with any index as `*`, how many."""
    counted = Counter(_place(shown_outcome(outcome)) for outcome in outcomes)
    return "\n".join(f"  {brief(place, _PLACE_WIDTH)} ×{count}" for place, count in counted.most_common(_PLACES))


def _place(outcome: Outcome) -> str:
    """A failure that is of the whole answer is told by its class."""
    difference = outcome.verdict.difference
    pointer = difference.pointer if difference else ""
    return f"{outcome.vector.operation} {_INDEX.sub('/*', pointer) or f'({outcome.verdict.failure})'}"


def chapter_table(report: RunReport, spec: Spec, *, declared_only: bool = False) -> str:
    """One row a chapter and a last one for all: passed of all at each level (with `declared_only`, of all that are
    declared), what is undeclared, what was not run."""
    by_chapter: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in report.outcomes:
        by_chapter[outcome.vector.requirement.chapter].append(outcome)
    head = ("chapter", "rules", "vectors", "MUST", "", "QUIRK", "SHOULD", "undeclared", "not run")
    rows: list[tuple[str, ...]] = [head]
    for chapter in spec.chapters:
        if outcomes := by_chapter.get(chapter.slug, []):
            rows.append(_row(chapter.title, outcomes, declared_only))
    rows.append(_row("all", report.outcomes, declared_only))
    head_line, rule, *lines, last = aligned(rows).split("\n")
    return "\n".join([head_line, rule, *lines, rule, last])


def _row(title: str, outcomes: Sequence[Outcome], declared_only: bool) -> tuple[str, ...]:
    rules = {outcome.vector.requirement.id for outcome in outcomes}
    counted = [outcome for outcome in outcomes if not (declared_only and outcome.status == UNSUPPORTED)]
    must, quirk, should = (_passed_of(counted, level) for level in ("MUST", "QUIRK", "SHOULD"))
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


def advice(report: RunReport, *, strict: bool = False) -> str:
    """The SHOULD rules that were not met, one line each, and how to see more of them."""
    missed: dict[str, list[Requirement]] = defaultdict(list)
    for outcome in report.outcomes:
        if outcome.vector.level == "SHOULD" and outcome.status == FAILED:
            missed[outcome.vector.requirement.id].append(outcome.vector.requirement)
    rows = [f"advice {name}: {rules[0].title} ({len(rules)} not met)" for name, rules in sorted(missed.items())]
    if rows and not strict:
        rows.append("--strict shows what is asked and answered there, and lets it count")
    return "\n".join(rows)


def conclusion(report: RunReport, exit_code: int, *, strict: bool = False, declared_only: bool = False) -> str:
    """The last line: the verdict, and every count that it rests on."""
    undeclared = report.of("MUST", UNSUPPORTED)
    conformant = "conformant in what it declares" if undeclared else "conformant"
    words = {0: conformant, 1: "not conformant", 3: "incomplete"}[exit_code]
    why = f" ({why_incomplete(report)})" if exit_code == 3 else ""
    bad = (FAILED,) if declared_only else (FAILED, UNSUPPORTED)
    counts = [_must_met(report, undeclared, declared_only)]
    if quirks := report.of("QUIRK", *bad):
        counts.append(f"{quirks} QUIRK vectors in no accepted reading{_undeclared_of(report, declared_only)}")
    if strict and (advised := report.of("SHOULD", *bad)):
        counts.append(f"{advised} vectors of advice not met (--strict)")
    return f"{brief(report.implementation.label)}: {words}{why}, {' and '.join(counts)}"


def _undeclared_of(report: RunReport, declared_only: bool) -> str:
    undeclared = 0 if declared_only else report.of("QUIRK", UNSUPPORTED)
    return f" ({undeclared} are of operations that it does not declare)" if undeclared else ""


def _must_met(report: RunReport, undeclared: int, declared_only: bool) -> str:
    passed, must = report.of("MUST", PASSED), report.of("MUST")
    if not undeclared:
        return f"{passed} of {must} MUST vectors met"
    if declared_only:
        told = f"{undeclared} more are of operations that it does not declare"
        return f"{passed} of {must - undeclared} declared MUST vectors met ({told})"
    return f"{passed} of {must} MUST vectors met ({undeclared} are of operations that it does not declare)"


def why_incomplete(report: RunReport) -> str:
    """Why vectors were not run: every reason, and how many there are of it."""
    replies = [outcome.reply for outcome in report.outcomes]
    reasons = Counter(reply.reason for reply in replies if isinstance(reply, NotRun))
    told = [f"{count} not run: {brief(reason, _WORDS_WIDTH)}" for reason, count in reasons.items()]
    return "; ".join(told) or "no vector was asked"
