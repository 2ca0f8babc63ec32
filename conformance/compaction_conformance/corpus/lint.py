"""Is this folder a sound overflow corpus? Every problem says where (file and line), what is wrong and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from compaction_conformance import schemas
from compaction_conformance.corpus import personal
from compaction_conformance.corpus.cases import Case, case_files, parsed_case_file, read_case
from compaction_conformance.corpus.response_rules import RECORDED, rules_of
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_bytes, read_text
from compaction_conformance.json_places import line_of
from compaction_conformance.schema_words import printable

_SCHEMA = "overflow-case-file"
_QUOTED = ("verbatim", "message-verbatim")
_DIGITS = re.compile(r"[0-9][0-9,.]*")
_WHOLE_DAY = len("2026-02-28")
_SPACE = re.compile(r"\s+")

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the corpus. `case_id` is empty where it concerns a whole file."""

    severity: Severity
    code: str
    file: Path
    line: int
    case_id: str
    message: str
    remedy: str

    def __str__(self) -> str:
        about = f"{self.case_id}: " if self.case_id else ""
        place = f"{printable(str(self.file))}:{self.line}"
        return f"{place}: {self.severity}: {about}{self.message} [{self.code}]\n  → {self.remedy}"


@dataclass(frozen=True)
class _Placed:
    """A case with its place in a file, and the file's text to find lines in."""

    case: Case
    raw: Mapping[str, Any]
    index: int
    text: str

    def problem(self, code: str, message: str, remedy: str, *at: str | int, severity: Severity = "error") -> Problem:
        line = line_of(self.text, ["cases", self.index, *at])
        return Problem(severity, code, self.case.file, line, self.case.id, message, remedy)


def lint_corpus(folder: Path) -> list[Problem]:
    """Everything that is wrong with the case files of a folder, in the order of files and lines."""
    try:
        files = case_files(folder)
    except InvalidInput as error:
        return [Problem("error", "unreadable", folder, 1, "", error.what, error.remedy)]
    problems: list[Problem] = []
    placed: list[_Placed] = []
    for path in files:
        found, cases = _read(path)
        problems += found
        placed += cases
    problems += _duplicates(placed)
    for one in placed:
        problems += _of_one(one)
    return sorted(problems, key=lambda problem: (problem.file, problem.line, problem.code))


def lint_case(raw: Mapping[str, Any], family: str, file: Path, others: Iterable[Case]) -> list[Problem]:
    """What is wrong with one case that is to be added to a file, beside the cases that are there. Lines are 1."""
    if error := schemas.first_error(_SCHEMA, {"family": family, "cases": [raw]}):
        return [Problem("error", "schema", file, 1, str(raw.get("id", "")), str(error), _SHAPE)]
    try:
        new = _Placed(read_case(raw, family, file), raw, 0, "")
    except InvalidInput as trouble:
        return [Problem("error", "bytes", file, 1, str(raw["id"]), trouble.what, trouble.remedy)]
    known = [_Placed(case, {}, 0, "") for case in others]
    return [*_duplicates([*known, new]), *_of_one(new)]


_SHAPE = "fixtures/overflow/README.md tells the shape of a case"


def _of_one(one: _Placed) -> list[Problem]:
    """What is wrong with a case by itself."""
    return [*_evidence(one), *_rules(one), *_details(one), *_response(one)]


def _read(path: Path) -> tuple[list[Problem], list[_Placed]]:
    try:
        value = parsed_case_file(path)
        text = read_text(path)
    except InvalidInput as error:
        return [Problem("error", "unreadable", path, 1, "", error.what, error.remedy or _SHAPE)], []
    if breach := schemas.first_error(_SCHEMA, value):
        parts = _path(breach.pointer, value)
        return [Problem("error", "schema", path, line_of(text, parts), _id_at(value, parts), str(breach), _SHAPE)], []
    problems = []
    if value["family"] != path.stem:
        line = line_of(text, ["family"])
        remedy = "give the family the file's name, or rename the file"
        problems.append(Problem("error", "family", path, line, "", f"the family is {value['family']!r}", remedy))
    problems += _undescribed(path)
    placed = []
    for index, raw in enumerate(value["cases"]):
        try:
            placed.append(_Placed(read_case(raw, value["family"], path), raw, index, text))
        except InvalidInput as error:
            line = line_of(text, ["cases", index, "response"])
            problems.append(Problem("error", "bytes", path, line, raw["id"], error.what, error.remedy))
    return problems, placed


def _undescribed(path: Path) -> Iterator[Problem]:
    """A page beside the files names every one of them."""
    page = path.with_name("README.md")
    if page.is_file() and f"`{path.name}`" not in read_bytes(page).decode("utf-8", "replace"):
        remedy = f"add a row to its table of files: | `{path.name}` | who answers so |"
        yield Problem("warning", "undescribed", path, 1, "", f"is not named in {page.name} beside it", remedy)


