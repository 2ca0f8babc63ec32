"""Expectations come from runs of the oracle: check that vector files say what it answers, or fill in what they lack."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Broken, Error, ExpectReading, NotRun, Reply, Result, read_expectation
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.json_files import read_json, write_text
from compaction_conformance.judge import TOO_DEEP, milliseconds_of, strings_of_params
from compaction_conformance.spec import Spec
from compaction_conformance.terminal import place, shown_apart
from compaction_conformance.vector_checks import check_shape, reading_flaws, refuse, rule_flaws
from compaction_conformance.vector_text import vector_file_text

_MADE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?")
_CONVERSATION = re.compile(r"<conversation>\n(.*?)\n</conversation>", re.DOTALL)


@dataclass(frozen=True)
class Attested:
    """`problems`: the vectors that say something else than the oracle, one line each; `filled`: the ids of those that
    were written anew; `left`: what the oracle cannot know of those, one line each."""

    problems: tuple[str, ...]
    filled: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def attest_file(path: Path, oracle: Implementation, spec: Spec, *, fill: bool = False) -> Attested:
    """SHOULD vectors are not held against the oracle, nor those of an optional feature that it does not have.

    With `fill`, a vector without `expect` gets the oracle's answer (of a QUIRK as its first reading), one of the
    oracle's without `evidence` its name, and the file is written anew. Raises `InvalidInput` for what is no vector,
    and for an answer that cannot be an expectation.
    """
    data = read_json(path)
    observed = {"grade": "observed", "source": oracle.description.label}
    _check(path, data, spec, observed if fill else None)
    features = {None, *oracle.description.features}
    known = [raw for raw in data["vectors"] if raw.get("feature") in features]
    raws = [raw for raw in known if fill or _level(raw, spec) != "SHOULD"]
    requests = [Request(raw["operation"], json.dumps(raw["params"]), raw.get("timeLimit")) for raw in raws]
    problems: list[str] = []
    filled: list[str] = []
    left: list[str] = []
    for raw, reply in zip(raws, oracle.answers(requests), strict=True):
        before = set(raw)
        if "expect" not in raw and fill and isinstance(reply, (Result, Error)):
            raw["expect"] = _filled(path, raw, reply, spec)
            left += [f"{path}: {raw['id']}: {rest}" for rest in _left(raw, spec)]
        found = [f"{path}: {raw['id']}: {problem}" for problem in _problems(raw, data["vectors"], reply, spec)]
        if not found:
            raw.setdefault("evidence", observed)
        problems += found
        filled += [raw["id"]] * (set(raw) != before)
    if filled:
        write_text(path, vector_file_text(data["chapter"], data["vectors"]))
    return Attested(tuple(problems), tuple(filled), tuple(left))


def _check(path: Path, data: Any, spec: Spec, evidence: Any) -> None:
    """Raises `InvalidInput` for the first flaw but that expectations are missing, or the evidence that is given."""
    whole = _as_if_filled(data, spec, evidence)
    check_shape(path, whole)
    for raw in whole["vectors"]:
        refuse(path, raw["id"], rule_flaws(raw, spec))


def _filled(path: Path, raw: dict[str, Any], reply: Result | Error, spec: Spec) -> dict[str, Any]:
    expect = _expected(reply, raw["params"])
    if expect is None:
        what, where = "the oracle's answer is nested too deeply to be expected", f"{path}: {raw['id']}"
        remedy = 'make the input flatter, or expect {"answer": "any"}'
        raise InvalidInput(what, where=where, remedy=remedy)
    readings = [*spec.requirements[raw["requirements"][0]].readings]
    return {"readings": [{"reading": readings[0], **expect}]} if readings else expect


def _expected(reply: Result | Error, params: Any) -> dict[str, Any] | None:
    """None where it is nested too deeply to be made, or to be compared."""
    try:
        expect = expectation_from(reply, params)
    except RecursionError:
        return None
    difference = read_expectation(expect).judge(reply, params).difference
    return None if difference is not None and difference.note == TOO_DEEP else expect


def _left(raw: dict[str, Any], spec: Spec) -> Iterator[str]:
    """The readings of a QUIRK that are nobody's answer yet."""
    rule = spec.requirements[raw["requirements"][0]]
    if others := [*rule.readings][1:]:
        yield f"add the other readings of {rule.id}: {', '.join(others)}"


def expectation_from(reply: Result | Error, params: Any) -> dict[str, Any]:
    """What was observed, as an `expect` member: ids and times that the oracle made become placeholders."""
    if isinstance(reply, Error):
        return {"error": {"kind": reply.kind or "malformed_input"}}
    made = _Made(params)
    value = reply.value
    if isinstance(value, dict) and value.keys() == {"content"} and isinstance(value["content"], str):
        return {"result": {"content": {"$lines": [made.line(line) for line in value["content"].split("\n")]}}}
    placed = made.placed(value)
    if isinstance(placed, dict) and isinstance(placed.get("requests"), list):
        placed["requests"] = [_asked(request) for request in placed["requests"]]
        _free_words(placed.get("outcome"))
    return {"result": placed}


