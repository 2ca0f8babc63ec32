"""The golden document of a session: what an implementation answers about it at its leaves, as readable JSON.

The expected documents in `fixtures/golden/` are written from a run of the oracle; `fixtures/golden/README.md` describes
their shape. Messages that stand in an entry unchanged are written as `{"entry": ID}`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Reply, Result
from compaction_conformance.golden.canonical import canonical
from compaction_conformance.golden.leeway import open_rule
from compaction_conformance.golden.questions import (
    MESSAGES,
    Material,
    Point,
    Question,
    all_questions,
    request_of_file,
    request_of_messages,
)
from compaction_conformance.golden.sessions import (
    GoldenSession,
    entries_of,
    leaves_of,
    lines_of,
    listed_entries,
    numbered_ids,
)
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import Difference, first_difference

# The names that answers have in a document, in its order.
_NAMES = {
    "projection/settings": "settings",
    "projection/sources": "sources",
    "projection/messages": "messages",
    "messages/to_llm": "llmMessages",
    "system/current": "system",
    "tokens/of_projection": "tokens",
    "tokens/context_usage": "contextUsage",
    "cut/find": "cuts",
    "compaction/prepare": "preparations",
}
_MESSAGE_LISTS = ("messages", "messagesToSummarize", "turnPrefixMessages")
OPEN = "open"


def missing_operations(side: Implementation) -> list[str]:
    """What a document needs and the implementation does not declare."""
    return sorted({"session/parse", *_NAMES} - side.description.operations)


def document(side: Implementation, session: GoldenSession, *, mark: bool = False) -> dict[str, Any]:
    """What the implementation answers. `mark` finds the answers that the rules leave open; for the oracle's alone."""
    questions = all_questions()
    parse = next(question for question in questions if question.operation == "session/parse")
    reply = call(side, request_of_file(parse, session.content))
    head = {"session": session.id, "edition": "pi-0.87", "source": side.description.label}
    if not isinstance(reply, Result) or schemas.first_error(schemas.result_schema(parse.operation), reply.value):
        return {**head, "parse": reply.shown(), "leaves": []}
    parsed = numbered_ids(reply.value, session.content)
    material = Material(parsed["entries"])
    leaves = [Point(len(material.entries), leaf) for leaf in leaves_of(material.entries)] or [Point(0, None)]
    return {
        **head,
        "parse": _parse_shown(parsed, session.content),
        "leaves": [_leaf(side, point, material, mark=mark) for point in leaves],
    }


def _parse_shown(parsed: Any, content: bytes) -> dict[str, Any]:
    header = parsed["header"]
    lines = lines_of(content)
    number = next(
        (index + 1 for index, line in enumerate(lines) if line is not None and canonical(line) == canonical(header)),
        None,
    )
    return {
        **parsed,
        "header": header if number is None else {"lines": [number, number]},
        "entries": listed_entries(parsed["entries"], content),
    }


def _leaf(side: Implementation, point: Point, material: Material, *, mark: bool) -> dict[str, Any]:
    shorten = _shortener(material.entries)
    answers: dict[str, Any] = {}

    def add(question: Question, request: Request, reply: Reply) -> None:
        shown: dict[str, Any] = {**question.more, **_shown(reply, shorten)}
        rule = open_rule(question, request, reply, point, material, lambda asked: call(side, asked)) if mark else ""
        if rule:
            shown[OPEN] = rule
        name = _NAMES[question.operation]
        if question.more:
            answers.setdefault(name, []).append(shown)
        else:
            answers[name] = shown

    questions = [question for question in all_questions() if question.operation in _NAMES]
    projected: Any = []
    for question, request in material.requests(point, questions):
        reply = call(side, request)
        add(question, request, reply)
        if question.operation == "projection/messages" and isinstance(reply, Result) and isinstance(reply.value, dict):
            projected = reply.value.get("messages", [])
    for question in questions:
        if question.takes == MESSAGES:
            request = request_of_messages(question, projected)
            add(question, request, call(side, request))
    return {"leafId": point.leaf_id, **{name: answers[name] for name in _NAMES.values()}}


