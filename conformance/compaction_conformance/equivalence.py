"""Mutants that no vector can tell from the reference, and why: one row a reason.

A row is tried on every mutant that no vector killed. So a mutant that fits a row and is killed all the same counts as
killed, and a reason never hides a vector.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from compaction_conformance.mutants import Mutant

_RAISED = r"malformed|Refusal|ValueError|IndexError|AssertionError|Thrown|Stopped|SummaryFailed|SummaryAborted"


@dataclass(frozen=True)
class Reason:
    """`name` for tables, `text` for people. Each pattern that is given has to be found: in `module:function`, in the
    statement around the change, in what was there before, and in what is there now."""

    name: str
    text: str
    place: str = ""
    statement: str = ""
    before: str = ""
    after: str = ""

    def fits(self, mutant: Mutant) -> bool:
        pairs = (
            (self.place, f"{mutant.module}:{mutant.function}"),
            (self.statement, mutant.statement),
            (self.before, mutant.before),
            (self.after, mutant.after),
        )
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in pairs)


REASONS = (
    Reason(
        "message",
        "the message of a refusal is free (spec/protocol.md, Errors)",
        statement=rf"\b(?:raise|return)\b.*\b(?:{_RAISED})\(|super\(\)\.__init__\(",
        after=r"^XX|^'XX|^\"XX|\bNone\b|^f?\"|^$",
    ),
    Reason(
        "message",
        "the words that a failure is told in are free",
        statement=r"accepted\(|_checked\(|no reason given|Unknown error|text = f\"The call",
        after=r"XX|, None\)$|\bNone$",
    ),
    Reason("types", "a name for a type, which nothing asks for at run time", statement=r": TypeAlias ="),
    Reason("handshake", "what an adapter says of itself is not judged", place=r":describe$"),
    Reason(
        "made ids",
        "ids and times that are made are compared by identity and order, not by value (spec/protocol.md, Values)",
        place=r":_?time_ordered_id$|:_random_id$|:_now$|:Makers\.|:iso_text$|:new_routing_id$|:text_after_appends$",
    ),
    Reason("prompt", "the wording of prompts is free", place=r"^prompts:"),
    Reason("truth", "`None` is as false as `False`, and only the truth is asked for", before=r"= False$|^False$", after=r"= None$|^None$"),
    Reason("truth", "an empty text is as false as `None`, and only the truth is asked for", before=r"= None$", after=r"= \"\"$"),
    Reason("truth", "the argument is only asked for its truth", before=r"=False\b|, False\)", after=r"=None\b|, None\)|, \)"),
    Reason("speed", "a shortcut whose long way gives the same", place=r":utf16_length$|:_code$", before=r"isascii"),
    Reason("strict", "the two lists have the same length, which `strict` only asserts", before=r"strict=True|^True$", statement=r"strict=True"),
    Reason("nan", "where a time is absent, NaN and nothing come out the same: both are shown as `null`", before=r"timestamp\", (?:math\.nan|float\()"),
)


def reason_for(mutant: Mutant) -> Reason | None:
    """The first row that fits."""
    return next((reason for reason in REASONS if reason.fits(mutant)), None)
