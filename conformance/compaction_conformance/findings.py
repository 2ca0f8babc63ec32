"""What can be wrong with a file, how grave it is, and the report that a check hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from compaction_conformance.schema_words import printable

Strictness = Literal["strict", "tolerant"]
Severity = Literal["error", "warning"]

MAX_LINE_BYTES = 16 << 20
MAX_FILE_BYTES = 64 << 20
MAX_SHOWN = 50
_POINTER_SHOWN = 120


@dataclass(frozen=True)
class Problem:
    """A kind of problem: how grave it is in either strictness (None: not reported), and what to do about it."""

    strict: Severity | None
    tolerant: Severity | None
    advice: str


PROBLEMS: Mapping[str, Problem] = {
    "unreadable": Problem("error", "error", "give a file that can be read"),
    "unknown-kind": Problem("error", "error", 'a vector file is .json with "vectors", a session is .jsonl'),
    "too-large": Problem("error", "error", f"split the file; vector files hold at most {MAX_FILE_BYTES >> 20} MiB"),
    "line-too-long": Problem(
        "error", "error", f"lines hold at most {MAX_LINE_BYTES >> 20} MiB; this one was not checked"
    ),
    "too-deep": Problem("error", "error", "flatten the value; nothing in it was checked"),
    "not-utf8": Problem("error", "warning", "write the file in UTF-8; a reader puts U+FFFD in place of such bytes"),
    "byte-order-mark": Problem(
        "error", "error", "delete the first three bytes; no reader finds the header behind them"
    ),
    "not-json": Problem("error", "warning", "mend or delete the line; a reader skips it"),
    "broken-file": Problem("error", "error", "mend the JSON; nothing in the file was checked"),
    "torn-line": Problem("error", "warning", "delete the rest of the broken line; a reader skips it"),
    "no-newline": Problem("warning", "warning", "end the file with a line feed before anything is appended"),
    "blank-line": Problem("warning", None, "delete the line; a reader skips it"),
    "duplicate-key": Problem("warning", "warning", "keep one; readers take the last and some refuse"),
    "not-an-object": Problem("error", "warning", "delete the line; an entry is an object"),
    "empty-file": Problem("error", "warning", "write a header, or delete the file"),
    "no-header": Problem("error", "error", "begin the file with a session header; no reader opens it without one"),
    "second-header": Problem("error", "warning", "delete the line; readers take the first header"),
    "schema": Problem("error", "error", "see spec/schemas/ for the shape"),
    "no-id": Problem(None, "warning", "give the entry an id; nothing can follow it without one"),
    "duplicate-id": Problem("error", "warning", "give each entry its own id; readers find only the last one"),
    "missing-parent": Problem("error", "warning", "name an entry of this file, or null; readers end the path here"),
    "parent-cycle": Problem("error", "error", "break the ring; a reader that follows it never ends"),
    "first-kept": Problem(
        "error", "warning", "name an entry on the path or the compaction itself; as it is, it keeps none"
    ),
    "edit-target": Problem("error", "warning", "name an entry on the path; as it is, the edit changes nothing"),
    "label-target": Problem("error", "warning", "name an entry of this file; as it is, the label marks nothing"),
    "vector": Problem("error", "error", "see fixtures/README.md for the shape of a vector"),
    "unfilled": Problem(
        "error",
        "error",
        "let the oracle fill it: `compaction-conformance attest --fill FILE`; of a SHOULD, write what it rests on",
    ),
    "params": Problem("error", "error", "see the operation's params in spec/protocol.md"),
    "duplicate-vector-id": Problem("error", "error", "give the vector an id of its own"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `pointer` leads into the line's value, or into the whole file for a vector file."""

    severity: Severity
    code: str
    message: str
    advice: str
    line: int | None = None
    column: int | None = None
    pointer: str = ""

    def text(self, path: Path) -> str:
        place = ":".join(str(part) for part in (path, self.line, self.column) if part is not None)
        at = f" (at {self.pointer})" if self.pointer else ""
        return f"{printable(place)}: {self.severity}: {self.message}{at} [{self.code}]\n  → {self.advice}"


@dataclass(frozen=True)
class Report:
    """What was found in one file. `findings` holds the first ones of each severity, the counts hold all."""

    path: Path
    kind: str
    strictness: Strictness
    lines: int
    findings: tuple[Finding, ...]
    errors: int
    warnings: int

    @property
    def ok(self) -> bool:
        return self.errors == 0

    @property
    def readable(self) -> bool:
        """Whether there was anything to check."""
        return all(finding.code != "unreadable" for finding in self.findings)

    def text(self) -> str:
        """All findings and a line that sums up."""
        hidden = self.errors + self.warnings - len(self.findings)
        more = f", {hidden} not shown" if hidden else ""
        verdict = "ok" if self.ok else "not ok"
        checked = f"{self.kind}, {self.strictness}" if self.kind == "session" else self.kind
        counts = f"{self.lines} lines, {self.errors} errors, {self.warnings} warnings{more}"
        summary = f"{printable(str(self.path))}: {verdict} ({checked}; {counts})"
        return "\n".join([*(finding.text(self.path) for finding in self.findings), summary])


class Findings:
    """Keeps the first findings of each severity and counts the rest."""

    def __init__(self, strictness: Strictness) -> None:
        self.strictness = strictness
        self._kept: dict[Severity, list[Finding]] = {"error": [], "warning": []}
        self._count: dict[Severity, int] = {"error": 0, "warning": 0}

    def add(
        self, code: str, message: str, line: int | None = None, column: int | None = None, pointer: str = ""
    ) -> None:
        problem = PROBLEMS[code]
        severity = problem.strict if self.strictness == "strict" else problem.tolerant
        if severity is None:
            return
        self._count[severity] += 1
        if len(self._kept[severity]) < MAX_SHOWN:
            at = printable(pointer if len(pointer) <= _POINTER_SHOWN else pointer[:_POINTER_SHOWN] + "…")
            self._kept[severity].append(Finding(severity, code, message, problem.advice, line, column, at))

    def report(self, path: Path, kind: str, lines: int) -> Report:
        found = sorted(self._kept["error"] + self._kept["warning"], key=lambda finding: finding.line or 0)
        return Report(path, kind, self.strictness, lines, tuple(found), self._count["error"], self._count["warning"])