def _shortener(entries: Sequence[Any]) -> Callable[[Any], Any]:
    """Writes a message that is an entry's own as a reference to that entry."""
    known: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("message"), dict):
            known.setdefault(canonical(entry["message"]), entry["id"])
    last = {entry["id"]: entry for entry in entries if isinstance(entry, dict) and "id" in entry}

    def shortened(message: Any) -> Any:
        name = known.get(canonical(message))
        if name is None or canonical(last[name].get("message")) != canonical(message):
            return message
        return {"entry": name}

    return shortened


def _shown(reply: Reply, shorten: Callable[[Any], Any]) -> dict[str, Any]:
    """The members of an answer, with its messages shortened; a refusal by its kind."""
    if not isinstance(reply, Result):
        shown = reply.shown()
        return {"error": {"kind": shown["error"]["kind"]}} if "error" in shown else shown
    if not isinstance(reply.value, dict):
        return {"result": reply.value}
    value = copy.copy(reply.value)
    if isinstance(value.get("preparation"), dict):
        value["preparation"] = _with_short_messages(value["preparation"], shorten)
    return _with_short_messages(value, shorten)


def _with_short_messages(value: dict[str, Any], shorten: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        name: [shorten(message) for message in item] if name in _MESSAGE_LISTS and isinstance(item, list) else item
        for name, item in value.items()
    }


# ---- comparing -------------------------------------------------------------------------------------------------------


def document_difference(want: Any, got: Any) -> Difference | None:
    """The first difference. What the expected document leaves open is taken as answered, and the source as well."""
    return first_difference(_settled({**want, "source": ""}, want), _settled({**got, "source": ""}, want))


def _settled(value: Any, want: Any) -> Any:
    """`value` without what need not be equal; `want` is the expected document's part at the same place."""
    if isinstance(want, dict) and OPEN in want:
        return {OPEN: want[OPEN]}
    if isinstance(want, dict) and isinstance(value, dict):
        return {name: _settled(item, want.get(name)) for name, item in value.items()}
    if isinstance(want, list) and isinstance(value, list):
        return [_settled(item, want[index] if index < len(want) else None) for index, item in enumerate(value)]
    return value


# ---- text ------------------------------------------------------------------------------------------------------------


def document_text(value: Any) -> str:
    """A document as it is stored: long lists an element a line, long objects a member a line, ASCII escapes for what
    cannot be written in UTF-8."""
    return _text(value, 0) + "\n"


def _text(value: Any, depth: int) -> str:
    line = _line(value)
    if len(line) <= 120 - 2 * depth or depth > 8 or not isinstance(value, (dict, list)):
        return line
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        if "role" in value:
            return line
        return (
            "{"
            + ",".join(f"{pad}{_line(name)}: {_text(item, depth + 1)}" for name, item in value.items())
            + f"\n{' ' * depth}}}"
        )
    return "[" + ",".join(pad + _text(item, depth + 1) for item in value) + f"\n{' ' * depth}]"


def _line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value)
    return text


def check_entries(session: GoldenSession) -> None:
    """Raises `InvalidInput` when a golden document names lines that its session does not have."""
    count = len(lines_of(session.content))
    for item in session.golden["parse"].get("entries", []):
        if (
            isinstance(item, dict)
            and item.keys() == {"lines"}
            and not 1 <= item["lines"][0] <= item["lines"][1] <= count
        ):
            raise InvalidInput(f"names the lines {item['lines']} of {count}", where=str(session.golden_file))
    if any(entry is None for entry in entries_of(session.golden["parse"].get("entries", []), session.content)):
        raise InvalidInput("names a line that holds no value", where=str(session.golden_file))
