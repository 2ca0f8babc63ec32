"""What every table and every implementation says of one error text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compaction_conformance.implementation import Implementation
from compaction_conformance.overflow import asking
from compaction_conformance.overflow.asking import ErrorText, Told
from compaction_conformance.overflow.tables import Ruling, decisions, edition_tables
from compaction_conformance.schema_words import brief

_SHOWN = 150
_WIDTH = 1_000


@dataclass(frozen=True)
class Tried:
    """Rulings by edition, the recommended verdict, whether Pi would ask again, and verdicts by implementation."""

    text: ErrorText
    rulings: Mapping[str, Ruling]
    recommended: Told
    retried: Told
    others: Mapping[str, Told]


def try_texts(
    texts: Sequence[ErrorText], reference: Implementation, others: Mapping[str, Implementation]
) -> list[Tried]:
    """Ask about every text. `reference` answers for the recommended classifier and for retries."""
    recommended, again = asking.classified(reference, texts), asking.retried(reference, texts)
    told = {name: asking.overflows(side, texts) for name, side in others.items()}
    return [
        Tried(
            text,
            {table.edition: table.rule(text.text, text.provider) for table in edition_tables()},
            recommended[index],
            again[index],
            {name: answers[index] for name, answers in told.items()},
        )
        for index, text in enumerate(texts)
    ]


def block(tried: Tried) -> str:
    """The answers as lines for a person."""
    rows = [("text", brief(tried.text.text, _SHOWN))]
    rows += [(edition, _ruling(ruling, edition)) for edition, ruling in tried.rulings.items()]
    rows.append(("recommended", _told(tried.recommended, decisions().get(tried.recommended.because, ""))))
    rows += [(brief(name), _told(told)) for name, told in tried.others.items()]
    rows.append(("Pi asks again", {True: "yes", False: "no"}.get(tried.retried.value, tried.retried.trouble)))  # type: ignore[arg-type]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def as_json(tried: Tried) -> dict[str, object]:
    """The answers for a program."""
    return {
        "text": tried.text.text,
        "editions": {
            edition: {"overflow": ruling.overflow, "decidedBy": ruling.decided_by, "outvoted": ruling.outvoted}
            for edition, ruling in tried.rulings.items()
        },
        "recommended": {"overflow": tried.recommended.value, "because": tried.recommended.because},
        "implementations": {
            name: {"overflow": told.value} if told.value is not None else {"trouble": told.trouble}
            for name, told in tried.others.items()
        },
        "retryable": tried.retried.value,
    }


def _ruling(ruling: Ruling, edition: str) -> str:
    table = next(table for table in edition_tables() if table.edition == edition)
    named = ", ".join(f"{row_id} ({_provider(table.row(row_id).provider)})" for row_id in ruling.decided_by)
    if ruling.overflow:
        return f"overflow      by {named}"
    if not ruling.decided_by:
        return "not overflow  no pattern matches"
    return f"not overflow  excluded by {named}" + (f"; {', '.join(ruling.outvoted)} match" if ruling.outvoted else "")


def _provider(provider: str) -> str:
    return "any provider" if provider == "any" else provider


def _told(told: Told, meaning: str = "") -> str:
    if told.value is None:
        return brief(told.trouble, _WIDTH)
    verdict = "overflow    " if told.value else "not overflow"
    because = f"  by {brief(told.because)}" if told.because else ""
    return f"{verdict}{because}{f' ({meaning})' if meaning else ''}".rstrip()