def _asked(request: Any) -> Any:
    """A summary request without the words that are free: the system prompt, and all but the conversation."""
    if not isinstance(request, dict) or not isinstance(request.get("prompt"), str):
        return request
    conversation = _CONVERSATION.search(request["prompt"])
    free: dict[str, Any] = {"system": {"$text": {}}} if "system" in request else {}
    return {**request, **free, "prompt": {"$text": {"holds": [conversation[1]]} if conversation else {}}}


def _free_words(outcome: Any) -> None:
    """Free are the words in which a failure is told, where the model did not say them, and the first paragraph of a
    branch's summary, which stands before the model's."""
    match outcome:
        case {"error": {"kind": kind, "message": str()} as error} if kind != "thrown":
            error["message"] = {"$text": {}}
        case {"branchSummary": {"summary": str(text)} as stored} if "\n\n" in text:
            stored["summary"] = {"$text": {"ends": text[text.index("\n\n") :]}}


def _as_if_filled(data: Any, spec: Spec, evidence: Any) -> Any:
    """The file with an expectation where there is none yet; with evidence, too, where the oracle can be it."""
    vectors = data.get("vectors") if isinstance(data, dict) else None
    if not isinstance(vectors, list):
        return data
    filled = [{"expect": {"answer": "any"}, **raw} if isinstance(raw, dict) else raw for raw in vectors]
    for raw in filled:
        if evidence and isinstance(raw, dict) and _level(raw, spec) != "SHOULD":
            raw.setdefault("evidence", evidence)
    return {**data, "vectors": filled}


def _level(raw: dict[str, Any], spec: Spec) -> str:
    names = raw.get("requirements")
    rule = spec.requirements.get(names[0]) if isinstance(names, list) and names and isinstance(names[0], str) else None
    return rule.level if rule else "MUST"


def _problems(raw: dict[str, Any], beside: Sequence[dict[str, Any]], reply: Reply, spec: Spec) -> Iterator[str]:
    if "expect" not in raw:
        yield "has no expectation (fill it with --fill)"
        return
    yield from (f"{flaw.pointer}: {flaw.what}" for flaw in reading_flaws(raw, beside, spec))
    expect = read_expectation(raw["expect"])
    if isinstance(reply, NotRun):
        yield reply.reason
    elif isinstance(reply, Broken):
        yield f"{reply.failure}, {reply.detail}"
    elif _level(raw, spec) != "SHOULD":
        verdict = expect.judge(reply, raw["params"])
        if not verdict.met and verdict.difference is not None:
            found = verdict.difference
            want, got = shown_apart(found.want, found.got)
            yield f"{verdict.failure} at {place(found)}: expected {want}, it answers {got}"
        elif isinstance(expect, ExpectReading) and verdict.reading != expect.readings[0][0]:
            yield f"the oracle takes the reading {verdict.reading}, which has to stand first"


class _Made:
    """Finds what the oracle made up: new ids, new times, and milliseconds that are one of those times.

    A time is the same in all of an entry; in two entries it is the same by chance, made in one millisecond."""

    def __init__(self, params: Any) -> None:
        self._known = strings_of_params(params)
        self._ids: dict[str, str] = {}
        self._times: dict[str, str] = {}  # of the entry that is being looked at
        self._milliseconds: dict[int, str] = {}
        self._made_times = 0

    def line(self, line: str) -> Any:
        """A line of a file: as it is where the oracle left it alone, an object where it wrote it."""
        try:
            value = json.loads(line)
            placed = self.placed(value)
        except (ValueError, RecursionError):
            return line
        return placed if isinstance(value, dict) and placed != value else line

    def placed(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self.placed(item) for item in value]
        if isinstance(value, str):
            return self._text(value)
        if type(value) is int and value in self._milliseconds:
            return self._milliseconds[value]
        return value

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        within = bool(self._times)
        for item in value.values():
            self._note_time(item)
        try:
            return {key: self._member(key, item) for key, item in value.items()}
        finally:
            if not within:
                self._times.clear()
                self._milliseconds.clear()

    def _member(self, name: str, value: Any) -> Any:
        """The working folder that a new header names is that of the process."""
        if name == "cwd" and isinstance(value, str) and value not in self._known:
            return self._id(value)
        return self.placed(value)

    def _note_time(self, text: Any) -> None:
        instant = milliseconds_of(text)
        if instant is not None and text not in self._known and text not in self._times:
            self._made_times += 1
            self._times[text] = f"<time:{self._made_times}>"
            self._milliseconds[instant] = f"<ms:{self._made_times}>"

    def _text(self, text: str) -> str:
        if text in self._known:
            return text
        if text in self._times:
            return self._times[text]
        if _MADE_ID.fullmatch(text):
            return self._id(text)
        return text

    def _id(self, text: str) -> str:
        return self._ids.setdefault(text, f"<id:{len(self._ids) + 1}>")
