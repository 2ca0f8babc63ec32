"""The overflow corpus is sound and covers what it has to; its lint and its recorder find what is wrong."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import schemas
from compaction_conformance.cli import main
from compaction_conformance.corpus import cases as corpus
from compaction_conformance.corpus import personal
from compaction_conformance.corpus.cases import (
    Answer,
    Case,
    Response,
    corpus_dir,
    find_case,
    load_corpus,
    read_response,
)
from compaction_conformance.corpus.lint import lint_case, lint_corpus
from compaction_conformance.corpus.record import timeout_for
from compaction_conformance.corpus.response_rules import RECORDED
from compaction_conformance.corpus.text import case_file_text
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_places import line_of
from compaction_conformance.paths import spec_dir
from compaction_reference import overflow
from samples import CASE, plain

CASES = load_corpus()
FILES = sorted(corpus_dir().glob("*.json"))
README = (corpus_dir() / "README.md").read_text(encoding="utf-8")
TABLE = json.loads((spec_dir() / "overflow-patterns.json").read_text(encoding="utf-8"))
ROWS = [*TABLE["patterns"], *TABLE["exclusions"], *TABLE["providerRules"]]
EDITIONS = ("pi-0.87", "pi-1.6")
FOLD = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


def raw_case(**own: Any) -> dict[str, Any]:
    case = {
        "id": "acme-too-long",
        **CASE,
        "response": plain(400, "the text is too long"),
        "requirements": ["RSP-18"],
        "answers": {"pi-0.87": {"stopReason": "error", "errorMessage": "400", "overflow": False, "retryable": False}},
    }
    return {**case, **own}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a case file and gives back its folder."""

    def write_file(*cases: Any, name: str = "acme.json", family: str = "acme") -> Path:
        (tmp_path / name).write_text(case_file_text(family, cases), encoding="utf-8")
        return tmp_path

    return write_file


def text(value: str) -> dict[str, Any]:
    return {"status": 400, "headers": {"content-type": "text/plain"}, "body": value}


def matches(row: dict[str, Any], case: Case) -> bool:
    """Whether a row of the pattern table matches what Pi made of a case."""
    message = case.answers["pi-0.87"].error_message or ""
    return re.search(row["regex"], message.translate(FOLD)) is not None


# The files


def test_the_corpus_is_large_and_has_both_labels() -> None:
    assert len(CASES) >= 200
    assert sum(case.overflow for case in CASES) >= 100
    assert sum(not case.overflow for case in CASES) >= 100


@EVERY_FILE
def test_a_file_is_written_in_the_one_format(path: Path) -> None:
    raw = corpus.read_case_file(path)
    assert raw["family"] == path.stem
    assert case_file_text(raw["family"], raw["cases"]) == path.read_text(encoding="utf-8")


def test_the_lint_finds_nothing() -> None:
    assert [str(problem) for problem in lint_corpus(corpus_dir())] == []


@EVERY_CASE
def test_a_case_has_an_answer_of_the_edition_that_judges_it(case: Case) -> None:
    """Those of older editions are history: who adds a case need not have such a release."""
    assert {RECORDED} <= set(case.answers) <= set(EDITIONS)
    assert all(answer.retryable is not None for answer in case.answers.values())


@EVERY_CASE
def test_the_table_of_the_reference_gives_the_recorded_verdict(case: Case) -> None:
    answer = case.answers["pi-0.87"]
    if answer.stop_reason != "error":
        assert answer.error_message is None or answer.stop_reason == "aborted"
        return
    message = {"stopReason": "error", "errorMessage": answer.error_message, "provider": case.provider_id}
    assert overflow.is_overflow({**message, "usage": {"input": 0, "output": 0, "cacheRead": 0}}) is answer.overflow


def test_the_readme_names_every_member_class_family_and_api_style() -> None:
    definitions = schemas.all_schemas()["overflow-case-file"]["$defs"]
    rows = [line for line in README.splitlines() if line.startswith("|")]
    named = [set(re.findall(r"`([^`]+)`", row.split("|")[1])) for row in rows]
    everything = set().union(*named)
    assert set(definitions["case"]["properties"]["class"]["enum"]) <= everything
    assert set(schemas.all_schemas()["definitions"]["$defs"]["apiStyle"]["enum"]) <= everything
    assert {path.name for path in FILES} == {name for name in everything if name.endswith(".json")}
    assert set(definitions["case"]["properties"]) | set(definitions["response"]["properties"]) <= everything


