"""The scoreboard: how well somebody tells overflows from other errors on the labelled corpus.

A miss is an overflow that is not seen; a false alarm is another error that is taken for one. A miss whose request
would also be repeated is a loop: the agent sends the same request until it gives up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compaction_conformance.corpus.cases import Case
from compaction_conformance.implementation import Implementation
from compaction_conformance.overflow import asking
from compaction_conformance.overflow.asking import ErrorText, Told
from compaction_conformance.overflow.tables import EditionTable, edition_tables

RECORDED = "pi-0.87"
RECOMMENDED = "recommended"
SPLITS: dict[str, Callable[[Case], str]] = {
    "grade": lambda case: case.evidence.grade,
    "class": lambda case: case.kind,
    "provider": lambda case: case.provider_id,
}


@dataclass(frozen=True)
class Score:
    """Counts of verdicts. Recall and precision are None where they have no meaning."""

    caught: int = 0
    missed: int = 0
    alarms: int = 0
    passed: int = 0
    loops: int = 0
    silent: int = 0

    @property
    def count(self) -> int:
        return self.caught + self.missed + self.alarms + self.passed + self.silent

    @property
    def recall(self) -> float | None:
        overflows = self.caught + self.missed
        return self.caught / overflows if overflows else None

    @property
    def precision(self) -> float | None:
        said = self.caught + self.alarms
        return self.caught / said if said else None


@dataclass(frozen=True)
class Verdicts:
    """What one entrant says of each case, by id; `again`: whether it would repeat the request, where that is known."""

    name: str
    about: str
    overflow: Mapping[str, bool | None]
    again: Mapping[str, bool | None]


@dataclass(frozen=True)
class Entry:
    """An entrant's scores. Misses, alarms and loops are ids of undisputed cases."""

    name: str
    about: str
    total: Score
    disputed: Score
    splits: Mapping[str, Mapping[str, Score]]
    missed: tuple[str, ...]
    alarms: tuple[str, ...]
    loops: tuple[str, ...]


def scored_cases(cases: Iterable[Case]) -> list[Case]:
    """The cases that end in an error text; the others are told by usage alone."""
    return [case for case in cases if recorded_text(case) is not None]


def recorded_text(case: Case) -> ErrorText | None:
    """The error text that Pi's client made of a case; status and body where nothing is recorded yet."""
    answer = case.answers.get(RECORDED)
    if answer is None:
        return _text(case, f"{case.response.status or ''} {case.response.text}".strip())
    if answer.stop_reason != "error":
        return None
    return _text(case, answer.error_message or "")


def whole_text(case: Case) -> ErrorText | None:
    """The same with the body of the response behind it, where the client dropped it."""
    recorded = recorded_text(case)
    body = case.response.text.strip()
    if recorded is None or not body or body in recorded.text:
        return recorded
    return _text(case, f"{recorded.text}\n{body}")


def _text(case: Case, text: str) -> ErrorText:
    return ErrorText(text, case.provider_id, case.api, case.response.status, case.context_window)


def scoreboard(cases: Sequence[Case], reference: Implementation, others: Mapping[str, Implementation]) -> list[Entry]:
    """Everybody's entry: constant answers, what Pi's editions answered, their tables, the recommended classifier, the
    implementations by name. `reference` answers for the recommended classifier and for retries."""
    scored = scored_cases(cases)
    again = _by_id(scored, asking.retried(reference, _texts(scored, recorded_text)))
    verdicts = [_constant("always", True, scored), _constant("never", False, scored)]
    verdicts += [_recorded(edition, scored) for edition in sorted({e for case in scored for e in case.answers})]
    verdicts += [_of_table(table, scored, again) for table in edition_tables()]
    verdicts += _recommended(scored, reference, again)
    verdicts += [_of_implementation(name, side, scored, again) for name, side in others.items()]
    return [entry(one, scored) for one in verdicts]


