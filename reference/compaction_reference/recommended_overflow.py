"""Does an error text tell of an overflow? The recommended classifier (chapter OVR), which no edition of Pi has.

The text is read as sentences (`overflow_reading`). Every sentence is a set of words, each of which is a few regexes of
`recommended-overflow.json`. The first decision of that table that fits the sentences, the numbers in them and the
status gives the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .ecma import is_number, string
from .overflow_reading import sentences
from .spec_table import read_table

_FILE = "recommended-overflow.json"
_DIGITS = 18  # a longer number is cut; no window has so many tokens
_SMALL_INPUT = 2  # an input of at most the window over this is small
_STATUS_WORDS = frozenset({"status", "code", "no", "body"})


@dataclass(frozen=True, slots=True)
class Decision:
    """A row of the table. All its conditions must hold; an empty one always does."""

    id: str
    overflow: bool
    sentence: frozenset[str]
    sentence_lacks: frozenset[str]
    text: frozenset[str]
    text_lacks: frozenset[str]
    facts: frozenset[str]
    status: frozenset[int]
    provider: frozenset[str]


@dataclass(frozen=True, slots=True)
class Table:
    """`words` and `numbers` pair a name, or several, with a regex for one sentence."""

    words: tuple[tuple[str, re.Pattern[str]], ...]
    numbers: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a text: its sentences, the words of each, the facts that its numbers show, and the status."""

    sentences: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    facts: frozenset[str]
    status: int | None
    provider: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`because` is the id of the decision; `sentence` is the one that it rests on, empty where it rests on none."""

    overflow: bool
    because: str
    sentence: str


def classify_text(params: Any) -> dict[str, Any]:
    """The operation `overflow/classify_text`."""
    verdict = decide(read(params))
    return {"overflow": verdict.overflow, "because": verdict.because}


@cache
def table() -> Table:
    data = read_table(_FILE)
    return Table(
        tuple((row["word"], re.compile(row["regex"])) for row in data["words"]),
        tuple((tuple(row["gives"]), re.compile(row["regex"])) for row in data["numbers"]),
        tuple(_decision(row) for row in data["decisions"]),
    )


def _decision(row: Any) -> Decision:
    when = row["when"]
    names = ("sentence", "sentenceLacks", "text", "textLacks", "facts", "status", "provider")
    return Decision(row["id"], row["overflow"], *(frozenset(when.get(name, ())) for name in names))


def read(params: Any) -> Reading:
    """Everything that the decisions ask about. `contextWindow` and `maxOutputTokens` are in tokens."""
    found = sentences(string(params.get("errorMessage") or ""))
    numbers, status = _numbers(found), params.get("status")
    limit = numbers.get("limit") or _amount(params.get("contextWindow"))
    facts = _facts(numbers, limit, _amount(params.get("maxOutputTokens")))
    if all(_says_nothing(sentence.split()) for sentence in found):
        facts.add("no text")
    return Reading(
        tuple(found),
        tuple(_words_of(found)),
        frozenset(facts),
        status if is_number(status) else numbers.get("status"),
        string(params.get("provider") or ""),
    )


def _amount(value: Any) -> int:
    """A number of tokens; 0 where it is not known."""
    return int(value) if is_number(value) and 0 < value < 1e18 else 0


def decide(reading: Reading) -> Verdict:
    """The first decision that fits. The last one fits everything."""
    whole = frozenset[str]().union(*reading.words)
    for decision in table().decisions:
        if not _fits_text(decision, reading, whole):
            continue
        if not decision.sentence:
            return Verdict(decision.overflow, decision.id, _naming(decision.text, reading))
        for sentence, words in zip(reading.sentences, reading.words, strict=True):
            if decision.sentence <= words and not decision.sentence_lacks & words:
                return Verdict(decision.overflow, decision.id, sentence.strip())
    raise AssertionError("the last decision of the table has a condition")


def _fits_text(decision: Decision, reading: Reading, words: frozenset[str]) -> bool:
    return (
        decision.text <= words
        and not decision.text_lacks & words
        and decision.facts <= reading.facts
        and (not decision.status or reading.status in decision.status)
        and (not decision.provider or reading.provider in decision.provider)
    )


def _naming(words: frozenset[str], reading: Reading) -> str:
    """The first sentence that has one of the words."""
    pairs = zip(reading.sentences, reading.words, strict=True)
    return next((sentence.strip() for sentence, own in pairs if words & own), "")


def _words_of(found: Sequence[str]) -> list[frozenset[str]]:
    """The words of every sentence. A regex that does not occur in the text at all is not tried on each."""
    text = "\n".join(found)
    present = [(name, regex) for name, regex in table().words if regex.search(text)]
    return [frozenset(name for name, regex in present if regex.search(sentence)) for sentence in found]


def _says_nothing(words: Iterable[str]) -> bool:
    return all(word.isdigit() or word in _STATUS_WORDS for word in words)


def _numbers(found: Sequence[str]) -> dict[str, int]:
    """The numbers whose meaning a phrase tells: `input`, `output`, `total`, `limit` (tokens) and `status`."""
    numbers: dict[str, int] = {}
    for gives, regex in table().numbers:
        if any(name in numbers for name in gives):
            continue
        match = next(filter(None, map(regex.search, found)), None)
        if match:
            numbers |= {name: int(digits[:_DIGITS]) for name, digits in zip(gives, match.groups(), strict=True)}
    return numbers


def _facts(numbers: dict[str, int], limit: int, max_output: int) -> set[str]:
    """`small input`: at most half of the limit, and the output fills the rest. `above limit`: more than the limit."""
    if not limit:
        return set()
    entered, total = numbers.get("input"), numbers.get("total")
    output = numbers.get("output") or max_output
    if total is not None and 0 < output <= total:
        entered = total - output
    facts = set()
    if entered is None:
        if total is None and output >= limit:
            facts.add("small input")
    elif entered * _SMALL_INPUT <= limit <= max(total or 0, entered + numbers.get("output", 0)):
        facts.add("small input")
    if max(entered or 0, total or 0) > limit:
        facts.add("above limit")
    return facts