def test_the_example_of_the_readme_is_a_sound_file() -> None:
    example = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert example
    assert schemas.first_error("overflow-case-file", json.loads(example[1])) is None


@pytest.mark.parametrize("name", sorted({case.kind for case in CASES}))
def test_a_class_has_the_labels_that_the_readme_gives_it(name: str) -> None:
    (row,) = [line for line in README.splitlines() if line.startswith(f"| `{name}` |") and line.count("|") == 4]
    labels = {case.label for case in CASES if case.kind == name and not case.disputed}
    allowed = row.split("|")[3].strip()
    assert labels <= {"overflow", "not-overflow"} if allowed in ("a choice", "by provider") else labels <= {allowed}


# What it covers


@EVERY_ROW
def test_a_row_of_the_pattern_table_has_a_case_that_it_is_right_about(row: dict[str, Any]) -> None:
    wanted = "not-overflow" if row in TABLE["exclusions"] else "overflow"
    right = [case for case in CASES if case.label == wanted and matches(row, case)]
    if row in TABLE["exclusions"]:
        right = [case for case in right if any(matches(pattern, case) for pattern in TABLE["patterns"])]
    assert right


@EVERY_ROW
def test_a_row_of_the_pattern_table_has_a_near_miss(row: dict[str, Any]) -> None:
    case = find_case(CASES, f"near-{row['id'].lower()}")
    message = (case.answers["pi-0.87"].error_message or "").lower()
    assert not matches(row, case) or row in TABLE["providerRules"]
    assert case.provider_id != "cerebras"
    assert not case.overflow
    words = set(re.findall(r"[a-z]{3,}", re.sub(r"\[[^]]*]|\\x0b", " ", row["regex"])))
    shared = {word for word in words if word in message}
    assert len(shared) * 3 >= len(words), (words, message)


@pytest.mark.parametrize("label", [True, False], ids=["overflow", "not-overflow"])
@pytest.mark.parametrize("api", schemas.all_schemas()["definitions"]["$defs"]["apiStyle"]["enum"])
def test_an_api_style_has_cases_of_both_labels(api: str, label: bool) -> None:
    assert [case for case in CASES if case.api == api and case.overflow is label and not case.disputed]


def _usage_case(case: Case) -> bool:
    return case.context_window is not None and case.answers["pi-0.87"].error_message is None