def entry(verdicts: Verdicts, cases: Sequence[Case]) -> Entry:
    """Count an entrant's verdicts, all together and by grade, class and provider."""
    settled = [case for case in cases if not case.disputed]
    wrong = [case for case in settled if verdicts.overflow[case.id] is (not case.overflow)]
    return Entry(
        verdicts.name,
        verdicts.about,
        _score(verdicts, settled),
        _score(verdicts, [case for case in cases if case.disputed]),
        {name: _split(verdicts, settled, key) for name, key in SPLITS.items()},
        tuple(case.id for case in wrong if case.overflow),
        tuple(case.id for case in wrong if not case.overflow),
        tuple(case.id for case in wrong if case.overflow and verdicts.again[case.id]),
    )


def _split(verdicts: Verdicts, cases: Iterable[Case], key: Callable[[Case], str]) -> dict[str, Score]:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[key(case)].append(case)
    return {name: _score(verdicts, groups[name]) for name in sorted(groups)}


def _score(verdicts: Verdicts, cases: Iterable[Case]) -> Score:
    counts: dict[str, int] = defaultdict(int)
    for case in cases:
        said = verdicts.overflow[case.id]
        if said is None:
            counts["silent"] += 1
            continue
        counts[{(1, 1): "caught", (1, 0): "missed", (0, 1): "alarms", (0, 0): "passed"}[case.overflow, said]] += 1
        if case.overflow and not said and verdicts.again[case.id]:
            counts["loops"] += 1
    return Score(**counts)


# The entrants


def _constant(name: str, answer: bool, cases: Sequence[Case]) -> Verdicts:
    return Verdicts(
        name, f"{name} says overflow", {case.id: answer for case in cases}, {case.id: None for case in cases}
    )


def _recorded(edition: str, cases: Sequence[Case]) -> Verdicts:
    answers = {case.id: case.answers.get(edition) for case in cases}
    return Verdicts(
        f"{edition} recorded",
        "what Pi's own clients and check answered",
        {name: answer.overflow if answer else None for name, answer in answers.items()},
        {name: answer.retryable if answer else None for name, answer in answers.items()},
    )


def _of_table(table: EditionTable, cases: Sequence[Case], again: Mapping[str, bool | None]) -> Verdicts:
    texts = zip(cases, _texts(cases, recorded_text), strict=True)
    ruled = {case.id: table.rule(text.text, text.provider).overflow for case, text in texts}
    return Verdicts(f"{table.edition} table", "the pattern table on the recorded error texts", ruled, again)


def _recommended(cases: Sequence[Case], reference: Implementation, again: Mapping[str, bool | None]) -> list[Verdicts]:
    whole = _by_id(cases, asking.classified(reference, _texts(cases, whole_text)))
    recorded = _by_id(cases, asking.classified(reference, _texts(cases, recorded_text)))
    return [
        Verdicts(RECOMMENDED, "the recommended classifier on error texts with the whole body", whole, again),
        Verdicts(f"{RECOMMENDED}, recorded", "the same on the recorded error texts", recorded, again),
    ]


def _of_implementation(
    name: str, side: Implementation, cases: Sequence[Case], again: Mapping[str, bool | None]
) -> Verdicts:
    texts = _texts(cases, recorded_text)
    if asking.IS_RETRYABLE in side.description.operations:
        again = _by_id(cases, asking.retried(side, texts))
    return Verdicts(
        name,
        f"{side.description.label} on the recorded error texts",
        _by_id(cases, asking.overflows(side, texts)),
        again,
    )


def _texts(cases: Iterable[Case], of: Callable[[Case], ErrorText | None]) -> list[ErrorText]:
    return [text for case in cases if (text := of(case)) is not None]


def _by_id(cases: Iterable[Case], told: Iterable[Told]) -> dict[str, bool | None]:
    return {case.id: one.value for case, one in zip(cases, told, strict=True)}
