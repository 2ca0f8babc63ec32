"""Session and vector files are checked line by line, and no input ends the check with an exception."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction_conformance.cli import main
from compaction_conformance.findings import MAX_LINE_BYTES, MAX_SHOWN, PROBLEMS
from compaction_conformance.paths import vector_files
from compaction_conformance.validation import Report, Strictness, validate_file
from samples import VECTOR

TIME = "2025-01-01T00:00:00.000Z"
HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": TIME, "cwd": "/w"}


def entry(kind: str, name: str, parent: str | None, /, **own: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "parentId": parent, "timestamp": TIME, **own}


def note(name: str, parent: str | None, /, **own: Any) -> dict[str, Any]:
    return entry("custom", name, parent, customType="note", **own)


def edit(name: str, parent: str | None, target: str) -> dict[str, Any]:
    return entry("context_edit", name, parent, targetId=target, replacement=None)


def label(name: str, parent: str | None, target: str) -> dict[str, Any]:
    return entry("label", name, parent, targetId=target, label="mark")


def compaction(name: str, parent: str | None, kept: str) -> dict[str, Any]:
    return entry("compaction", name, parent, summary="s", firstKeptEntryId=kept, tokensBefore=1)


def text(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def session(*entries: dict[str, Any]) -> bytes:
    return text(HEADER, *entries)


def vector_file(*vectors: Any) -> bytes:
    lines = ",\n".join(json.dumps(vector) for vector in vectors)
    return f'{{"chapter": "projection", "vectors": [\n{lines}\n]}}\n'.encode()


def checked(folder: Path, content: bytes, strictness: Strictness = "strict", name: str = "s.jsonl") -> Report:
    path = folder / name
    path.write_bytes(content)
    return validate_file(path, strictness)


def found(report: Report) -> list[tuple[str, str, int | None]]:
    return [(finding.severity, finding.code, finding.line) for finding in report.findings]


A = note("a", None)
SOUND = session(
    A,
    note("b", "a", later="unknown members are fine"),
    edit("e", "b", "b"),
    label("l", "e", "a"),
    compaction("c1", "l", "b"),
    note("side", "a"),
    compaction("c2", "side", "c2"),
    note("root2", None),
)

# what is wrong: the file, the code, the line it points to
SESSIONS: dict[str, tuple[bytes, str, int | None]] = {
    "bytes that are no UTF-8": (session(A).replace(b"note", b"n\xffte"), "not-utf8", 2),
    "a byte order mark": (b"\xef\xbb\xbf" + session(A), "byte-order-mark", 1),
    "a line that is no JSON": (session(A) + b"{oops}\n" + text(note("b", "a")), "not-json", 3),
    "NaN": (session(A) + b'{"type": NaN}\n', "not-json", 3),
    "a minus infinity": (session(A) + b"-Infinity\n", "not-json", 3),
    "NUL bytes": (session(A) + b"\0\0\0\n", "not-json", 3),
    "a raw control character": (session(A) + b'{"type": "\x01"}\n', "not-json", 3),
    "a torn last line": (session(A) + b'{"type": "cust', "torn-line", 3),
    "no line feed at the end": (session(A).rstrip(), "no-newline", 2),
    "a blank line": (text(HEADER) + b" \r\n" + text(A), "blank-line", 2),
    "a key that occurs twice": (
        text(HEADER, A).replace(b'{"type": "custom"', b'{"a":1,"a":2,"type":"custom"'),
        "duplicate-key",
        2,
    ),
    "a number as a line": (session(A) + b"42\n", "not-an-object", 3),
    "a null before the header": (b"null\n" + session(A), "not-an-object", 1),
    "an empty file": (b"", "empty-file", None),
    "a file that begins with an entry": (text(A), "no-header", 1),
    "a file of blank lines": (b"\n", "no-header", None),
    "a second header": (session(A) + text(HEADER), "second-header", 3),
    "a message that is null": (session(entry("message", "a", None, message=None)), "schema", 2),
    "an id that is used twice": (session(A, note("b", "a"), A), "duplicate-id", 4),
    "a parent that is not there": (session(A, note("b", "x")), "missing-parent", 3),
    "an entry that is its own parent": (session(note("a", "a")), "parent-cycle", 2),
    "two entries that are each other's parents": (session(note("a", "b"), note("b", "a")), "parent-cycle", 2),
    "a first kept entry that is not there": (session(A, compaction("c", "a", "x")), "first-kept", 3),
    "a first kept entry on another branch": (
        session(A, note("b", "a"), note("d", "a"), compaction("c", "d", "b")),
        "first-kept",
        5,
    ),
    "a first kept entry after the compaction": (session(A, compaction("c", "a", "b"), note("b", "c")), "first-kept", 3),
    "an edit of an entry that is not there": (session(A, edit("e", "a", "x")), "edit-target", 3),
    "an edit of an entry on another branch": (session(A, note("b", "a"), edit("e", "a", "b")), "edit-target", 4),
    "a label on an entry that is not there": (session(A, label("l", "a", "x")), "label-target", 3),
    "a line that is too long": (session(A) + b'"' + b"x" * MAX_LINE_BYTES + b'"\n', "line-too-long", 3),
    "a line that is nested too deeply": (session(A) + b"[" * 100_000 + b"\n", "too-deep", 3),
}
BARE_QUIRK: dict[str, Any] = {
    **VECTOR,
    "requirements": ["FIL-18", "PRJ-07"],
    "operation": "files/lists",
    "params": {"messages": []},
    "expect": {"result": {"readFiles": [], "modifiedFiles": []}},
}
VECTOR_FILES: dict[str, tuple[bytes, str, int | None]] = {
    "a vector out of shape": (vector_file(VECTOR, {**VECTOR, "id": "PRJ-b", "operation": "x"}), "vector", 3),
    "a file out of shape": (b'{"chapter": 1, "vectors": []}', "vector", 1),
    "vectors that are no list": (b'{"chapter": "projection", "vectors": {}}', "vector", 1),
    "params of another operation": (vector_file({**VECTOR, "params": {"messages": []}}), "params", 2),
    "an id that is used twice": (vector_file(VECTOR, VECTOR), "duplicate-vector-id", 3),
    "a rule that does not exist": (vector_file({**VECTOR, "requirements": ["PRJ-07", "CUT-99"]}), "vector", 2),
    "a reading that the rule does not have": (
        vector_file({**VECTOR, "expect": {"readings": [{"reading": "pi", "result": {}}]}}),
        "vector",
        2,
    ),
    "a quirk without readings": (vector_file(BARE_QUIRK), "vector", 2),
    "a vector that the oracle can fill": (
        vector_file({key: value for key, value in VECTOR.items() if key not in ("expect", "evidence")}),
        "unfilled",
        2,
    ),
    "a placeholder out of shape": (vector_file({**VECTOR, "expect": {"result": {"x": {"$text": 5}}}}), "vector", 2),
    "a fact that is not so": (vector_file({**VECTOR, "given": {"entries": 3}}), "vector", 2),
    "a fact about something else": (vector_file({**VECTOR, "given": {"utf16Units": 3}}), "vector", 2),
    "a twin that does not exist": (vector_file({**VECTOR, "twin": "PRJ-nowhere"}), "vector", 2),
    "a twin that expects the same": (
        vector_file(VECTOR, {**VECTOR, "id": "PRJ-b", "twin": VECTOR["id"]}),
        "vector",
        3,
    ),
    "bytes that are no Base64": (
        vector_file({**VECTOR, "operation": "session/parse", "params": {"contentBase64": "!"}}),
        "params",
        2,
    ),
    "a number beyond JSON": (
        vector_file({**VECTOR, "params": {"entries": [{"n": 5}]}}).replace(b"5", b"1e999"),
        "params",
        2,
    ),
    "a file without vectors": (b"[]\n", "unknown-kind", None),
    "a file that is no JSON": (b'{\n"chapter": x}\n', "broken-file", 2),
    "an empty file": (b"", "broken-file", 1),
    "NaN": (b'{"vectors": [NaN]}', "broken-file", None),
    "bytes that are no UTF-8": (b'{"vectors":\n"\xff"}', "not-utf8", 2),
    "deep nesting": (b"[" * 100_000, "too-deep", None),
    "a key that occurs twice": (
        vector_file(VECTOR).replace(b'"params"', b'"id": "PRJ-a", "params"'),
        "duplicate-key",
        None,
    ),
}


def test_a_sound_session_is_sound_in_both_strictnesses(tmp_path: Path) -> None:
    for strictness in ("strict", "tolerant"):
        report = checked(tmp_path, SOUND, strictness)
        assert (report.ok, report.findings, report.lines, report.kind) == (True, (), 9, "session")


def test_a_sound_vector_file_is_sound(tmp_path: Path) -> None:
    report = checked(tmp_path, vector_file(VECTOR), name="v.json")
    assert (report.ok, report.findings, report.lines, report.kind) == (True, (), 3, "vector file")


@pytest.mark.parametrize("case", VECTOR_FILES)
def test_a_run_takes_the_vector_files_that_are_sound_and_no_others(
    tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content, code, _ = VECTOR_FILES[case]
    checked(tmp_path, content, name="v.json")
    ran = main(["list", "--vectors", str(tmp_path), "--only", "PRJ-07"])
    assert ran == (0 if PROBLEMS[code].strict == "warning" else 2)
    assert str(tmp_path / "v.json") in capsys.readouterr().err or ran == 0


def test_a_twin_may_be_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "beside.json").write_bytes(vector_file({**VECTOR, "id": "PRJ-beside"}))
    for twin in ("PRJ-beside", "PRJ-fold-retain-none"):
        report = checked(tmp_path, vector_file({**VECTOR, "twin": twin}), name="v.json")
        assert report.ok, report.text()


def test_all_flaws_of_a_vector_are_told_with_their_places(tmp_path: Path) -> None:
    flawed = {**VECTOR, "requirements": ["CUT-99"], "given": {"entries": 3}, "expect": {"result": {"x": {"$lines": 5}}}}
    report = checked(tmp_path, vector_file(flawed), name="v.json")
    places = [finding.pointer for finding in report.findings]
    assert places == ["/vectors/0/requirements/0", "/vectors/0/expect", "/vectors/0/given/entries"]


@pytest.mark.parametrize("path", vector_files(), ids=lambda path: path.stem)
def test_the_vector_files_of_the_project_are_sound(path: Path) -> None:
    report = validate_file(path)
    assert report.findings == (), report.text()


@pytest.mark.parametrize("strictness", ["strict", "tolerant"])
@pytest.mark.parametrize("case", SESSIONS)
def test_a_session_is_told_what_is_wrong_and_where(tmp_path: Path, case: str, strictness: Strictness) -> None:
    content, code, line = SESSIONS[case]
    severity = getattr(PROBLEMS[code], strictness)
    expected = [(severity, code, line)] if severity else []
    report = checked(tmp_path, content, strictness)
    assert [one for one in found(report) if one[1] == code] == expected
    assert report.ok is (report.errors == 0)


@pytest.mark.parametrize("case", VECTOR_FILES)
def test_a_vector_file_is_told_what_is_wrong_and_where(tmp_path: Path, case: str) -> None:
    content, code, line = VECTOR_FILES[case]
    report = checked(tmp_path, content, name="v.json")
    assert [one for one in found(report) if one[1] == code] == [(PROBLEMS[code].strict, code, line)]
    assert found(checked(tmp_path, content, "tolerant", "v.json")) == found(report)


def test_every_kind_of_problem_has_a_case() -> None:
    codes = {code for _, code, _ in [*SESSIONS.values(), *VECTOR_FILES.values()]}
    assert set(PROBLEMS) - codes == {"unreadable", "too-large", "no-id"}


@pytest.mark.parametrize(
    ("entries", "warnings"),
    [
        pytest.param([{"type": "message", "message": {"role": "user", "content": "x"}}], 0, id="version 1 has no ids"),
        pytest.param([{"type": "compaction", "summary": "s", "firstKeptEntryIndex": 1}], 0, id="an index of version 1"),
    ],
)
def test_old_versions_are_sound_for_a_reader_and_not_what_pi_writes(
    tmp_path: Path, entries: list[dict[str, Any]], warnings: int
) -> None:
    content = text({"type": "session", "id": "x"}, *entries)
    tolerant = checked(tmp_path, content, "tolerant")
    assert (tolerant.errors, tolerant.warnings) == (0, warnings)
    assert not checked(tmp_path, content, "strict").ok


def test_an_entry_without_id_is_a_warning_for_a_reader_of_version_3(tmp_path: Path) -> None:
    report = checked(tmp_path, session({"type": "alien"}), "tolerant")
    assert found(report) == [("warning", "no-id", 2)]


@pytest.mark.parametrize(
    "entries",
    [
        [{"type": "alien", "id": "a", "parentId": None}],
        [{"type": "message", "id": "a", "timestamp": 1735689600000, "message": {"role": "user", "content": None}}],
        [{"type": "message", "id": "a", "message": {"role": "hookMessage"}}],
        [
            {"type": "message", "id": 1, "message": {"role": "user"}},
            {"type": "label", "id": 2, "parentId": 1, "targetId": 1},
        ],
        [{"type": "compaction", "id": "a", "parentId": 0, "summary": None, "firstKeptEntryId": None}],
    ],
)
def test_hand_made_entries_are_sound_for_a_reader_only(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    assert found(checked(tmp_path, session(*entries), "tolerant")) == []
    assert not checked(tmp_path, session(*entries), "strict").ok


def test_a_number_and_its_text_are_different_ids(tmp_path: Path) -> None:
    content = session({"type": "alien", "id": 1}, {"type": "alien", "id": "2", "parentId": "1"})
    assert found(checked(tmp_path, content, "tolerant")) == [("warning", "missing-parent", 3)]


def test_the_check_goes_on_after_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    bad = note("b", "a", timestamp="now")
    content = session(A) + b"[" * 100_000 + b"\n" + b"x" * (MAX_LINE_BYTES + 1) + b"\n\xff\n" + text(bad)
    report = checked(tmp_path, content)
    assert {line for _, _, line in found(report)} == {3, 4, 5, 6}
    assert report.lines == 6


def test_a_finding_names_column_or_pointer_and_what_to_do(tmp_path: Path) -> None:
    report = checked(tmp_path, session(note("a", None, timestamp=7)) + b'{"a": }\n')
    schema, syntax = report.findings
    assert (schema.line, schema.pointer) == (2, "/timestamp")
    assert (syntax.line, syntax.column) == (3, 7)
    lines = report.text().splitlines()
    expected = "is 7; expected a string (ISO 8601 time in UTC with milliseconds) (at /timestamp) [schema]"
    assert lines[0] == f"{report.path}:2: error: {expected}"
    assert lines[1] == "  → see spec/schemas/ for the shape"
    assert lines[2] == f"{report.path}:3:7: error: the line is no JSON: expecting value [not-json]"
    assert lines[4] == f"{report.path}: not ok (session, strict; 3 lines, 2 errors, 0 warnings)"


def test_findings_are_capped_and_all_are_counted(tmp_path: Path) -> None:
    report = checked(tmp_path, session(*[{"type": "alien", "id": f"e{number}"} for number in range(300)]) + b"\n" * 200)
    assert (report.errors, report.warnings, len(report.findings)) == (300, 200, 2 * MAX_SHOWN)
    assert "400 not shown" in report.text()


def test_what_the_oracle_can_fill_in_is_told_as_such(tmp_path: Path) -> None:
    unfilled = {key: value for key, value in VECTOR.items() if key not in ("expect", "evidence")}
    report = checked(tmp_path, vector_file(unfilled), name="v.json")
    assert [(finding.code, finding.message) for finding in report.findings] == [
        ("unfilled", '"expect", "evidence" are missing')
    ]
    assert "attest --fill" in report.text()
    other = {key: value for key, value in VECTOR.items() if key != "description"}
    assert [finding.code for finding in checked(tmp_path, vector_file(other), name="v.json").findings] == ["vector"]


def test_a_quirk_lists_its_readings_or_stands_beside_one_that_does(tmp_path: Path) -> None:
    listed = {**BARE_QUIRK, "id": "FIL-listed", "expect": {"readings": [{"reading": "pi", **BARE_QUIRK["expect"]}]}}
    (finding,) = checked(tmp_path, vector_file(BARE_QUIRK), name="v.json").findings
    assert (finding.message, finding.pointer) == (
        "a QUIRK lists its readings; FIL-18 has pi, drop, texts",
        "/vectors/0/expect",
    )
    assert checked(tmp_path, vector_file(BARE_QUIRK, listed), name="v.json").ok


def test_text_from_the_file_is_printed_without_control_characters(tmp_path: Path) -> None:
    evil = "\ud83d\x1b[31m"
    report = checked(tmp_path, session(A, note("b", evil), {**A, "id": "d", "type": evil, evil: 1}))
    assert report.errors == 2
    assert all(line.isprintable() for line in report.text().splitlines())


def test_a_long_chain_and_a_long_ring_need_no_deep_stack(tmp_path: Path) -> None:
    chain = [note(f"e{number}", f"e{number - 1}" if number else None) for number in range(5000)]
    assert checked(tmp_path, session(*chain, compaction("c", "e4999", "e0"))).ok
    ring = [note(f"e{number}", f"e{(number + 1) % 5000}") for number in range(5000)]
    assert found(checked(tmp_path, session(*ring))) == [("error", "parent-cycle", 2)]


def test_an_entry_below_a_ring_is_no_second_ring(tmp_path: Path) -> None:
    report = checked(tmp_path, session(note("a", "b"), note("b", "a"), note("c", "b"), note("d", "d")))
    assert found(report) == [("error", "parent-cycle", 2), ("error", "parent-cycle", 5)]


def test_what_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "file").write_bytes(b"")
    for name in (".", "absent.jsonl", "absent.json", "pipe.jsonl", "file/x.jsonl", "n" * 5000, "nul\0.jsonl"):
        report = validate_file(tmp_path / name)
        assert [finding.code for finding in report.findings] == ["unreadable"], name
        assert not report.ok
        assert report.text()


def test_a_file_that_may_not_be_read_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "s.jsonl"
    path.write_bytes(SOUND)
    monkeypatch.setattr(Path, "open", refuse)
    assert [finding.message for finding in validate_file(path).findings] == ["cannot be read: Permission denied"]


def test_a_vector_file_beyond_the_limit_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compaction_conformance.vector_validation.MAX_FILE_BYTES", 10)
    assert found(checked(tmp_path, vector_file(VECTOR), name="v.json")) == [("error", "too-large", None)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "message"]), inner),
    max_leaves=5,
)
KINDS = st.sampled_from(["session", "message", "compaction", "context_edit", "label", "custom_message", "alien"])
LOOSE = st.fixed_dictionaries(
    {"type": KINDS | JSON},
    optional={
        "id": st.sampled_from(["a", "b", "c", 1]) | JSON,
        "parentId": st.sampled_from(["a", "b", "c", None]) | JSON,
        "timestamp": st.just(TIME) | JSON,
        "message": JSON,
        "firstKeptEntryId": st.sampled_from(["a", "b"]) | JSON,
        "targetId": st.sampled_from(["a", "b"]) | JSON,
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@given(content=st.binary(), name=st.sampled_from(["s.jsonl", "v.json"]))
def test_any_bytes_end_in_a_report(folder: Path, content: bytes, name: str) -> None:
    report = checked(folder, content, name=name)
    assert report.text().splitlines()
    assert report.errors + report.warnings >= len(report.findings)


@settings(max_examples=200)
@given(values=st.lists(LOOSE | JSON, max_size=6), strictness=st.sampled_from(["strict", "tolerant"]))
def test_any_values_end_in_a_report(folder: Path, values: list[Any], strictness: Strictness) -> None:
    assert checked(folder, session(*values), strictness).lines == len(values) + 1


@given(values=st.lists(LOOSE, max_size=6))
def test_what_is_sound_strictly_is_sound_for_a_reader(folder: Path, values: list[Any]) -> None:
    if checked(folder, session(*values), "strict").ok:
        assert checked(folder, session(*values), "tolerant").ok


@given(
    vectors=st.lists(
        JSON | st.fixed_dictionaries({key: st.just(value) | JSON for key, value in VECTOR.items()}), max_size=3
    )
)
def test_any_vectors_end_in_a_report(folder: Path, vectors: list[Any]) -> None:
    assert checked(folder, vector_file(*vectors), name="v.json").text()