def _duplicates(placed: Iterable[_Placed]) -> Iterator[Problem]:
    ids: dict[str, _Placed] = {}
    exact: dict[object, _Placed] = {}
    alike: dict[object, _Placed] = {}
    for one in placed:
        case, response = one.case, one.case.response
        first = ids.setdefault(case.id, one)
        if first is not one:
            yield one.problem("id", f"the id is used in {first.case.file.name} already", "give it another id", "id")
        asked = (case.api, case.provider_id, case.context_window, response.status)
        first = exact.setdefault((asked, response.headers, response.chunks, response.end), one)
        if first is not one:
            yield one.problem("duplicate", f"is the same response as {first.case.id}", "keep one of them", "response")
            continue
        text = _masked(response.text)
        if not text or response.status == 200:  # the numbers of a reply are its usage
            continue
        first = alike.setdefault((asked, case.label, response.end, text), one)
        if first is not one:
            message = f"differs from {first.case.id} in numbers alone"
            remedy = "keep one of them, unless the numbers decide the label"
            yield one.problem("duplicate-message", message, remedy, "response", severity="warning")


def _masked(text: str) -> str:
    """The text without what two reports of one message differ in: case, white space and numbers."""
    return _SPACE.sub(" ", _DIGITS.sub("0", text.lower())).strip()


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _evidence(one: _Placed) -> Iterator[Problem]:
    evidence = one.case.evidence
    if len(evidence.seen) == _WHOLE_DAY and not _is_day(evidence.seen):
        yield one.problem("evidence", f"was seen on {evidence.seen}, which is no day", "give the day", "evidence")
    if evidence.grade in _QUOTED and evidence.source == "ours":
        remedy = "name the web page where it was seen, or call it reconstructed"
        yield one.problem("evidence", f"is {evidence.grade} without a source", remedy, "evidence")
    if evidence.grade == "synthetic" and evidence.source != "ours":
        remedy = 'a made-up response has the source "ours"; one that was seen has another grade'
        yield one.problem("evidence", "is synthetic and has a source", remedy, "evidence")
    if RECORDED not in one.case.answers:
        remedy = "record it: compaction-conformance overflow record --write"
        yield one.problem("answers", f"has no recorded answer of {RECORDED}", remedy, severity="warning")


def _rules(one: _Placed) -> Iterator[Problem]:
    """The rules are those that style, shape and recorded answer give; without an answer they are not known yet."""
    if RECORDED not in one.case.answers:
        return
    rules = rules_of(one.case)
    if not rules:
        remedy = "add the rule to spec/16-provider-responses.md, and to corpus/response_rules.py how it is told"
        yield one.problem("requirements", "is a response that no rule is about", remedy, "response")
    elif one.case.requirements != rules:
        named = ", ".join(one.case.requirements) or "no rule"
        remedy = f'write "requirements": {json.dumps(rules)}; compaction-conformance overflow record --write does'
        yield one.problem("requirements", f"names {named}, and is about {', '.join(rules)}", remedy)


def _details(one: _Placed) -> Iterator[Problem]:
    """Secrets and personal details, in the bytes of the response as well as in the words about it."""
    case = one.case
    texts = [*_strings(one.raw), (("response",), case.response.text)]
    seen: set[tuple[str, str]] = set()
    for at, text in texts:
        for detail in personal.find(text):
            if (detail.kind, detail.hint) not in seen:
                seen.add((detail.kind, detail.hint))
                message = f"holds what looks like a {detail.kind}: {printable(detail.hint)}"
                yield one.problem("personal", message, "put a placeholder in its place", *at)


def _strings(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text within a case but coded bytes, which are looked at decoded."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in ("bodyBase64", "base64"):
                yield from _strings(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, (*at, index))


def _response(one: _Placed) -> Iterator[Problem]:
    response = one.case.response
    if response.body and "content-type" not in dict(response.headers):
        remedy = "add the content-type header that the provider sends; some clients read it"
        yield one.problem("headers", "has a body and no content-type", remedy, "response")
    if one.case.kind in ("silent", "length-stop") and one.case.context_window is None:
        remedy = "add contextWindow: no verdict is possible without it"
        yield one.problem("window", f"is of class {one.case.kind} and has no window", remedy)


def _path(pointer: str, value: Any) -> list[str | int]:
    """A JSON Pointer as keys and indices."""
    path: list[str | int] = []
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        path.append(int(key) if isinstance(value, list) and key.isdigit() else key)
        try:
            value = value[path[-1]]
        except (LookupError, TypeError):
            value = None
    return path


def _id_at(value: Any, path: list[str | int]) -> str:
    try:
        return printable(str(value["cases"][path[1]]["id"]))[:80]
    except (LookupError, TypeError):
        return ""
