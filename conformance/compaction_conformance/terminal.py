"""What a person reads of one failure. Values are hostile and are shown escaped."""

from __future__ import annotations

import io
import json
import shlex
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compaction_conformance.expectation import Broken, Expectation, ExpectReading, ExpectRefusal
from compaction_conformance.judge import NOTHING, Difference
from compaction_conformance.run import Outcome
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.session_words import session_words, text_of_bytes

_VALUE_WIDTH = 200
_LOOKED_AT = 1_000_000  # characters of a value as JSON, of which some are shown
_WORDS_WIDTH = 1_000  # of what an implementation says in its own words
_COMMAND_WIDTH = 4_000
_BEFORE = 40  # characters that are shown before a difference far down a long value
_READINGS = 4
_FILLERS = "\u115f\u1160\u3164\uffa0"  # letters of Hangul that are blank
_NAME_WIDTH = 40
_INPUT_ITEMS = 12
_CALLS = 6
OF_SESSIONS = ("SWEEP-", "VARIANT-")  # what is asked with `--sweeps` alone


def failure_block(
    outcome: Outcome, label: str, implementation: str, repro: Path | None, options: Sequence[str] = ()
) -> str:
    """Everything needed to understand and repeat one failure. `options` are the arguments that the repetition needs
    beside the implementation and the vector's id."""
    vector, verdict = outcome.vector, outcome.verdict
    rule = vector.requirement
    word = "ADVICE" if rule.level == "SHOULD" else "FAIL"
    lines = [f"{word} {vector.id} · {rule.id} {rule.title} · {brief(label)} ({verdict.failure})"]
    rows = [("about", vector.description), ("asks", vector.operation), ("rule", rule.sentence)]
    difference = verdict.difference
    if difference is not None and not isinstance(outcome.reply, Broken):
        want, got = shown_apart(difference.want, difference.got)
        rows += [("at", place(difference)), ("want", want), ("got", got)]
        rows += [("or", text) for text in _other_readings(vector.expect)]
    if difference is not None and difference.note:
        rows += [("note", brief(difference.note, _WORDS_WIDTH))]
    rows += [("input", describe_input(vector.params))]
    rows += [("again", again(implementation, vector.id, options))]
    if repro is not None:
        rows += [("repro", str(repro))]
    if outcome.log.strip():
        rows += [("log", brief(line, _WORDS_WIDTH)) for line in outcome.log.strip().splitlines()[-6:]]
    return "\n".join([*map(printable, lines), *(f"  {name:<6} {printable(text)}" for name, text in rows)])


def again(implementation: str, name: str, options: Sequence[str] = ()) -> str:
    """The command line that asks for one vector, sweep or variant; cut where nobody could type it again."""
    sweeps = ["--sweeps"] if name.startswith(OF_SESSIONS) else []
    command = ["compaction-conformance", "run", "--implementation", implementation, *options, *sweeps, "--only", name]
    return brief(shlex.join(command), _COMMAND_WIDTH)


def shown(value: Any) -> str:
    """A value as one short line of JSON, escaped for a terminal."""
    if value is NOTHING:
        return "nothing"
    try:
        text = _beginning(value)
    except RecursionError:
        return "a value that is nested too deeply to be shown"
    return printable(text[:_VALUE_WIDTH]) + _rest(text, 0)


def _beginning(value: Any, *, in_ascii: bool = False) -> str:
    """The value as JSON, or as much of it as is looked at: all of it may be many times what is shown."""
    encoder = json.JSONEncoder(ensure_ascii=in_ascii, default=repr)
    text = io.StringIO()
    for piece in encoder.iterencode(value[: _LOOKED_AT + 1] if isinstance(value, str) else value):
        text.write(piece[: _LOOKED_AT + 1])
        if text.tell() > _LOOKED_AT:
            break
    return text.getvalue()


def _rest(text: str, start: int) -> str:
    """How much there is beyond what is shown."""
    if len(text) <= start + _VALUE_WIDTH:
        return ""
    return f"… ({len(text)} characters)" if len(text) <= _LOOKED_AT else f"… (more than {_LOOKED_AT} characters)"


