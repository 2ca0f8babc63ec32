"""Is this a sound session file? One pass over the lines, then a look at the tree that they make."""

from __future__ import annotations

from typing import Any, BinaryIO

from compaction_conformance import schemas
from compaction_conformance.findings import MAX_LINE_BYTES, Findings
from compaction_conformance.guarded_json import JsonError, Line, Parsed, parse, read_lines
from compaction_conformance.schema_words import kind_of, shown
from compaction_conformance.session_structure import SessionStructure

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KEYS_TOLD = 3


def check_session(stream: BinaryIO, findings: Findings) -> int:
    """Report what is wrong, and answer how many lines there are."""
    return _SessionCheck(findings).run(stream)


class _SessionCheck:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._strict = findings.strictness == "strict"
        self._structure = SessionStructure()
        self._header: dict[str, Any] | None = None
        self._started = False

    def run(self, stream: BinaryIO) -> int:
        line: Line | None = None
        torn = False
        for line in read_lines(stream, MAX_LINE_BYTES):
            parsed = self._parsed(line)
            torn = parsed is None and not line.ended
            if parsed is not None:
                self._check_value(line.number, parsed.value)
        if line is None:
            self._findings.add("empty-file", "the file is empty")
            return 0
        if not line.ended and not torn:
            self._findings.add("no-newline", "the last line does not end with a line feed", line.number)
        if not self._started:
            self._findings.add("no-header", "the file holds no session header")
        if self._has_ids():
            self._check_structure()
        return line.number

    def _parsed(self, line: Line) -> Parsed | None:
        """The line's value, unless it holds none or cannot be read."""
        if line.too_long:
            self._findings.add("line-too-long", f"the line is {line.size} bytes long", line.number)
            return None
        text = self._decoded(line)
        if not text.strip():
            self._findings.add("blank-line", "the line is blank", line.number)
            return None
        try:
            parsed = parse(text)
        except JsonError as problem:
            code = "too-deep" if problem.too_deep else "not-json" if line.ended else "torn-line"
            what = "the line cannot be read" if problem.too_deep else "the line is no JSON"
            self._findings.add(code, f"{what}: {problem.reason}", line.number, problem.column)
            return None
        for key in parsed.repeated_keys[:_KEYS_TOLD]:
            self._findings.add("duplicate-key", f"an object has the key {shown(key)} more than once", line.number)
        return parsed

    def _decoded(self, line: Line) -> str:
        data = line.data
        if line.number == 1 and data.startswith(_BYTE_ORDER_MARK):
            self._findings.add("byte-order-mark", "the file begins with a byte order mark", 1, 1)
            data = data.removeprefix(_BYTE_ORDER_MARK)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            self._findings.add("not-utf8", f"byte {error.start + 1} of the line is no UTF-8", line.number)
            return data.decode("utf-8", "replace")

    def _check_value(self, number: int, value: Any) -> None:
        header = isinstance(value, dict) and value.get("type") == "session"
        if self._started and header:
            self._findings.add("second-header", "this is a session header again", number)
        elif self._started or _skipped(value):
            self._check_entry(number, value)
        elif header:
            self._started = True
            self._header = value
            self._check_schema("header", number, value)
        else:
            self._started = True
            self._findings.add("no-header", f"the first value is {kind_of(value)}, and no session header", number)
            self._check_entry(number, value)

    def _check_entry(self, number: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._findings.add("not-an-object", f"the line is {shown(value)}", number)
            return
        kind = value.get("type")
        known = isinstance(kind, str) and f"entries/{kind}" in schemas.all_schemas()
        self._check_schema(f"entries/{kind}" if self._strict and known else "entry", number, value)
        self._structure.add(number, value)

    def _check_schema(self, name: str, number: int, value: Any) -> None:
        error = schemas.first_error(name if self._strict else f"tolerant/{name}", value)
        if error:
            self._findings.add("schema", error.message, number, pointer=error.pointer)

    def _has_ids(self) -> bool:
        """Entries of version 1 have no ids of their own; opening such a file makes them."""
        version = (self._header or {}).get("version") or 1
        return not isinstance(version, (int, float)) or version >= 2

    def _check_structure(self) -> None:
        for problem in self._structure.problems():
            self._findings.add(problem.code, problem.message, problem.line, pointer=problem.pointer)


def _skipped(value: Any) -> bool:
    """Readers pass over `null`, `false`, `0` and `""` even before the header."""
    return not value and not isinstance(value, (dict, list))
