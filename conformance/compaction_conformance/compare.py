"""Two implementations over anybody's session files, at every prefix and every leaf: where do they first differ?

No expectation is involved: the question is whether A and B read the same file alike. Both get the same entries, parsed
by A (a legacy file gets fresh ids when it is parsed, so the two parses are compared with ids by order of appearance).
Silence is no agreement: who does not parse is not compared, and two that share nothing else leave it incomplete.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.json_files import read_bytes
from compaction_conformance.judge import Difference, first_difference, strings_of_params
from compaction_conformance.stdio import Stdio

CUT_BUDGETS = (0, 1000, 20000)
SETTINGS = (
    {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000},
    {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 2000},
    {"enabled": True, "reserveTokens": 0, "keepRecentTokens": 0},
)
OF_STATE = ("projection/messages", "projection/sources", "projection/settings", "tokens/of_projection")
_ASKED = frozenset((*OF_STATE, "compaction/prepare", "cut/find"))
ASKABLE = _ASKED | {"session/parse", "messages/to_llm"}  # the last one of what projection/messages answered
_DEEPEST = 900  # Python's own bound, less what the work on a value takes
_MARKS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{\]}]')
_BATCH = 8
_BATCH_SIZE = 8_000_000
_ID_MEMBERS = ("id", "parentId", "firstKeptEntryId", "targetId", "fromId")


@dataclass(frozen=True)
class Point:
    """A state of the session: its first `length` entries, seen from a leaf."""

    length: int
    leaf_id: Any

    def __str__(self) -> str:
        return f"first {self.length} entries, leaf {self.leaf_id}"


@dataclass(frozen=True)
class Disagreement:
    """The first place where the two differ; `request` repeats it on either."""

    file: Path
    point: Point | None
    operation: str
    about: str
    request: Request
    difference: Difference


@dataclass
class Comparison:
    """Counts of what was compared, and the first disagreement, if any."""

    points: int = 0
    answers: int = 0
    asked: set[str] = field(default_factory=set)
    first: Disagreement | None = None
    incomplete: str = ""


@dataclass(frozen=True)
class _Question:
    """`state` is the members of the params that all questions about a point share, as text; `more` are the rest."""

    point: Point
    method: str
    state: str
    more: str = ""
    about: str = ""

    @property
    def request(self) -> Request:
        """Made when it is asked: the questions about a large session together would be many times its size."""
        return Request(self.method, f"{{{self.state}{self.more}}}")


def compare_file(
    first: Implementation,
    second: Implementation,
    file: Path,
    *,
    sample: int | None = 200,
    on_point: Callable[[int, int], None] = lambda _done, _all: None,
) -> Comparison:
    """Stops at the first disagreement. `sample` bounds the points of a large file, None asks at all of them.

    Raises `InvalidInput` when one of the two does not declare `session/parse`, or refuses the file as no session."""
    check_declared({"A": first, "B": second}, ["session/parse"])
    comparison = Comparison()
    shared = first.description.operations & second.description.operations
    entries = _parse(first, second, file, comparison)
    if entries is None:
        return comparison
    if not shared & _ASKED:
        comparison.incomplete = "beyond session/parse, the two declare no operation in common that is asked about"
        return comparison
    texts = [json.dumps(entry, separators=(",", ":")) for entry in entries]
    points = _points(entries, sample)
    with ThreadPoolExecutor(2) as pool, _ended_when_broken_off(first, second):
        for batch in _batches(points, texts):
            questions = [question for point in batch for question in _questions(point, texts, shared)]
            answers = _ask_both(pool, first, second, questions, file, comparison)
            if answers is not None and "messages/to_llm" in shared:
                _ask_both(pool, first, second, list(_conversions(questions, answers)), file, comparison)
            comparison.points += len(batch)
            on_point(comparison.points, len(points))
            if comparison.first or comparison.incomplete:
                break
    return comparison


@contextmanager
def _ended_when_broken_off(*sides: Implementation) -> Iterator[None]:
    """A thread that waits for an answer is waited for in its turn: after a signal there is none to wait for."""
    try:
        yield
    except BaseException:
        for side in sides:
            side.close()
        raise


def check_declared(sides: Mapping[str, Implementation], operations: Sequence[str]) -> None:
    """Raises `InvalidInput` when one of them does not declare what all are to be asked."""
    for place, side in sides.items():
        if missing := [name for name in operations if name not in side.description.operations]:
            raise InvalidInput(
                f"{side.description.label} does not declare {', '.join(missing)}, without which nothing is asked",
                where=place,
                remedy="serve and declare what is missing",
            )


def read_session(file: Path) -> bytes:
    """The bytes of a session file. Raises `InvalidInput` where a line is deeper than values can be compared here."""
    content = read_bytes(file)
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.count(b"[") + line.count(b"{") > _DEEPEST and _depth(line) > _DEEPEST:
            what = f"nested too deeply: values within more than {_DEEPEST} others are not compared"
            raise InvalidInput(what, where=f"{file}:{number}", remedy="flatten the value, or take the line out")
    return content


def _depth(line: bytes) -> int:
    """Of how many arrays and objects at once the line is within, texts aside."""
    marks = (match[0][:1] for match in _MARKS.finditer(line))
    return max(accumulate(1 if mark in b"[{" else -1 if mark in b"]}" else 0 for mark in marks), default=0)


def _parse(first: Implementation, second: Implementation, file: Path, comparison: Comparison) -> list[Any] | None:
    content = read_session(file)
    params = {"contentBase64": base64.b64encode(content).decode()}
    request = Request("session/parse", json.dumps(params))
    replies = [_parsed(call(implementation, request)) for implementation in (first, second)]
    comparison.answers += 1
    comparison.asked.add(request.method)
    if isinstance(replies[0], Error) and replies[0].kind == "not_a_session":
        raise InvalidInput("not a session file: its first line is no session header", where=str(file))
    for reply in replies:
        if isinstance(reply, NotRun):
            comparison.incomplete = reply.reason
            return None
    written = strings_of_params(params) if content else None
    views = [Result(_made_by_order(reply.value, written)) if isinstance(reply, Result) else reply for reply in replies]
    if difference := reply_difference(*views):
        comparison.first = Disagreement(file, None, request.method, "", request, difference)
        return None
    if not isinstance(replies[0], Result):
        comparison.incomplete = "neither parses it"
        return None
    entries: list[Any] = replies[0].value["entries"]
    return entries


def _points(entries: Sequence[Any], sample: int | None) -> list[Point]:
    """Every prefix, seen from its last entry, then every other leaf of the whole file."""
    ids = [entry.get("id") if isinstance(entry, dict) else None for entry in entries]
    parents = {json.dumps(entry.get("parentId")) for entry in entries if isinstance(entry, dict)}
    tips = [name for name in ids[:-1] if isinstance(name, str) and json.dumps(name) not in parents]
    lengths = range(len(entries) + 1)
    if sample is not None and len(lengths) > sample:
        notable = {
            index + step
            for index, entry in enumerate(entries)
            if isinstance(entry, dict) and entry.get("type") in ("compaction", "context_edit", "branch_summary")
            for step in (0, 1, 2)
        }
        even = {round(index * (len(entries) / max(sample - 1, 1))) for index in range(sample)}
        lengths_kept = sorted((even | set(sorted(notable)[:sample])) & set(lengths))
    else:
        lengths_kept = list(lengths)
    at_prefixes = [Point(length, ids[length - 1] if length else None) for length in lengths_kept]
    return at_prefixes + [Point(len(entries), tip) for tip in tips[: sample or len(tips)]]


def _batches(points: Sequence[Point], texts: Sequence[str]) -> Iterator[list[Point]]:
    """Points that are asked about at once: fewer where the session is large, for they are held in memory."""
    sizes = list(accumulate((len(text) for text in texts), initial=0))
    batch: list[Point] = []
    held = 0
    for point in points:
        if batch and (len(batch) == _BATCH or held + sizes[point.length] > _BATCH_SIZE):
            yield batch
            batch, held = [], 0
        batch.append(point)
        held += sizes[point.length]
    if batch:
        yield batch


def _questions(point: Point, texts: Sequence[str], shared: Iterable[str]) -> Iterator[_Question]:
    entries = f'"entries":[{",".join(texts[: point.length])}]'
    state = f'{entries},"leafId":{json.dumps(point.leaf_id)}'
    for operation in OF_STATE:
        if operation in shared:
            yield _Question(point, operation, state)
    if "compaction/prepare" in shared:
        for settings in SETTINGS:
            about = f"keepRecentTokens {settings['keepRecentTokens']}"
            yield _Question(point, "compaction/prepare", state, f',"settings":{json.dumps(settings)}', about)
    if "cut/find" in shared:
        for budget in CUT_BUDGETS:
            more = f',"startIndex":0,"endIndex":{point.length},"keepRecentTokens":{budget}'
            yield _Question(point, "cut/find", entries, more, f"keepRecentTokens {budget}")


def _conversions(questions: Sequence[_Question], answers: Sequence[Reply]) -> Iterator[_Question]:
    """The projected messages of the last round, to be turned into messages for the model."""
    for question, answer in zip(questions, answers, strict=True):
        if question.method == "projection/messages" and isinstance(answer, Result):
            messages = answer.value.get("messages") if isinstance(answer.value, dict) else None
            text = json.dumps(messages, separators=(",", ":"))
            yield _Question(question.point, "messages/to_llm", f'"messages":{text}')


def _ask_both(
    pool: ThreadPoolExecutor,
    first: Implementation,
    second: Implementation,
    questions: Sequence[_Question],
    file: Path,
    comparison: Comparison,
) -> list[Reply] | None:
    """The answers of the first, after they were found equal to those of the second; None when they were not."""
    left, right = _answers_of_both(pool, first, second, questions)
    for question, mine, theirs in zip(questions, left, right, strict=False):
        comparison.answers += 1
        comparison.asked.add(question.method)
        for reply in (mine, theirs):
            if isinstance(reply, NotRun):
                comparison.incomplete = reply.reason
                return None
        if difference := reply_difference(mine, theirs):
            comparison.first = Disagreement(
                file, question.point, question.method, question.about, question.request, difference
            )
            return None
    return left


def _answers_of_both(
    pool: ThreadPoolExecutor, first: Implementation, second: Implementation, questions: Sequence[_Question]
) -> tuple[list[Reply], list[Reply]]:
    """At once, where a process answers. What is in this process is asked in this thread, which alone can be stopped."""

    def begun(side: Implementation) -> Callable[[], list[Reply]]:
        requests = (question.request for question in questions)
        if isinstance(side, Stdio):
            return pool.submit(list[Reply], side.answers(requests)).result
        return lambda: _answers_here(side, requests)

    left, right = begun(first), begun(second)
    if isinstance(first, Stdio):  # it answers meanwhile
        theirs = right()
        return left(), theirs
    return left(), right()


def _answers_here(side: Implementation, requests: Iterable[Request]) -> list[Reply]:
    """Up to the first that is no answer: the comparison ends there, and each of the rest might take all its time."""
    replies: list[Reply] = []
    for reply in side.answers(requests):
        replies.append(reply)
        if isinstance(reply, Broken):
            break
    return replies


def _parsed(reply: Reply) -> Reply:
    """The reply, unless it is a result that the comparison cannot go on with. Damaged ids are none of that."""
    value = reply.value if isinstance(reply, Result) else {"header": {}, "entries": []}
    if isinstance(value, dict) and isinstance(value.get("header"), dict) and isinstance(value.get("entries"), list):
        return reply
    return Broken("schema_violation", "a result without a header and entries")


def reply_difference(mine: Reply, theirs: Reply) -> Difference | None:
    """Two refusals agree when their kinds do; what is no refusal (any other error, a broken process) agrees with
    nothing."""
    if isinstance(mine, Result) and isinstance(theirs, Result):
        if _canonical(mine.value) == _canonical(theirs.value):
            return None
        return first_difference(mine.value, theirs.value)
    if isinstance(mine, Error) and isinstance(theirs, Error):
        if mine.kind != theirs.kind:
            return Difference("/error/kind", mine.kind, theirs.kind)
        if mine.kind is not None:
            return None
    return Difference("", mine.shown(), theirs.shown())


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _made_by_order(parsed: Any, written: Set[str] | None) -> Any:
    """Ids that are none of the strings in the file were made while parsing: they become numbers in order of appearance.
    So was the whole header of an empty file (`None`): its members alone count."""
    names: dict[str, str] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, str) and value and value not in (written or ()):
            return names.setdefault(value, f"#{len(names)}")
        return value

    def entry(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return value | {key: renamed(value[key]) for key in _ID_MEMBERS if key in value}

    header = dict.fromkeys(parsed["header"]) if written is None else parsed["header"]
    leaf = {"leafId": renamed(parsed["leafId"])} if "leafId" in parsed else {}
    return {**parsed, "header": header, "entries": [entry(value) for value in parsed["entries"]], **leaf}
