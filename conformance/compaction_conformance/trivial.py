"""Trivial implementations and what they score: a chapter that one of them passes judges nothing.

Each knows a single trick. The strongest, `best-constant`, knows the suite by heart and gives for every operation the
one answer that the most vectors accept, with free words and made ids filled in; its score is the floor beside which
every other score has to be read.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compaction_conformance.expectation import Error, ExpectReading, ExpectRefusal, ExpectResult, Reply, Result
from compaction_conformance.implementation import Implementation
from compaction_conformance.in_process import InProcess
from compaction_conformance.json_files import write_text
from compaction_conformance.judge import accepted_value
from compaction_conformance.record_files import COUNT, list_of, map_of, members, read_checked
from compaction_conformance.run import PASSED, run
from compaction_conformance.spec import DEFAULT_PROFILE, Spec
from compaction_conformance.vectors import Vector

EDITION = "pi-0.87"
_CANDIDATES = 40  # of the expected answers of an operation so many of the most frequent are tried as a constant

Answer = Callable[[Any], Any]
Score = dict[str, tuple[int, int]]
"""By chapter: how many vectors were passed, of how many. Advice counts in chapters that hold nothing else."""


class _Refused(Exception):
    kind = "malformed_input"


@dataclass(frozen=True)
class Trivial:
    """`answers` has a function of the params for every operation that it serves."""

    name: str
    about: str
    answers: dict[str, Answer] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        return {
            "protocolVersion": 1,
            "implementation": {"name": self.name, "version": "0", "language": "python"},
            "editions": [EDITION],
            "profiles": [DEFAULT_PROFILE, "harness"],
            "operations": list(self.answers),
        }

    def call(self, method: str, params: Any) -> Any:
        return self.answers[method](params)


# ---- tricks ----------------------------------------------------------------------------------------------------------


def _entries(params: Any) -> list[Any]:
    return [entry for entry in params["entries"] if isinstance(entry, dict)]


def _messages(params: Any) -> list[Any]:
    return [entry["message"] for entry in _entries(params) if isinstance(entry.get("message"), dict)]


def _without_results(messages: Iterable[Any]) -> list[Any]:
    return [one for one in messages if not isinstance(one, dict) or one.get("role") != "toolResult"]


def _cut(index: int) -> dict[str, Any]:
    return {"firstKeptEntryIndex": index, "turnStartIndex": -1, "isSplitTurn": False}


def _tokens(number: int) -> dict[str, Answer]:
    context = {"tokens": number, "usageTokens": 0, "trailingTokens": number, "lastUsageIndex": None}
    return {
        "tokens/from_usage": lambda _: {"tokens": number},
        "tokens/of_message": lambda _: {"tokens": number},
        "tokens/of_context": lambda _: context,
        "tokens/of_projection": lambda _: context,
        "tokens/context_usage": lambda p: {
            "usage": {"tokens": number, "contextWindow": p["contextWindow"], "percent": 0}
        },
        "tokens/last_usage": lambda _: {"usage": None},
    }


def _overflow(verdict: bool) -> dict[str, Answer]:
    return {
        "overflow/is_overflow": lambda _: {"overflow": verdict},
        "overflow/is_recoverable_length": lambda _: {"recoverable": verdict},
        "overflow/classify_text": lambda _: {"overflow": verdict, "because": "always"},
        "trigger/should_compact": lambda _: {"compact": verdict},
        "retry/is_retryable": lambda _: {"retryable": verdict},
    }


def _projections(show: Callable[[Any], list[Any]]) -> dict[str, Answer]:
    return {
        "projection/messages": lambda p: {"messages": show(p)},
        "projection/entries": lambda p: {"entries": p["entries"]},
        "projection/sources": lambda p: {"sources": [{"id": e.get("id"), "messages": 1} for e in _entries(p)]},
        "session/path": lambda p: {"entries": p["entries"]},
        "branch/collect": lambda p: {"entries": [e.get("id") for e in _entries(p)], "commonAncestorId": None},
        "branch/prepare": lambda p: {"messages": show(p), "totalTokens": 0, "readFiles": [], "modifiedFiles": []},
    }


_EMPTY: dict[str, Any] = {
    "session/path": {"entries": []},
    "session/tree": {"roots": [], "children": {}, "labels": {}, "name": None},
    "session/write": {"content": None},
    "projection/entries": {"entries": []},
    "projection/messages": {"messages": []},
    "projection/sources": {"sources": []},
    "projection/settings": {"thinkingLevel": "off", "model": None},
    "system/current": {"message": None, "prompt": ""},
    "messages/to_llm": {"messages": []},
    "tokens/context_usage": {"usage": None},
    "settings/resolve": {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000},
    "cut/turn_start": {"turnStartIndex": -1},
    "compaction/prepare": {"preparation": None},
    "files/lists": {"readFiles": [], "modifiedFiles": []},
    "files/format": {"text": ""},
    "summary/serialize": {"text": ""},
    "summary/compact": {"requests": [], "retries": [], "outcome": {"nothing": True}},
    "branch/collect": {"entries": [], "commonAncestorId": None},
    "branch/prepare": {"messages": [], "totalTokens": 0, "readFiles": [], "modifiedFiles": []},
    "branch/summarize": {"requests": [], "retries": [], "outcome": {"branchSummary": {"summary": ""}}},
    "branch/settings": {"reserveTokens": 16384, "skipPrompt": False},
    "retry/settings": {"enabled": True, "maxRetries": 3, "baseDelayMs": 2000, "maxAgentDelayMs": 60000},
    "control/run": {"trace": []},
}


def _refuse(_: Any) -> Any:
    raise _Refused


def _constant(value: Any) -> Answer:
    return lambda _: value


def _last(count: int) -> Callable[[Any], list[Any]]:
    return lambda params: _messages(params)[-count:]


def tricks(vectors: Sequence[Vector]) -> tuple[Trivial, ...]:
    """All trivial implementations; the last one is made from the vectors themselves."""
    operations = sorted({vector.operation for vector in vectors})
    return (
        Trivial("never-overflow", "nothing overflows and nothing is due", _overflow(False)),
        Trivial("always-overflow", "everything overflows and is due", _overflow(True)),
        Trivial(
            "cut-at-0",
            "the cut is at the start, and nothing is compacted",
            {
                "cut/find": lambda p: _cut(p["startIndex"]),
                "cut/turn_start": lambda p: {"turnStartIndex": p["startIndex"]},
                "compaction/prepare": _constant({"preparation": None}),
                "summary/compact": _constant(_EMPTY["summary/compact"]),
            },
        ),
        Trivial(
            "cut-at-end",
            "the last entry alone is kept",
            {
                "cut/find": lambda p: _cut(p["endIndex"] - 1),
                "cut/turn_start": lambda p: {"turnStartIndex": p["entryIndex"]},
                "compaction/prepare": _at_end,
            },
        ),
        Trivial("keep-everything", "every message of the file is shown", _projections(_messages)),
        Trivial("last-4", "the last four messages are shown", _projections(_last(4))),
        Trivial(
            "no-tool-results",
            "tool results are dropped",
            {
                **_projections(lambda p: _without_results(_messages(p))),
                "messages/to_llm": lambda p: {"messages": _without_results(p["messages"])},
            },
        ),
        Trivial(
            "identity",
            "what was given is given back",
            {
                **_projections(_messages),
                "messages/to_llm": lambda p: {"messages": p["messages"]},
                "session/fork": lambda p: {"entries": p["entries"]},
                "session/write": lambda p: {"content": p.get("content")},
                "session/append": lambda p: {"entry": p["draft"], "leafId": None},
                "files/lists": lambda p: p.get("previousDetails") or _EMPTY["files/lists"],
                "settings/resolve": lambda p: {**_EMPTY["settings/resolve"], **(p["project"].get("compaction") or {})},
            },
        ),
        Trivial("tokens-0", "nothing weighs", _tokens(0)),
        Trivial("tokens-100", "everything weighs a hundred tokens", _tokens(100)),
        Trivial("empty", "every answer is empty", {op: _constant(value) for op, value in _EMPTY.items()}),
        Trivial("refuse", "everything is refused", dict.fromkeys(operations, _refuse)),
        best_constant(vectors),
    )


def _at_end(params: Any) -> Any:
    entries = _entries(params)
    if not entries:
        return {"preparation": None}
    return {
        "preparation": {
            "firstKeptEntryId": entries[-1].get("id"),
            "messagesToSummarize": _messages(params)[:-1],
            "turnPrefixMessages": [],
            "isSplitTurn": False,
            "tokensBefore": 0,
            "previousSummary": None,
            "fileOperations": _EMPTY["files/lists"],
        }
    }


# ---- the best constants ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """The one answer to an operation that the most vectors accept."""

    operation: str
    reply: Result | Error
    met: int
    of: int


def best_constants(vectors: Iterable[Vector]) -> tuple[Constant, ...]:
    """By operation; all profiles are one."""
    by_operation: dict[str, list[Vector]] = defaultdict(list)
    for vector in _judged(list(vectors)):
        by_operation[vector.operation].append(vector)
    return tuple(_best(operation, asked) for operation, asked in sorted(by_operation.items()))


def _best(operation: str, vectors: Sequence[Vector]) -> Constant:
    expected: Counter[str] = Counter()
    replies: dict[str, Result | Error] = {}
    for vector in vectors:
        for reply in _replies(vector):
            key = json.dumps(reply.shown(), sort_keys=True)
            expected[key] += 1
            replies[key] = reply
    best = Constant(operation, Error("malformed_input", ""), 0, len(vectors))
    for key, _ in expected.most_common(_CANDIDATES):
        met = sum(vector.expect.judge(replies[key], vector.params).met for vector in vectors)
        if met > best.met:
            best = Constant(operation, replies[key], met, len(vectors))
    return best


def _replies(vector: Vector) -> Iterable[Result | Error]:
    expect = vector.expect
    alternatives = [each for _, each in expect.readings] if isinstance(expect, ExpectReading) else [expect]
    for each in alternatives:
        if isinstance(each, ExpectResult):
            yield Result(accepted_value(each.value))
        elif isinstance(each, ExpectRefusal):
            yield Error(each.kind, "")


def best_constant(vectors: Iterable[Vector]) -> Trivial:
    answers = {one.operation: _answered(one.reply) for one in best_constants(vectors)}
    return Trivial("best-constant", "for every operation the answer that most vectors accept", answers)


def _answered(reply: Reply) -> Answer:
    if isinstance(reply, Result):
        return _constant(reply.value)
    kind = reply.kind if isinstance(reply, Error) else None

    def refuse(_: Any) -> Any:
        refusal = _Refused()
        refusal.kind = kind or _Refused.kind
        raise refusal

    return refuse


# ---- scores ----------------------------------------------------------------------------------------------------------


def plug_in(trivial: Trivial, profile: str) -> Implementation:
    return InProcess(trivial, edition=EDITION, profile=profile)


def score(implementation: Implementation, vectors: Iterable[Vector]) -> Score:
    """What is not declared is not passed. Vectors of optional features that are not declared are left out."""
    passed: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    judged = _judged(list(vectors))
    for outcome in run(implementation, judged).outcomes:
        chapter = outcome.vector.requirement.chapter
        counted[chapter] += 1
        passed[chapter] += outcome.status == PASSED
    return {chapter: (passed[chapter], counted[chapter]) for chapter in counted}


def _judged(vectors: Sequence[Vector]) -> list[Vector]:
    """Without advice, but for chapters that are all advice."""
    strict = {vector.requirement.chapter for vector in vectors if vector.level != "SHOULD"}
    return [one for one in vectors if one.level != "SHOULD" or one.requirement.chapter not in strict]


def trivial_scores(vectors: Sequence[Vector]) -> dict[str, Score]:
    """Of all trivial implementations, over every profile."""
    profiles = sorted({vector.profile for vector in vectors})
    scores: dict[str, Score] = {}
    for trivial in tricks(vectors):
        scores[trivial.name] = {}
        for profile in profiles:
            own = [vector for vector in vectors if vector.profile == profile]
            scores[trivial.name] |= score(plug_in(trivial, profile), own)
    return scores


_PASSED_OF = {**list_of(COUNT), "minItems": 2, "maxItems": 2, "prefixItems": [COUNT, {"minimum": 1}]}
_SCHEMA = members(scores=map_of(map_of(_PASSED_OF)))


def read_recorded(path: Path) -> dict[str, Score]:
    """Scores of real implementations, as they were recorded (`trivial --record NAME`)."""
    if not path.is_file():
        return {}
    recorded = read_checked(path, _SCHEMA, command="trivial --record NAME")["scores"]
    return {name: {chapter: (one[0], one[1]) for chapter, one in own.items()} for name, own in recorded.items()}


def write_recorded(path: Path, scores: dict[str, Score]) -> None:
    recorded = {name: {chapter: list(one) for chapter, one in own.items()} for name, own in sorted(scores.items())}
    write_text(path, json.dumps({"scores": recorded}, indent=1) + "\n")


def constant_row(one: Constant) -> tuple[str, ...]:
    return one.operation, str(one.met), str(one.of), str(100 * one.met // one.of)


def problems(scores: dict[str, Score]) -> list[str]:
    """Chapters that a trivial implementation passes, or nearly so."""
    return [
        f"{name} meets {passed} of {of} vectors of {chapter}: more than three quarters"
        for name, own in scores.items()
        for chapter, (passed, of) in own.items()
        if 4 * passed > 3 * of
    ]


def table(scores: dict[str, Score], spec: Spec) -> list[tuple[str, ...]]:
    """A head, then a row a chapter: the percentage that each implementation passes; `–` where it was not asked."""
    rows: list[tuple[str, ...]] = [("chapter", *scores)]
    for chapter in spec.chapters:
        if any(chapter.slug in own for own in scores.values()):
            rows.append((chapter.title, *(_percent(own.get(chapter.slug)) for own in scores.values())))
    return rows


def _percent(passed_of: tuple[int, int] | None) -> str:
    return f"{100 * passed_of[0] // passed_of[1]}" if passed_of and passed_of[1] else "–"
