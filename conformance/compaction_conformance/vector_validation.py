"""Is this a sound vector file? The file as a whole, then every vector, its params and its id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import read_expectation
from compaction_conformance.findings import MAX_FILE_BYTES, Findings
from compaction_conformance.guarded_json import JsonError, parse
from compaction_conformance.json_files import read_text
from compaction_conformance.paths import spec_dir, vector_files
from compaction_conformance.schema_words import kind_of, shown
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.vector_checks import Asked, Flaw, all_flaws, is_unfilled, reading_flaws, twin_flaws

_ID_MEMBER = re.compile(r'"id":\s*"([^"\\]*)"')
_NOTHING = object()
_KEYS_TOLD = 3


def check_vector_file(stream: BinaryIO, findings: Findings) -> int:
    """Report what is wrong, and answer how many lines there are."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        findings.add("too-large", f"the file is longer than {MAX_FILE_BYTES} bytes")
        return 0
    text = _decoded(data, findings)
    value = _NOTHING if text is None else _parsed(text, findings)
    if text is not None and isinstance(value, dict) and "vectors" in value:
        _check(value, _places(text), Path(str(getattr(stream, "name", ""))).parent, findings)
    elif value is not _NOTHING:
        findings.add("unknown-kind", f'the file is {kind_of(value)} without "vectors"')
    return data.count(b"\n") + (0 if data.endswith(b"\n") or not data else 1)


def _decoded(data: bytes, findings: Findings) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        findings.add("not-utf8", f"byte {error.start + 1} of the file is no UTF-8", line)
        return None


def _parsed(text: str, findings: Findings) -> Any:
    try:
        parsed = parse(text)
    except JsonError as problem:
        line, column = _place(text, problem.column)
        if problem.too_deep:
            findings.add("too-deep", f"the file cannot be read: {problem.reason}")
        else:
            findings.add("broken-file", f"the file is no JSON: {problem.reason}", line, column)
        return _NOTHING
    for key in parsed.repeated_keys[:_KEYS_TOLD]:
        findings.add("duplicate-key", f"an object has the key {shown(key)} more than once")
    return parsed.value


def _check(value: dict[str, Any], places: dict[str, list[int]], folder: Path, findings: Findings) -> None:
    whole = schemas.first_error("vector-file", value)
    if whole and not whole.pointer.startswith("/vectors/"):
        findings.add("vector", whole.message, 1, pointer=whole.pointer)
    if not isinstance(value["vectors"], list):
        return
    seen: dict[str, int] = {}
    sound: list[tuple[dict[str, Any], str, int | None]] = []
    for index, vector in enumerate(value["vectors"]):
        pointer = f"/vectors/{index}"
        name = vector.get("id") if isinstance(vector, dict) else None
        before = seen.get(name, 0) if isinstance(name, str) else 0
        if isinstance(name, str):
            seen[name] = before + 1
        line = _nth(places.get(name, []), before) if isinstance(name, str) else None
        if before:
            told = f"the id {shown(name)} is used more than once"
            findings.add("duplicate-vector-id", told, line, pointer=f"{pointer}/id")
        if _check_vector(vector, pointer, line, findings):
            sound.append((vector, pointer, line))
    beside = [vector for vector, _, _ in sound]
    for vector, pointer, line in sound:
        _report(reading_flaws(vector, beside, _spec()), pointer, line, findings)
    by_id = {vector["id"]: _asked(vector) for vector, _, _ in sound}
    for vector, pointer, line in sound:
        if "twin" in vector and (vector["twin"] in by_id or not _is_elsewhere(vector["twin"], seen, folder)):
            _report(twin_flaws(vector["twin"], _asked(vector), by_id.get(vector["twin"])), pointer, line, findings)


def _check_vector(vector: Any, pointer: str, line: int | None, findings: Findings) -> bool:
    """Whether the vector is sound, for all that shows without others."""
    if error := schemas.first_error("vector", vector):
        code = "unfilled" if not error.pointer and is_unfilled(vector) else "vector"
        findings.add(code, error.message, line, pointer=pointer + error.pointer)
        return False
    flaws = tuple(all_flaws(vector, _spec()))
    _report(flaws, pointer, line, findings)
    return not flaws


def _report(flaws: Iterable[Flaw], pointer: str, line: int | None, findings: Findings) -> None:
    for flaw in flaws:
        code = "params" if flaw.pointer.startswith("/params") else "vector"
        findings.add(code, flaw.what, line, pointer=pointer + flaw.pointer)


@cache
def _spec() -> Spec:
    return load_spec(spec_dir())


def _asked(vector: dict[str, Any]) -> Asked:
    return vector["operation"], read_expectation(vector["expect"]), vector["params"]


def _is_elsewhere(name: str, seen: Iterable[str], folder: Path) -> bool:
    """Whether the vector is one of this file that is not sound, one of the suite's, or one of a file beside this one.
    Those are not compared with their twins: only a run has all files at hand."""
    return name in seen or name in _ids_of_the_suite() or name in _ids_in(sorted(folder.glob("*.json")))


@cache
def _ids_of_the_suite() -> frozenset[str]:
    return _ids_in(vector_files())


def _ids_in(files: Iterable[Path]) -> frozenset[str]:
    """The ids in the text of the files, entries' ids among them; none of those that cannot be read."""
    found: set[str] = set()
    for file in files:
        with suppress(InvalidInput):
            found.update(_ID_MEMBER.findall(read_text(file)))
    return frozenset(found)


def _places(text: str) -> dict[str, list[int]]:
    """For every id, the lines that hold it as an `id` member."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for match in _ID_MEMBER.finditer(line):
            places.setdefault(match[1], []).append(number)
    return places


def _nth(lines: list[int], count: int) -> int | None:
    return lines[min(count, len(lines) - 1)] if lines else None


def _place(text: str, column: int | None) -> tuple[int | None, int | None]:
    """Line and column of a place in the whole text, all counted from 1."""
    if column is None:
        return None, None
    before = text[: column - 1]
    return before.count("\n") + 1, len(before) - before.rfind("\n")