SPECIAL: dict[str, Callable[[Case], bool]] = {
    "bodyless, Cerebras": lambda case: case.provider_id == "cerebras" and not case.response.body,
    "bodyless, others": lambda case: case.kind == "empty-body" and not case.response.body,
    "usage of a reply that stopped": lambda case: _usage_case(case) and case.answers["pi-0.87"].stop_reason == "stop",
    "usage of a length stop": lambda case: _usage_case(case) and case.answers["pi-0.87"].stop_reason == "length",
    "error in a stream of status 200": lambda case: (
        case.response.streamed and case.response.status == 200 and case.answers["pi-0.87"].stop_reason == "error"
    ),
    "client error": lambda case: case.response.status in range(400, 500),
    "server error": lambda case: case.response.status in range(500, 600),
    "status 413": lambda case: case.response.status == 413,
    "status 429 or none": lambda case: case.response.status in (429, 503),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_case_comes_with_its_opposite(name: str) -> None:
    chosen = [case for case in CASES if SPECIAL[name](case)]
    if name == "bodyless, others":
        assert all(not case.overflow or case.provider_id.lower() == "cerebras" for case in chosen)
        assert {case.provider_id for case in chosen} > {"cerebras"}
    elif name == "status 429 or none":
        assert [case for case in chosen if case.overflow]
        assert [case for case in chosen if not case.overflow]
    else:
        assert {case.overflow for case in chosen} == {True, False}


def test_pages_dropped_connections_and_silence_are_there_for_several_api_styles() -> None:
    pages = {case.api for case in CASES if case.response.body.lstrip().lower().startswith((b"<html", b"<!doctype"))}
    cut = {case.api for case in CASES if case.response.end == "cut" and case.response.status is not None}
    gone = {case.api for case in CASES if case.response.end == "cut" and case.response.status is None}
    silent = {case.api for case in CASES if case.response.end == "stall"}
    assert len(pages) >= 5
    assert len(cut) == len(gone) == 7
    assert len(silent) >= 5


@EVERY_CASE
def test_nothing_of_a_label_reaches_an_implementation(case: Case) -> None:
    params = case.classify_params("http://127.0.0.1:1/case/x", 1000)
    assert set(params) <= {"baseUrl", "api", "provider", "model", "timeoutMs", "contextWindow"}
    assert schemas.first_error("operations/overflow-classify.params", params) is None


# Reading


def test_a_response_is_read_byte_by_byte() -> None:
    frames = ["é", {"base64": "/w=="}, ""]
    read = read_response({"status": 200, "headers": {"a": "b"}, "frames": frames, "end": "cut"})
    assert read == Response(200, (("a", "b"),), ("é".encode(), b"\xff"), streamed=True, end="cut")
    assert read.text == "é\ufffd"
    assert read_response({"status": 400, "bodyBase64": "/w=="}).body == b"\xff"
    assert read_response({"status": 400, "body": ""}).chunks == ()


def test_an_unknown_id_is_told() -> None:
    with pytest.raises(InvalidInput, match="there is no case no\\\\x1bne"):
        find_case(CASES, "no\x1bne")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"family": "a", "cases": [', "is no JSON"),
        ('{"family": "a", "family": "b", "cases": []}', "has the key family twice"),
        ('{"family": "a", "cases": []}', "/cases: has 0; expected at least 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_told(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        load_corpus(tmp_path)
    assert message in str(caught.value)
    assert "a.json" in str(caught.value)
    assert [problem.code for problem in lint_corpus(tmp_path)] in (["unreadable"], ["schema"])


def test_bytes_that_are_no_utf_8_and_files_that_are_too_large_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_bytes(b'{"family": "\xff"}')
    with pytest.raises(InvalidInput, match=r"a\.json:1: not UTF-8: .* at byte 12"):
        load_corpus(tmp_path)
    monkeypatch.setattr(corpus, "MAX_FILE_BYTES", 10)
    with pytest.raises(InvalidInput, match="is larger than"):
        load_corpus(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
@pytest.mark.parametrize("words", [["overflow", "score"], ["overflow", "lint"], ["serve"]], ids=" ".join)
def test_what_is_no_file_among_the_cases_is_told(
    words: list[str], make: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "a.json")
    code = main([*words, "--corpus", str(tmp_path)])
    assert code == (1 if "lint" in words else 2)
    assert "cannot be read: it is no regular file" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "response",
    [plain(400, "a \ud800"), {"status": 200, "frames": ["sound", "\udc00 b"]}],
    ids=["body", "frames"],
)
def test_half_of_a_surrogate_pair_is_no_response(
    response: dict[str, Any], write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(raw_case(response=response), raw_case(id="other"))
    for words in (["overflow", "score"], ["overflow", "check-pattern", "x"], ["serve"], ["overflow", "record"]):
        assert main([*words, "--corpus", str(folder)]) == 2
        message = capsys.readouterr().err
        assert re.search(
            r"acme.json case acme-too-long: the response holds half of a surrogate pair, '.ud[8c]00'", message
        )
        assert "bodyBase64" in message
    problems = lint_corpus(folder)
    assert [(one.code, one.case_id) for one in problems if one.severity == "error"] == [("bytes", "acme-too-long")]
    assert problems[0].line > 1
    told = lint_case(raw_case(response=response), "acme", folder / "acme.json", [])
    assert [one.code for one in told] == ["bytes"]


def test_half_of_a_surrogate_pair_may_be_in_an_answer(write: Callable[..., Path]) -> None:
    answer = {"stopReason": "error", "errorMessage": "cut \ud83d", "overflow": False, "retryable": False}
    (case,) = load_corpus(write(raw_case(answers={"pi-0.87": answer})))
    assert case.answers["pi-0.87"].error_message == "cut \ud83d"


def test_a_folder_without_case_files_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InvalidInput, match=r"case file|no folder"):
            load_corpus(folder)
        assert [problem.code for problem in lint_corpus(folder)] == ["unreadable"]


def test_an_id_in_two_files_is_told(write: Callable[..., Path]) -> None:
    write(raw_case())
    folder = write(raw_case(response=text("another")), name="b.json", family="b")
    with pytest.raises(InvalidInput, match=r"the id acme-too-long is used in acme\.json already"):
        load_corpus(folder)


# The lint


@pytest.mark.parametrize(
    ("cases", "code", "line", "message"),
    [
        ([raw_case(api="soap")], "schema", 8, '/cases/0/api: is "soap"'),
        ([raw_case(), raw_case(response=text("another"))], "id", 26, "the id is used in acme.json already"),
        ([raw_case(), raw_case(id="b")], "duplicate", 30, "is the same response as acme-too-long"),
        (
            [raw_case(response=text("9 tokens > 8")), raw_case(id="b", response=text("1,200 Tokens  > 1,000"))],
            "duplicate-message",
            30,
            "differs from acme-too-long in numbers alone",
        ),
        ([raw_case(response={"status": 400, "body": "x"})], "headers", 9, "has a body and no content-type"),
        ([raw_case(**{"class": "silent"})], "window", 4, "is of class silent and has no window"),
        ([{key: item for key, item in raw_case().items() if key != "answers"}], "answers", 4, "has no recorded answer"),
        (
            [raw_case(evidence={"grade": "verbatim", "source": "ours", "seen": "2026"})],
            "evidence",
            20,
            "is verbatim without a source",
        ),
        (
            [raw_case(evidence={"grade": "synthetic", "source": "https://example.org/1", "seen": "2026"})],
            "evidence",
            20,
            "is synthetic and has a source",
        ),
        (
            [raw_case(evidence={"grade": "verbatim", "source": "https://example.org/1", "seen": "2026-02-30"})],
            "evidence",
            20,
            "was seen on 2026-02-30, which is no day",
        ),
        ([raw_case(reason="told by someone@acme.io")], "personal", 16, "a mail address: someon…"),
        ([raw_case(response=text("user 10.1.2.3"))], "personal", 12, "a network address: 10.1.2…"),
        (
            [
                raw_case(
                    response={"status": 400, "headers": {"content-type": "a"}, "bodyBase64": "c29tZW9uZUBhY21lLmlv"}
                )
            ],
            "personal",
            9,
            "a mail address: someon…",
        ),
    ],
)
def test_the_lint_says_where_what_and_what_to_do(
    write: Callable[..., Path], cases: list[dict[str, Any]], code: str, line: int, message: str
) -> None:
    (problem,) = lint_corpus(write(*cases))
    assert (problem.code, problem.line) == (code, line)
    assert message in problem.message
    assert f"acme.json:{line}: {problem.severity}: " in str(problem)
    assert "\n  → " in str(problem)
    assert problem.severity == ("warning" if code in ("answers", "duplicate-message") else "error")


@pytest.mark.parametrize(
    ("own", "message", "remedy"),
    [
        ({"requirements": ["RSP-10"]}, "names RSP-10, and is about RSP-18", '"requirements": ["RSP-18"]'),
        ({"requirements": None}, "names no rule, and is about RSP-18", '"requirements": ["RSP-18"]'),
        (
            {"api": "google-generative-ai", "response": plain(200, "a page")},
            "is a response that no rule is about",
            "add the rule to spec/16-provider-responses.md",
        ),
    ],
)
def test_the_lint_tells_the_rules_that_a_case_is_about(
    write: Callable[..., Path], own: dict[str, Any], message: str, remedy: str
) -> None:
    case = {key: value for key, value in raw_case(**own).items() if value is not None}
    (problem,) = lint_corpus(write(case))
    assert (problem.severity, problem.code, problem.case_id) == ("error", "requirements", "acme-too-long")
    assert problem.message == message
    assert remedy in problem.remedy


def test_no_rule_is_told_before_an_answer_is_recorded(write: Callable[..., Path]) -> None:
    case = {key: value for key, value in raw_case().items() if key not in ("answers", "requirements")}
    assert [problem.code for problem in lint_corpus(write(case))] == ["answers"]


def test_a_family_of_another_name_is_told(write: Callable[..., Path]) -> None:
    (problem,) = lint_corpus(write(raw_case(), family="other"))
    assert (problem.code, problem.line) == ("family", 2)


def test_a_file_that_the_page_beside_it_does_not_name_is_told(write: Callable[..., Path]) -> None:
    page = write(raw_case()) / "README.md"
    page.write_text("| `other.json` | others |\n")
    (problem,) = lint_corpus(page.parent)
    assert (problem.code, problem.severity) == ("undescribed", "warning")
    assert "add a row to its table of files: | `acme.json` |" in problem.remedy
    page.write_text("| `acme.json` | Acme |\n")
    assert lint_corpus(page.parent) == []


def test_numbers_that_flip_the_label_are_no_duplicate(write: Callable[..., Path]) -> None:
    other = raw_case(id="b", response=text("9 of 8 tokens"), label="not-overflow", **{"class": "output-reservation"})
    del other["of"]
    assert lint_corpus(write(raw_case(response=text("7 of 6 tokens")), other)) == []


def test_a_case_to_be_added_is_held_against_those_that_are_there() -> None:
    there = CASES[0]
    raw = next(one for one in corpus.read_case_file(there.file)["cases"] if one["id"] == there.id)
    codes = [problem.code for problem in lint_case({**raw, "id": "new"}, there.family, there.file, CASES)]
    assert codes == ["duplicate"]
    assert [p.code for p in lint_case(raw_case(), "acme", Path("acme.json"), CASES)] == []
    assert [p.code for p in lint_case({"id": "x"}, "acme", Path("acme.json"), CASES)] == ["schema"]


def test_the_line_of_a_value_is_found_in_any_layout() -> None:
    source = '{"a": [1,\n {"b"\n:\n "x"}], "a\\u0062": {}}'
    assert line_of(source, ["a", 0]) == 1
    assert line_of(source, ["a", 1]) == 2
    assert line_of(source, ["a", 1, "b"]) == 4
    assert line_of(source, ["ab"]) == 4
    assert line_of(source, ["a", 7, "c"]) == 1
    assert line_of("[]", ["a"]) == 1


# Secrets and personal details

DETAILS = [
    ("key", "sk-ant-api03-abcdefghijklmnop1234", "PLACEHOLDER"),
    ("key", "AKIAABCDEFGHIJKLMNOP", "PLACEHOLDER"),
    ("key", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "PLACEHOLDER"),
    ("key", "gsk_abcdefghijklmnopqrstuvwxyz0123456789", "PLACEHOLDER"),
    ("bearer token", "Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer PLACEHOLDER"),
    ("web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "PLACEHOLDER"),
    ("private key", "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "PLACEHOLDER"),
    ("token in an address", "https://a.example/x?sig=abcdef12&b=1", "https://a.example/x?sig=PLACEHOLDER&b=1"),
    ("mail address", "ask jane.doe@acme.io now", "ask user@example.com now"),
    ("account number", "arn:aws:bedrock:us-east-1:123456789012:x", "arn:aws:bedrock:us-east-1:000000000000:x"),
    ("project number", "consumer 'project_number:100200300400'", "consumer 'project_number:PLACEHOLDER'"),
    ("UUID", "ref: 123e4567-e89b-12d3-a456-426614174000", "ref: 00000000-0000-0000-0000-000000000000"),
    ("id", "organization `org_01abcdefghjkmnpqrstvwxyz12`", "organization `org_PLACEHOLDER`"),
    ("id", "req_011AbCdEfGh12IjKlMnOpQrS", "req_PLACEHOLDER"),
    ("home folder", "file:///Users/jane/x and", "file:///Users/user/x and"),
    ("home folder", "C:\\Users\\jane\\x", "C:\\Users\\user\\x"),
    ("network address", "from 10.20.30.40:8080", "from 192.0.2.1:8080"),
    ("network address", "fe80:1:2:3:4:5:6:7", "2001:db8::1"),
    ("long hexadecimal text", "trace 0123456789abcdef0123456789abcdef", "trace PLACEHOLDER"),
    ("long coded text", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9v1", "PLACEHOLDER"),
]


@pytest.mark.parametrize(("kind", "given", "redacted"), DETAILS)
def test_a_detail_is_found_and_a_placeholder_takes_its_place(kind: str, given: str, redacted: str) -> None:
    (found,) = personal.find(given)
    assert found.kind == kind
    assert len(found.hint) <= 7
    assert personal.redact(given) == redacted
    assert personal.find(redacted) == []


@pytest.mark.parametrize(
    "harmless",
    [
        "req_PLACEHOLDER user_PLACEHOLDER org-PLACEHOLDER",
        "ref: 00000000-0000-0000-0000-000000000000",
        "http://127.0.0.1:8080/ 0.0.0.0 192.0.2.1",
        "retry in 39.844676573s, version 1.2.3",
        "generativelanguage.googleapis.com/generate_content_free_tier_input_token_count",
        "https://github.com/vllm-project/vllm-ascend/issues/11557",
        "x-amzn-errortype: ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/",
        "a length of 1048576 tokens, 2306631 bytes",
        "user@example.com",
        "call_options request_too_large_for_this_service session_expired",
    ],
)
def test_what_tells_nothing_about_anybody_is_left_alone(harmless: str) -> None:
    assert personal.find(harmless) == []
    assert personal.redact(harmless) == harmless


@pytest.mark.parametrize(
    "piece", ["a", "1", "a1", "sk-", "@", "a@", "a.", "1.", "a:", "eyJ", "/home/", "req_a", "?key=", "-----BEGIN "]
)
def test_a_hostile_text_is_looked_through_in_time(piece: str) -> None:
    hostile = piece * (200_000 // len(piece))
    began = time.perf_counter()
    personal.find(hostile)
    personal.redact(hostile)
    assert time.perf_counter() - began < 5


# The recorder


def test_the_recorder_finds_what_is_not_as_recorded(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = raw_case(id="kept", response=text("one"))
    folder = write(raw_case(), kept)
    command = ["overflow", "record", "--corpus", str(folder), "--implementation", "python:fake_classifier"]
    assert main(command) == 1
    out = capsys.readouterr().out
    assert 'acme-too-long\n  recorded error, no overflow, not sent again: "400"' in out
    assert '  now      error, overflow, sent again: "400: the text is too long"' in out
    assert "2 cases, 0 as recorded for pi-0.87, 2 not" in out

    assert main([*command, "--write"]) == 0
    assert "1 files written" in capsys.readouterr().out
    assert load_corpus(folder)[0].answers["pi-0.87"] == Answer("error", "400: the text is too long", True, True)
    assert main(command) == 0
    assert "2 cases, 2 as recorded for pi-0.87, 0 not" in capsys.readouterr().out
    assert main([*command, "--write"]) == 0
    assert "0 files written" in capsys.readouterr().out


def test_the_recorder_keeps_other_editions_and_what_it_gets_no_answer_to(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old = raw_case()["answers"]
    folder = write(
        raw_case(answers={"pi-1.6": old["pi-0.87"]}),
        raw_case(id="b", providerId="broken", answers=old),
    )
    command = ["overflow", "record", "--corpus", str(folder), "--implementation", "python:fake_classifier", "--write"]
    assert main(command) == 1
    assert "fake trouble" in capsys.readouterr().out
    first, second = load_corpus(folder)
    assert list(first.answers) == ["pi-0.87", "pi-1.6"]
    assert second.answers["pi-0.87"] == Answer("error", "400", False, False)


def test_the_recorder_writes_the_rules_that_a_case_is_about(write: Callable[..., Path]) -> None:
    new = {key: value for key, value in raw_case().items() if key not in ("answers", "requirements")}
    folder = write(new, raw_case(id="wrong", response=text("one"), requirements=["RSP-40"]))
    assert (
        main(["overflow", "record", "--corpus", str(folder), "--implementation", "python:fake_classifier", "--write"])
        == 0
    )
    assert [case.requirements for case in load_corpus(folder)] == [("RSP-18",), ("RSP-18",)]
    assert lint_corpus(folder) == []


def test_the_recorder_tells_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["overflow", "record", "--corpus", str(tmp_path)]) == 2
    assert "error: " in capsys.readouterr().err


def test_only_a_stalled_case_is_asked_with_a_short_time_limit() -> None:
    limits = {case.response.end: timeout_for(case) for case in CASES}
    assert limits["stall"] < 2000 < limits["close"] == limits["cut"]
