"""What a new pattern would do: what it newly catches in the corpus, what it breaks, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction_conformance.corpus.cases import Case
from compaction_conformance.overflow.cost import MEGABYTE_SECONDS, Trial, try_regex
from compaction_conformance.overflow.portable import foreign_parts
from compaction_conformance.overflow.scores import recorded_text
from compaction_conformance.overflow.tables import EditionTable, folded
from compaction_conformance.schema_words import printable

_LISTED = 20


@dataclass(frozen=True)
class PatternReport:
    """Ids of cases by what the pattern does to them; disputed cases stand apart, whatever their label."""

    regex: str
    exclusion: bool
    foreign: tuple[str, ...]
    trial: Trial
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    unchanged: tuple[str, ...]
    disputed: tuple[str, ...]

    @property
    def too_dear(self) -> bool:
        cost = self.trial.cost
        return not self.trial.finished or (cost is not None and (not cost.linear or cost.seconds > MEGABYTE_SECONDS))

    @property
    def sound(self) -> bool:
        """Nothing is broken, every engine reads it alike, and it is cheap."""
        return not (self.foreign or self.wrong or self.too_dear)


def check_pattern(
    regex: str, cases: Sequence[Case], table: EditionTable, *, exclusion: bool, time_limit: float
) -> PatternReport:
    """Try a regex as one more pattern, or as one more exclusion, of an edition's table.

    Raises `InvalidInput` for what is no regex.
    """
    told = [(case, text) for case in cases if (text := recorded_text(case)) is not None]
    trial = try_regex(regex, [folded(text.text) for _, text in told], time_limit)
    changed: dict[str, list[str]] = {"right": [], "wrong": [], "unchanged": [], "disputed": []}
    for index in sorted(trial.matches or ()):
        case, text = told[index]
        ruling = table.rule(text.text, text.provider)
        verdict = not exclusion and (ruling.overflow or not _excluded(ruling.decided_by, table))
        kind = "unchanged" if verdict == ruling.overflow else "right" if verdict == case.overflow else "wrong"
        changed["disputed" if case.disputed and kind != "unchanged" else kind].append(case.id)
    named = {kind: tuple(ids) for kind, ids in changed.items()}
    return PatternReport(regex, exclusion, tuple(foreign_parts(regex)), trial, **named)


def _excluded(ids: Sequence[str], table: EditionTable) -> bool:
    return any(row.id in ids for row in table.exclusions)


def report_text(report: PatternReport) -> str:
    """The report as lines for a person."""
    catches, breaks = (
        ("no longer taken for an overflow", "overflow that is lost")
        if report.exclusion
        else ("newly caught", "newly taken for an overflow")
    )
    lines = [f"pattern   {printable(report.regex)}"]
    lines.append(f"portable  {'no: ' + printable('; '.join(report.foreign)) if report.foreign else 'yes'}")
    if report.trial.matches is None:
        lines.append("corpus    no answer within the time limit")
    else:
        lines += [
            _listed(catches, report.right),
            _listed(f"WRONG: {breaks}", report.wrong),
            _listed("a choice of policy", report.disputed),
            _listed("matched, and decided alike before", report.unchanged),
        ]
    return "\n".join([*lines, f"cost      {_cost_text(report)}", f"verdict   {_verdict(report)}"])


def _listed(label: str, ids: Sequence[str]) -> str:
    more = f" … {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    return f"corpus    {label}: {len(ids)}" + (f" ({' '.join(ids[:_LISTED])}{more})" if ids else "")


def _cost_text(report: PatternReport) -> str:
    cost = report.trial.cost
    if cost is None:
        return "not measured within the time limit"
    what = printable(f"{cost.beginning!r} then {cost.unit!r}" if cost.beginning else repr(cost.unit))
    measured = (
        f"{cost.seconds * 1000:.1f} ms for {cost.size:,} characters of {what}, twice the text {cost.growth:.1f} times"
    )
    return measured if report.trial.finished else f"{measured}; not finished within the time limit"


def _verdict(report: PatternReport) -> str:
    faults = [
        (report.foreign, "engines read it differently"),
        (report.wrong, "it breaks cases of the corpus"),
        (report.too_dear, "it is too dear"),
    ]
    named = [words for there, words in faults if there]
    return "; ".join(named) if named else "sound" if report.right else "sound, and changes nothing in the corpus"