def shown_apart(want: Any, got: Any) -> tuple[str, str]:
    """Two values that differ, as `shown`; where that could not be seen, from the first difference on, in ASCII."""
    texts = shown(want), shown(got)
    if _skeleton(texts[0]) != _skeleton(texts[1]) or NOTHING in (want, got):
        return texts
    try:
        plain = [_beginning(value, in_ascii=True) for value in (want, got)]
    except RecursionError:
        return texts
    start = _alike(*plain) - _BEFORE if max(map(len, plain)) > _VALUE_WIDTH else 0
    first, second = (_cut(text, max(start, 0)) for text in plain)
    return first, second


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut(text: str, start: int) -> str:
    return f"{'…' if start else ''}{text[start : start + _VALUE_WIDTH]}{_rest(text, start)}"


def _skeleton(text: str) -> str:
    """What a person sees of a text: letters without their marks, and nothing that leaves no ink."""
    seen = unicodedata.normalize("NFKD", text)
    return "".join(char for char in seen if unicodedata.category(char)[0] not in "MCZ" and char not in _FILLERS)


def place(difference: Difference) -> str:
    """Where it is; in ASCII where a name is not the one that is looked for, which may look like it."""
    pointer = brief(difference.pointer, _VALUE_WIDTH)
    if NOTHING in (difference.want, difference.got):
        pointer = pointer.encode("ascii", "backslashreplace").decode()
    return pointer or "the whole answer"


def expected(expect: Expectation) -> str:
    """What is accepted, of a vector or of one reading of it."""
    if isinstance(expect, ExpectRefusal):
        return shown({"error": {"kind": expect.kind}})
    members = shown(getattr(expect, "value", None))
    held = getattr(expect, "holds", "")
    return f"{members} and an error text that holds {shown(held)}" if held else members


def _other_readings(expect: Expectation) -> list[str]:
    """The readings that are accepted beside the first one, each as a whole answer."""
    others = expect.readings[1:] if isinstance(expect, ExpectReading) else ()
    told = [f"{name}: {expected(one)}" for name, one in others[:_READINGS]]
    return told + [f"… {len(others) - _READINGS} more readings"] * (len(others) > _READINGS)


def describe_input(params: Any) -> str:
    """The params in one line; entries and messages by id, type and role, and so the lines of a session file."""
    if not isinstance(params, dict):
        return shown(params)
    return printable("  ".join(_describe_param(name, value) for name, value in params.items()))


def _describe_param(name: str, value: Any) -> str:
    if name in ("entries", "messages") and isinstance(value, list):
        return _describe_items(value) or f"no {name}"
    if name == "drafts" and isinstance(value, list):
        return f"drafts: {_describe_items(value) or 'none'}"
    text = value if name == "content" else text_of_bytes(value) if name == "contentBase64" else None
    return f"{name}={shown(value)}" if not isinstance(text, str) else f"{name}: {session_words(text, _describe_item)}"


def _describe_items(values: list[Any]) -> str:
    items = [_describe_item(item) for item in values[:_INPUT_ITEMS]]
    more = [f"… {len(values) - _INPUT_ITEMS} more"] * (len(values) > _INPUT_ITEMS)
    return " · ".join(items + more)


def _describe_item(item: Any) -> str:
    if not isinstance(item, dict):
        return shown(item)
    kind = item.get("type") or item.get("role") or item.get("kind") or "?"
    if kind == "message" and isinstance(item.get("message"), dict):
        kind = item["message"].get("role", "?")
    if kind == "session" and "version" in item:
        kind = f"session {shown(item['version'])}"
    text = f"{_name(item['id'])} {_name(kind)}" if "id" in item else _name(kind)
    text += _describe_calls(item["message"] if isinstance(item.get("message"), dict) else item)
    target = item.get("firstKeptEntryId") or item.get("targetId")
    return f"{text}→{_name(target)}" if target else text


def _describe_calls(message: dict[str, Any]) -> str:
    """The tool calls of a message, each with the path that it is about: `(read a.txt, bash)`."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = [block for block in blocks if block.get("type") == "toolCall"]
    told = [_describe_call(call) for call in calls[:_CALLS]]
    more = [f"… {len(calls) - _CALLS} more"] * (len(calls) > _CALLS)
    return f" ({', '.join(told + more)})" if told else ""


def _describe_call(call: dict[str, Any]) -> str:
    arguments = call.get("arguments")
    path = arguments.get("path") if isinstance(arguments, dict) else None
    name = _name(call.get("name", "?"))
    return name if path is None else f"{name} {_name(path)}"


def _name(value: Any) -> str:
    """An id, a type or a role; in a damaged session it can be anything."""
    text = value if isinstance(value, str) else shown(value)
    return text if len(text) <= _NAME_WIDTH else f"{text[:_NAME_WIDTH]}…"
