"""Bad input gets one clear message with file, line and remedy, exit code 2, and no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance.cli import main
from samples import vector


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err + captured.out
    return code, captured.err


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (vector(id=None), ["sample.json", "id"]),
        (vector(id=7), ["id"]),
        (vector(description=None), ["sample.json:2", "TOK-sample", "description"]),
        (vector(requirements=[]), ["sample.json:2", "requirements"]),
        (vector(requirements=["TOK-999"]), ["sample.json:2", "unknown requirement TOK-999", "list --requirements"]),
        (vector(operation="tokens/guess"), ["sample.json:2", "tokens/guess"]),
        (vector(params={"contextTokens": 5}), ["sample.json:2", "TOK-sample", "contextWindow"]),
        (vector(expect={"result": 1, "error": {"kind": "not_editable"}}), ["sample.json:2"]),
        (vector(expect={"error": {"kind": "because"}}), ["sample.json:2", "because"]),
        (vector(expect={"readings": [{"reading": "pi", "result": {}}]}), ["sample.json:2", "no reading 'pi'"]),
        (vector(twin="TOK-nowhere"), ["sample.json", "unknown twin TOK-nowhere"]),
        (vector(given={"entries": 3}), ["sample.json:2", "'entries' cannot be computed"]),
        (vector(surplus=1), ["sample.json:2", "surplus"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_broken_vector_is_named_with_its_place(
    broken: dict[str, Any],
    words: list[str],
    write_vectors: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_vectors(broken)
    code, message = told(capsys, "run", "--vectors", str(path.parent))
    assert code == 2
    for word in words:
        assert word in message


def test_a_vector_that_lost_its_point_is_an_error(
    write_vectors: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    params = {"messages": [{"role": "user", "content": "hello", "timestamp": 0}]}
    changes = {"operation": "tokens/of_context", "params": params, "given": {"messages": 2}}
    path = write_vectors(vector(**changes))
    code, message = told(capsys, "run", "--vectors", str(path.parent))
    assert code == 2
    assert "no longer exercises its point: messages is 1, not 2" in message


def test_an_id_used_twice_is_an_error(write_vectors: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(vector(), name="a.json")
    path = write_vectors(vector(), name="b.json")
    code, message = told(capsys, "run", "--vectors", str(path.parent))
    assert code == 2
    assert "TOK-sample is used twice" in message
    assert "a.json" in message
    assert "b.json" in message


def test_twins_that_expect_the_same_are_an_error(
    write_vectors: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_vectors(vector(id="TOK-one", twin="TOK-two"), vector(id="TOK-two"))
    code, message = told(capsys, "run", "--vectors", str(path.parent))
    assert code == 2
    assert "expect the same" in message


@pytest.mark.parametrize("other", [{"content": True}, {"tool": 1, "content": 1}])
def test_twins_may_differ_in_truth_for_one_or_in_the_order_of_members(
    other: dict[str, Any], write_vectors: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"content": 1} if len(other) == 1 else {"content": 1, "tool": 1}
    path = write_vectors(
        vector(id="TOK-one", twin="TOK-two", params={"message": own}, operation="tokens/of_message"),
        vector(
            id="TOK-two",
            twin="TOK-one",
            params={"message": other},
            operation="tokens/of_message",
            expect={"result": {"tokens": 1}},
        ),
    )
    _, message = told(capsys, "run", "--vectors", str(path.parent), "--only", "TOK-nowhere")
    assert "same params" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "sample.json"),
        (b'{"chapter": "tokens"}', "vectors"),
        (b"[" * 100_000, "nested too deeply"),
        (b"", "not JSON"),
        (b'{"NaN \\" NaN": 1,\n"vectors": [\nNaN]}', "sample.json:3: not JSON: NaN is no number"),
        (b'["-Infinity",\n -Infinity]', "sample.json:2: not JSON: -Infinity is no number"),
    ],
)
def test_a_file_that_is_no_vector_file_is_an_error(
    text: bytes, words: str, vector_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vector_folder / "sample.json").write_bytes(text)
    code, message = told(capsys, "run", "--vectors", str(vector_folder))
    assert code == 2
    assert words in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--vectors", "/proc/missing"], "/proc/missing: no such folder"),
        (["run", "--only", "NOT-THERE"], "no vector fits"),
        (["run", "--edition", "pi-9"], "unknown edition"),
        (["run", "--implementation", "no-such-adapter --flag"], "'no-such-adapter' is not found"),
        (["run", "--implementation", "/proc/missing/adapter"], "is not found"),
        (["run", "--implementation", "python:no_such_module"], "cannot import it"),
        (["run", "--implementation", "python:json"], "has no describe()"),
        (["run", "--implementation", "python:json:nothing.here"], "cannot import it"),
        (["run", "--implementation", "'unbalanced"], "cannot be read as a command"),
        (["run", "--implementation", " "], "no command given"),
        (["explain", "PRJ-999"], "neither a requirement nor a vector"),
        (["replay", "/proc/missing.jsonl"], "cannot be read"),
        (["compare", "reference", "reference", "/proc/missing.jsonl"], "cannot be read"),
        (["attest", "--implementation", "reference", "/proc/missing.json"], "cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_argument_is_named(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, message = told(capsys, *arguments)
    assert code == 2
    assert words in message


def test_a_file_that_is_no_session_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"type":"message"}\n')
    code, message = told(capsys, "compare", "reference", "reference", str(path))
    assert code == 2
    assert "not a session file" in message


def test_a_repro_file_with_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "repro.jsonl"
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {}}) + "\nnonsense\n")
    code, message = told(capsys, "replay", str(path))
    assert code == 2
    assert f"{path}:2" in message


def test_an_adapter_that_does_not_speak_leaves_the_run_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    code, message = told(capsys, "run", "--implementation", "echo hello")
    assert code == 3
    assert "hello" in message


def test_validate_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n{"type":5}\n'
    )
    assert main(["validate", "--strict", str(path)]) == 1
    assert f"{path}:2" in capsys.readouterr().out
