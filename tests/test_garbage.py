"""Whatever is fed to a verb, an adapter or a file: one clear message, the right exit code, and nothing breaks."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import adapters, given, installations, paths, schemas, seal, terminal
from compaction_conformance.attest import attest_file
from compaction_conformance.cli import main
from compaction_conformance.compare import compare_file
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Error, ExpectRefusal
from compaction_conformance.implementation import Implementation
from compaction_conformance.json_files import MAX_BYTES, read_bytes, write_text
from compaction_conformance.judge import first_difference, strings_of_params
from compaction_conformance.paths import fixtures_dir, spec_dir, vector_files
from compaction_conformance.pytest_plugin import __name__ as plugin
from compaction_conformance.run import FAILED, Outcome
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.spec import Requirement, load_spec
from compaction_conformance.vectors import Vector
from compaction_reference.__main__ import PROFILES, Server, _line
from disk import full_disk
from samples import vector

SESSION = fixtures_dir() / "sessions" / "first-steps.jsonl"
HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n'
WRONG = [None, True, -1, 1.5, 2**60, "", "x", [], [None], ["x"], [[]], {}, {"x": None}]
SOUND = b'{"jsonrpc":"2.0","id":77,"method":"tokens/from_usage","params":{"usage":{"totalTokens":5}}}'

Cli = Callable[..., tuple[int, str, str]]


def rule() -> Requirement:
    return load_spec(spec_dir()).requirements["TOK-01"]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in an empty folder and gives back exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return code, captured.out, captured.err

    return run


@pytest.fixture
def reference() -> Iterator[Implementation]:
    side = connect("reference", Settings())
    yield side
    side.close()


def smallest_params(profile: str) -> dict[str, dict[str, Any]]:
    """For every operation, the params of one small vector."""
    found: dict[str, dict[str, Any]] = {}
    for file in vector_files():
        if ("harness" in file.parent.name) == (profile == "harness"):
            for one in json.loads(file.read_bytes())["vectors"]:
                known = found.setdefault(one["operation"], one["params"])
                if len(json.dumps(one["params"])) < len(json.dumps(known)):
                    found[one["operation"]] = one["params"]
    return found


def answer_of(server: Server, method: str, params: Any) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}
    answer: dict[str, Any] = json.loads(_line(server.answer(json.dumps(request).encode())))
    assert answer["id"] == 5
    assert ("result" in answer) != ("error" in answer)
    return answer


# The reference as a server


@pytest.fixture(scope="module", params=PROFILES)
def served(request: pytest.FixtureRequest) -> tuple[Server, dict[str, dict[str, Any]]]:
    """A server that was introduced to a profile, and sound params for its operations."""
    server = Server()
    answer_of(server, "initialize", {"profile": request.param})
    params = smallest_params(request.param)
    known = {name: value for name, value in params.items() if name in server.operations.OPERATIONS}
    assert known.keys() >= set(server.operations.OPERATIONS) - {"overflow/classify"}  # asked over HTTP alone
    return server, known


def test_a_param_of_a_wrong_type_is_malformed_input(served: tuple[Server, dict[str, dict[str, Any]]]) -> None:
    server, sound = served
    for operation, params in sound.items():
        for changed in [*WRONG, *({**params, name: value} for name in params for value in WRONG)]:
            answer = answer_of(server, operation, changed)
            assert answer.get("error", {"code": -32000})["code"] == -32000, (operation, changed, answer)


def test_params_that_break_their_schema_at_the_top_are_refused(
    served: tuple[Server, dict[str, dict[str, Any]]],
) -> None:
    server, sound = served
    for operation, params in sound.items():
        for name in params.keys() & {"entries", "messages", "drafts", "settings", "startIndex", "content", "global"}:
            for value in (5, [5], {"x": 5}, "x"):
                changed = {**params, name: value}
                problem = schemas.first_error(schemas.params_schema(operation), changed)
                if problem and problem.pointer == f"/{name}":
                    error = answer_of(server, operation, changed)["error"]
                    assert error["data"] == {"kind": "malformed_input"}, (operation, changed)
                    assert name in error["message"]


def test_a_missing_param_is_malformed_input(served: tuple[Server, dict[str, dict[str, Any]]]) -> None:
    server, sound = served
    for operation, params in sound.items():
        for name in params.keys() - {"leafId"}:
            less = {key: value for key, value in params.items() if key != name}
            error = answer_of(server, operation, less).get("error", {"data": {"kind": "malformed_input"}})
            assert error["data"] == {"kind": "malformed_input"}, (operation, name)
        if operation != "overflow/classify_text":  # takes any error, also one without a text
            assert answer_of(server, operation, {})["error"]["message"].endswith("is missing"), operation


@pytest.mark.parametrize("profile", PROFILES)
def test_null_keeps_as_little_as_zero(profile: str) -> None:
    """JSON has no NaN: `null` stands for a number that cannot be held, and JavaScript takes it for 0."""
    server = Server()
    answer_of(server, "initialize", {"profile": profile})
    params = smallest_params(profile)["cut/find"]
    answers = [answer_of(server, "cut/find", {**params, "keepRecentTokens": tokens}) for tokens in (None, 0)]
    assert answers[0] == answers[1]


def test_a_whole_number_written_as_a_fraction_is_an_index() -> None:
    params = smallest_params("coding-agent")["cut/find"]
    floats = {**params, **{name: float(params[name]) for name in ("startIndex", "endIndex")}}
    assert answer_of(Server(), "cut/find", floats) == answer_of(Server(), "cut/find", params)


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"\xff\xfe", -32700, None),
        (b"\x00", -32700, None),
        (b"\xef\xbb\xbf" + SOUND, -32700, None),
        (b"{", -32700, None),
        (b'{"id":NaN}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"null", -32600, None),
        (b"[" + SOUND + b"]", -32600, None),
        (b'{"jsonrpc":"2.0","method":"tokens/from_usage"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"__proto__","params":{}}', -32601, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d","params":{}}', -32601, 1),
    ],
)
@pytest.mark.parametrize("name", ["reference", "node-example"])
def test_a_line_that_is_no_request_is_answered_and_the_server_lives(
    name: str, line: bytes, code: int, request_id: int | None
) -> None:
    answer, after = (json.loads(text) for text in talk(name, line + b"\n\n" + SOUND + b"\n"))
    if name == "node-example" and line.startswith(b"[["):
        assert answer["error"]["code"] in (-32700, -32600)  # JavaScript reads it, and sees that it is no request
    else:
        assert (answer["id"], answer["error"]["code"]) == (request_id, code)
    assert after == {"jsonrpc": "2.0", "id": 77, "result": {"tokens": 5}}


def test_a_deep_result_is_an_error_and_the_server_lives() -> None:
    deep = b'{"jsonrpc":"2.0","id":5,"method":"session/path","params":{"entries":[{"id":"a","x":%s}]}}'
    nested = b"[" * 20_000 + b"]" * 20_000
    answer, after = map(json.loads, talk("node-example", deep % nested + b"\n" + SOUND + b"\n"))
    assert (answer["id"], answer["error"]["code"], after["id"]) == (5, -32603, 77)
    infinite = b"[" * 700 + b"1e999" + b"]" * 700
    answer, after = map(json.loads, talk("reference", deep % infinite + b"\n" + SOUND + b"\n"))
    assert (answer["id"], after["id"]) == (5, 77)


def test_a_message_of_the_reference_is_bounded() -> None:
    error = Server().answer(b'{"jsonrpc":"2.0","id":1,"method":"%s"}' % (b"a" * 1_000_000))["error"]
    assert len(error["message"]) < 1000


def test_the_reference_answers_in_utf_8_whatever_the_environment_says() -> None:
    (answer,) = talk("reference", SOUND + b"\n", PYTHONIOENCODING="utf-16")
    assert json.loads(answer)["result"] == {"tokens": 5}


@pytest.mark.parametrize("name", ["reference", "node-example"])
def test_an_adapter_whose_answers_nobody_reads_ends_without_noise(name: str) -> None:
    with subprocess.Popen(
        command_of(name), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin and child.stdout and child.stderr
        child.stdout.close()
        child.stdin.write(SOUND + b"\n")
        child.stdin.close()
        assert child.stderr.read() == b""
        assert child.wait(20) == 1


def command_of(name: str) -> list[str]:
    return [sys.executable, "-m", "compaction_reference"] if name == "reference" else adapters.command_for(name)[0]


def talk(name: str, lines: bytes, **environment: str) -> list[str]:
    run = subprocess.run(
        command_of(name),
        input=lines,
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, **environment},
    )
    assert run.stderr == b""
    return run.stdout.decode().splitlines()


# Files


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def loop(path: Path) -> Path:
    path.symlink_to(path.name)
    return path


def huge(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    return path


def device(_: Path) -> Path:
    return Path("/dev/zero")


def overlong(path: Path) -> Path:
    return path.with_name("a" * 999)


@pytest.mark.parametrize("make", [pipe, folder, loop, huge, device, overlong])
@pytest.mark.parametrize(
    "verb",
    [
        ["replay"],
        ["attest", "--implementation", "reference"],
        ["compare", "reference", "reference"],
        ["handover", "reference", "reference"],
        ["overflow", "add"],
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
def test_what_is_no_file_is_named_and_never_waited_for(
    verb: list[str], make: Callable[[Path], Path], cli: Cli, tmp_path: Path
) -> None:
    code, _, message = cli(*verb, make(tmp_path / "x.jsonl"))
    assert code == 2
    assert "cannot be read" in message


@pytest.mark.parametrize("make", [pipe, folder, loop])
def test_what_is_no_file_among_the_vectors_is_named(
    make: Callable[[Path], Path], cli: Cli, vector_folder: Path
) -> None:
    make(vector_folder / "x.json")
    code, _, message = cli("list", "--vectors", vector_folder)
    assert code == 2
    assert "x.json: cannot be read" in message


def test_a_folder_without_vectors_is_an_error(cli: Cli, vector_folder: Path) -> None:
    code, _, message = cli("list", "--vectors", vector_folder)
    assert code == 2
    assert "holds no vector file" in message


def test_validate_tells_an_unreadable_file_from_an_unsound_one(cli: Cli, tmp_path: Path) -> None:
    unsound = tmp_path / "s.jsonl"
    unsound.write_text("[]\n")
    assert cli("validate", unsound)[0] == 1
    assert cli("validate", unsound, tmp_path / "nowhere.jsonl", unsound)[0] == 2


@pytest.mark.parametrize(
    "expected",
    [
        {"$lines": 5},
        {"$lines": {}},
        {"$text": 5},
        {"$text": {"starts": 5}},
        {"$text": {"holds": "x"}},
        {"$text": {"x": ""}},
    ],
    ids=json.dumps,
)
def test_a_placeholder_out_of_shape_is_an_error(expected: Any, write_vectors: Callable[..., Path], cli: Cli) -> None:
    path = write_vectors(vector(expect={"result": {"compact": [expected]}}))
    code, _, message = cli("list", "--vectors", path.parent)
    assert code == 2
    assert f"sample.json:2: TOK-sample: {next(iter(expected))}" in message


@pytest.mark.parametrize("before", ["", '"NaN ' + "9" * 5_000 + '",\n', "1.5e5,\n0." + "9" * 5_000 + ",\n"])
def test_a_number_of_too_many_digits_is_named_with_its_line(before: str, cli: Cli, vector_folder: Path) -> None:
    file = vector_folder / "x.json"
    file.write_text(f"[\n{before}-{'9' * 10_000}]")
    for words in (["list", "--vectors", vector_folder], ["attest", "--implementation", "reference", file]):
        code, _, message = cli(*words)
        assert code == 2
        assert f"x.json:{2 + before.count(chr(10))}: cannot be read as JSON: a number of more than 4300" in message
        assert "Exceeds" not in message


def test_bytes_that_are_no_base64_are_an_error(write_vectors: Callable[..., Path], cli: Cli) -> None:
    path = write_vectors(vector(operation="session/parse", params={"contentBase64": "!"}))
    code, _, message = cli("list", "--vectors", path.parent)
    assert code == 2
    assert "params/contentBase64" in message
    assert strings_of_params({"contentBase64": "!"}) == {"!"}


@pytest.mark.parametrize("text", ["[]", "{}", '{"vectors": 5}', '{"vectors": [5]}', "{", "[" * 100_000])
def test_tombstones_out_of_shape_are_named(
    text: str, write_vectors: Callable[..., Path], cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "tombstones.json").write_text(text)
    code, _, message = cli("list", "--vectors", write_vectors(vector()).parent)
    assert code == 2
    assert "tombstones.json" in message


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize(
    "broken",
    [{"requirements": [{}]}, {"requirements": None}, {"operation": None}, {"params": 5}, {"id": None}, {"expect": 5}],
    ids=json.dumps,
)
def test_attest_names_a_vector_out_of_shape(
    broken: dict[str, Any], fill: bool, write_vectors: Callable[..., Path], reference: Implementation
) -> None:
    with pytest.raises(InvalidInput, match=r"sample\.json"):
        attest_file(write_vectors(vector(**broken)), reference, load_spec(spec_dir()), fill=fill)


def test_attest_keeps_the_file_when_the_disk_is_full(
    write_vectors: Callable[..., Path], reference: Implementation
) -> None:
    path = write_vectors(vector(expect=None))
    before = path.read_bytes()
    with full_disk(), pytest.raises(InvalidInput, match="cannot be written: File too large"):
        attest_file(path, reference, load_spec(spec_dir()), fill=True)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"# T\n\n\xff\n", "01-x.md:3: not UTF-8"),
        (b"# T\n\n### PRJ-07\nMUST\n", "01-x.md:3: heading out of shape"),
        ("# T\n\n### PRJ-07 · x\n".encode(), "01-x.md:3: PRJ-07 has no valid level line"),
        ("# T\n\n### PRJ-07 · x\nMUST · pi-0.87 · observed\n".encode(), "PRJ-07 has no sentence"),
    ],
)
def test_a_chapter_out_of_shape_is_named(text: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "01-x.md").write_bytes(text)
    with pytest.raises(InvalidInput, match=words):
        load_spec(tmp_path)


def test_a_chapter_may_hold_no_rule(tmp_path: Path) -> None:
    (tmp_path / "01-x.md").write_text("")
    assert load_spec(tmp_path).chapters[0].requirements == ()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schemas": 5, "files": 6}', "[" * 100_000])
def test_a_broken_seal_is_no_seal(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "seal.json").write_text(text)
    monkeypatch.setattr(seal, "fixtures_dir", lambda: tmp_path)
    seal._sealed.cache_clear()
    try:
        assert not seal.is_sealed(vector_files()[0].read_bytes())
    finally:
        seal._sealed.cache_clear()


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000])
def test_a_broken_installation_is_told(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "schemas").mkdir()
    for name in ("schemas/definitions.json", "overflow-patterns.json"):
        (tmp_path / name).write_text(text)
    for module in (schemas, given):
        monkeypatch.setattr(module, "spec_dir", lambda: tmp_path)
    with pytest.raises(InvalidInput, match=r"definitions\.json"):
        schemas.all_schemas.__wrapped__()
    with pytest.raises(InvalidInput, match=r"overflow-patterns\.json"):
        given._patterns.__wrapped__("patterns")
    with pytest.raises(InvalidInput, match="reinstall"):
        paths._folder("nothing", tmp_path / "nothing")


def test_the_place_of_a_file_is_escaped(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_bytes(tmp_path / "a\n\x1b[31m\udcff")
    assert str(caught.value).isprintable()
    assert "a\\n\\x1b[31m\\udcff" in str(caught.value)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_text(folder(tmp_path / "x"), "text")
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_a_file_that_is_replaced_keeps_its_rights_and_its_neighbours(tmp_path: Path) -> None:
    path, neighbour = tmp_path / "x", tmp_path / "x.part"
    path.write_text("old")
    path.chmod(0o604)
    neighbour.write_text("mine")
    write_text(path, "half of a pair: \ud800")
    assert path.read_text() == "half of a pair: \\ud800"
    assert path.stat().st_mode & 0o777 == 0o604
    assert neighbour.read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


REPORTS = ["run", "--only", "TOK-usage-total-wins", "--implementation", "python:wrong:crashes", "--json"]


def test_a_report_is_written_whole_or_not_at_all(cli: Cli, tmp_path: Path) -> None:
    for name in ("r.jsonl", "r.xml"):
        (tmp_path / name).write_text("old")
    with full_disk():
        code, out, message = cli(*REPORTS, "r.jsonl", "--junit", "r.xml", "--repro", "/dev/null")
    assert code == 2
    assert "not conformant" in out
    assert "cannot be written: File too large" in message
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"r.jsonl": "old", "r.xml": "old"}


@pytest.mark.parametrize("place", ["/dev/full", "pipe"])
def test_a_report_that_cannot_be_written_costs_no_other(place: str, cli: Cli, tmp_path: Path) -> None:
    pipe(tmp_path / "pipe")
    code, out, message = cli(*REPORTS, place, "--junit", "r.xml")
    assert code == 2
    assert "not conformant" in out
    assert message.count("cannot be written") == 1
    assert ("nobody reads from it" in message) == (place == "pipe")
    assert (tmp_path / "r.xml").read_text().startswith("<?xml version='1.0' encoding='utf-8'?>")


def test_a_report_goes_where_our_own_output_goes(tmp_path: Path) -> None:
    command = f"{sys.executable} -m compaction_conformance.cli run --only TOK-usage-total-wins --json"
    program = f"echo before > o; {command} /dev/stdout >> o; {command} /dev/stdout | tail -n 1; {command} o > o2"
    run = subprocess.run(program, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(run.stdout)["type"] == "footer"
    assert "conformant" in (tmp_path / "o2").read_text()
    assert json.loads((tmp_path / "o").read_text().splitlines()[0])["type"] == "header"
    redirected = f"echo before > o; {command} /dev/stdout >> o"
    subprocess.run(redirected, shell=True, cwd=tmp_path, timeout=60, check=True)
    lines = (tmp_path / "o").read_text().splitlines()
    assert lines[0] == "before"
    assert any("conformant" in line for line in lines)
    assert json.loads(lines[-1])["type"] == "footer"


# Sessions


def test_an_empty_session_is_no_difference(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    assert cli("compare", "reference", "reference", "s.jsonl")[0] == 0


@pytest.mark.parametrize("last", ['"text"', '{"type":"custom"}', '{"id":[]}', '{"id":{}}', "5", "[" * 900 + "]" * 900])
def test_a_damaged_last_line_is_compared(last: str, reference: Implementation, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(HEADER + last + "\n")
    comparison = compare_file(reference, reference, path)
    assert comparison.first is None
    assert not comparison.incomplete


def test_a_parse_result_out_of_shape_is_a_difference(
    reference: Implementation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad_parse.py").write_text(
        "from compaction_reference.operations import describe\ndef call(method, params): return [5]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    other = connect("python:bad_parse", Settings())
    comparison = compare_file(reference, other, SESSION)
    assert comparison.first
    assert "schema_violation" in json.dumps(comparison.first.difference.got)


@pytest.mark.parametrize("verb", ["compare", "handover"])
@pytest.mark.parametrize("deep", ["[" * 100_000 + "]" * 100_000, "[" * 5_000 + "]" * 5_000, '{"x":' * 2_000])
def test_a_line_that_is_nested_too_deeply_is_named(deep: str, verb: str, cli: Cli, tmp_path: Path) -> None:
    sound, file = tmp_path / "a.jsonl", tmp_path / "s.jsonl"
    sound.write_bytes(SESSION.read_bytes())
    file.write_text(f'{HEADER}{{"type":"custom","id":"a","parentId":null,"data":{deep}}}\n')
    code, out, message = cli(verb, "reference", "reference", sound, file)
    assert (code, out) == (2, "")
    assert message.startswith(f"error: {file}:2: nested too deeply")


@pytest.mark.parametrize("text", ["[" * 10_000, '\\"[' * 10_000, '"' + "[" * 5_000, '\\"'])
def test_brackets_in_a_text_are_no_depth(text: str, cli: Cli, tmp_path: Path) -> None:
    entry = {"type": "custom", "id": "a", "parentId": None, "data": text}
    (tmp_path / "s.jsonl").write_text(HEADER + json.dumps(entry) + "\n")
    assert cli("compare", "reference", "reference", "s.jsonl")[0] == 0


def test_one_point_of_a_session_is_enough(cli: Cli) -> None:
    assert cli("compare", "reference", "reference", "--sample", "1", SESSION)[0] == 0


# Arguments, streams and surroundings


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--only", "\x1b[31m"], "'\\x1b[31m'"),
        (["explain", "\x1b[31m"], "\\x1b[31m is neither"),
        (["run", "--only", "TOK-01", "--json", "."], "cannot be written"),
        (["run", "--only", "TOK-01", "--junit", "no/where"], "cannot be written"),
        (["list", "--vectors", "a" * 999], "File name too long"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_a_bad_argument_is_named(arguments: list[str], words: str, cli: Cli) -> None:
    code, _, message = cli(*arguments)
    assert code == 2
    assert words in message
    assert "\x1b" not in message


@pytest.mark.parametrize(
    "arguments",
    [
        "compare a b c --sample 0",
        "compare a b c --sample 1000001",
        "run --failures x",
        "run --failures 1_0",
        "run -n 0",
        "run -n 65",
        "run -n ٣",
        "run --restarts -1",
        "run --restarts 1e3",
        "search -n 1000000",
        "search --seed 99999999999999999999",
        "search --examples 0",
        "mutate -n 65",
        "growth --entries 50001",
        "overflow agree a b --texts 1000001",
        "overflow try x --status 99",
        "overflow try x --context-window 9007199254740992",
        "overflow score --least nan",
        "overflow score --least 1.1",
        "serve --port 1_000",
        "serve --port 65536",
        *(f"run --timeout {text}" for text in ("1e-320", "0", "nan", "inf", "1e300", "1_0", "٣", "1e400")),
        "overflow check-pattern x --time-limit 1e18",
        "search --seconds -1",
    ],
)
def test_a_number_out_of_bounds_is_refused(arguments: str, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli(*arguments.split())
    assert end.value.code == 2
    assert re.search(r"argument .*: must be a (whole )?number.* from \S+ to \d+\n", capsys.readouterr().err)


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("seconds", ["1000000", "1e6", "9.5", ".5", "5."])
def test_a_time_limit_may_be_as_long_as_the_clock_goes(processes: str, seconds: str, cli: Cli) -> None:
    assert cli("run", "--only", "TOK-usage-total-wins", "--timeout", seconds, "-n", processes)[0] == 0
    assert cli("overflow", "check-pattern", "xyzzy", "--time-limit", "1e6")[0] == 0


def test_an_argument_that_is_not_known_is_escaped(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli("list", "\x1b[31m")
    assert "unrecognized arguments: \\x1b[31m" in capsys.readouterr().err


def test_failures_are_told_where_no_reproduction_can_be_kept(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    code, out, message = cli("run", "--only", "TOK-01", "--implementation", "python:wrong:crashes", "--repro", "taken")
    assert code == 1
    assert "FAIL TOK-usage-total-wins" in out
    assert message.count("no reproductions are kept") == 1


@pytest.mark.parametrize(
    "redirected", ["| head -1", "| true", ">/dev/full", ">&-", "2>&-", "2>/dev/full", "<&- >&- 2>&-"]
)
@pytest.mark.parametrize("arguments", ["list --operations", "--help"])
def test_a_stream_that_is_shut_ends_without_noise(arguments: str, redirected: str) -> None:
    program = f"{sys.executable} -m compaction_conformance.cli {arguments} {redirected}"
    run = subprocess.run(program, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode in (0, 3)
    if redirected == ">/dev/full" and (arguments != "--help" or run.returncode):
        assert (run.returncode, run.stderr.count("\n")) == (3, 1)  # some versions of argparse hide it
        assert "No space left on device" in run.stderr
    else:
        assert run.stderr == ""


def test_a_mistake_has_its_exit_code_where_nobody_hears_of_it() -> None:
    program = f"{sys.executable} -m compaction_conformance.cli explain --edition nonsense x 2>/dev/full"
    run = subprocess.run(program, shell=True, capture_output=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (2, b"")


def test_a_terminal_that_knows_ascii_alone_is_told_in_escapes() -> None:
    command = [sys.executable, "-m", "compaction_conformance.cli", "list", "--edition", "nön"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C", "TERM": "dumb"}
    run = subprocess.run(command, capture_output=True, timeout=60, check=False, env=environment)
    assert run.returncode == 2
    assert b"unknown edition 'n\\xf6n'\n  \\u2192 known: pi-0.87" in run.stderr


@pytest.mark.parametrize("variable", [adapters.MODULES_VARIABLE, adapters.CACHE_VARIABLE])
def test_the_home_of_nobody_is_no_folder(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(adapters.MODULES_VARIABLE, raising=False)
    monkeypatch.setenv(variable, "~nobody-at-all/cache")
    with pytest.raises(adapters.AdapterUnavailable, match=f"no home folder.*set {variable}"):
        adapters.command_for("pi")


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in (installations.CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "expanduser", nobody)
    with pytest.raises(installations.AdapterUnavailable, match="no home folder"):
        installations.cache_folder()


def test_a_working_directory_that_is_gone_is_none_of_our_business(tmp_path: Path) -> None:
    program = f"cd {folder(tmp_path / 'gone')} && rmdir ../gone && {sys.executable} -P -m compaction_conformance.cli"
    run = subprocess.run(
        f"{program} replay --implementation reference /dev/null",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 2
    assert "/dev/null: cannot be read" in run.stderr


# Values


def test_values_that_are_nested_too_deeply_are_told() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    found = first_difference(deep, deep)
    assert found
    assert found.note == "nested too deeply to be compared"
    assert len(terminal.shown(deep)) < 1_000  # in words where json gives up, else cut short


def test_what_is_shown_of_a_value_takes_no_more_memory_than_it() -> None:
    size = 5_000_000
    values: list[Any] = ["x" * size, "\x7f" * size, ["\x01" * size], {"k" * size: 1}, [0] * size]
    refusal = ExpectRefusal("not_a_session")
    told = Vector("TOK-x", (rule(),), "", "tokens/of_message", {}, refusal, "tokens", Path("x"))
    tracemalloc.start()
    try:
        for value in values:
            assert len(terminal.shown(value)) < 2_000
            assert len("".join(terminal.shown_apart(value, value))) < 4_000
        reply = Error("not_editable", values[1])
        outcome = Outcome(told, FAILED, refusal.judge(reply, {}), reply)
        assert len(terminal.failure_block(outcome, "label", "command", None)) < 10_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 13 * size  # an escape is of six characters, and is copied once
    assert "(more than 1000000 characters)" in terminal.shown(values[0])


def test_lines_that_nobody_expects_are_not_all_taken_apart() -> None:
    text = "{}\n" + "ab\n" * 1_000_000
    tracemalloc.start()
    try:
        found = first_difference({"$lines": [{}, "ab"]}, text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found
    assert (found.pointer, found.got) == ("/2", "ab")
    assert peak < 3 * len(text)


@pytest.mark.parametrize("text", ["", "a\n", "\n\n", "a\nb"])
def test_lines_are_compared_to_the_last(text: str) -> None:
    assert first_difference({"$lines": text.split("\n")}, text) is None
    assert first_difference({"$lines": [*text.split("\n"), "x"]}, text)
    assert first_difference({"$lines": text.split("\n")}, text + "\n")


def test_what_cannot_be_printed_is_escaped() -> None:
    assert printable("a\x1b\u202e\ud800\xa0é\x7f") == "a\\x1b\\u202e\\ud800\\xa0é\\x7f"
    assert brief("\x1b" * 100, 2) == "\\x1b\\x1b… (100 characters)"


@pytest.mark.parametrize("name", ["\x1b[31m" * 20_000, "n" * 100_000])
def test_a_long_name_is_cut_in_every_line(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long_name.py").write_text(
        "from compaction_reference import operations\n"
        f"NAME = {name!r}\n"
        "def describe():\n"
        "    about = operations.describe()\n"
        "    about['implementation']['name'] = NAME\n"
        "    about['operations'] += ['x/' + 'a' * number for number in range(1000, 1099)]\n"
        "    return about\n"
        "def call(method, params): return 1 if method == 'tokens/from_usage' else operations.call(method, params)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "long_name", raising=False)
    code, out, message = cli("run", "--implementation", "python:long_name", "--only", "TOK-01", "--declared-only")
    assert code == 1
    assert max(map(len, (out + message).splitlines())) < 5_000
    assert "\x1b" not in out + message
    assert message.count("\n") < 20
    command = shlex.join([sys.executable, "-m", "compaction_reference", name])
    for words in (["overflow", "score", "--implementation"], ["overflow", "try", "x", "--implementation"]):
        code, out, message = cli(*words, command)
        assert code == 0
        assert max(map(len, (out + message).splitlines())) < 5_000
        assert "\x1b" not in out + message


def test_a_method_of_a_repro_file_is_escaped(cli: Cli, tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tokens/\x1b[31m", "params": {}}
    (tmp_path / "r.jsonl").write_text(json.dumps(request))
    assert cli("replay", "r.jsonl")[1].startswith("tokens/\\x1b[31m\n")


def test_a_description_of_a_vector_is_escaped(cli: Cli, write_vectors: Callable[..., Path]) -> None:
    folder = write_vectors(vector(description="\x1b[31m", expect={"result": {"compact": "\x1b"}})).parent
    for words in (["list"], ["explain", "TOK-sample"], ["run", "--only", "TOK-sample"]):
        _, out, message = cli(*words, "--vectors", folder)
        assert "\x1b" not in out + message
        assert "\\x1b[31m" in out


def test_what_is_shown_of_an_input_is_bounded() -> None:
    items = [{"id": "x" * 1_000_000, "type": {"y": "z" * 1_000_000}, "targetId": ["t" * 1_000_000]}] * 50
    assert len(terminal.describe_input({"entries": items, "messages": items})) < 10_000


# The pytest plugin


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--edition", "x"], 2, "unknown edition 'x'"),
        (["--vectors", "/nonexistent"], 2, "/nonexistent: no such folder"),
        (["--only", "nothing-fits"], 4, "no vector fits --only 'nothing-fits'"),
        (["--only", "TOK-01", "--implementation", "no-such-program"], 2, "'no-such-program' is not found"),
        (["--only", "TOK-01", "--implementation", "echo hello"], 3, "no handshake with echo hello"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_plugin_tells_a_mistake_once(options: list[str], code: int, words: str, tmp_path: Path) -> None:
    suite = ["--pyargs", "compaction_conformance.suite.test_vectors"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *suite, *options]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert plugin
    assert run.returncode == code, run.stdout
    assert run.stdout.count(words) == 1
    assert "Traceback" not in run.stdout + run.stderr
    assert "File " not in run.stdout
