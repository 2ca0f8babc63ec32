"""The adapters to published ports, without network and ports: pins, shapes, installation, and the half they share."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from compaction_conformance import adapters, port_environments, schemas
from compaction_conformance.cli import main
from compaction_conformance.paths import adapters_dir, spec_dir

PORTS = adapters_dir() / "ports"
NAMES = ["aelix", "pi-agent-harness-lc", "pi-ai-python", "pp-coding-agent", "tau-by-clarity"]
FILES = sorted(file for file in PORTS.rglob("*") if file.is_file() and file.suffix != ".pyc")
RULE = re.compile(r"\b(?!UTF)[A-Z]{3}-\d\d\d?\b")

Program = Callable[[str, str], None]


def text(*parts: str) -> str:
    return PORTS.joinpath(*parts).read_text(encoding="utf-8")


def assigned(name: str, variable: str) -> ast.expr:
    """What the adapter's module assigns to the variable; the module itself cannot be imported without its port."""
    for node in ast.parse(text(name, "adapter.py")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if [target.id for target in targets if isinstance(target, ast.Name)] == [variable]:
            assert isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            return node.value
    raise AssertionError(f"{name} assigns no {variable}")


def operations(name: str) -> list[str]:
    table = assigned(name, "OPERATIONS")
    assert isinstance(table, ast.Dict)
    return [key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]


class TestPins:
    def test_the_ports_are_the_folders(self) -> None:
        assert port_environments.names() == NAMES
        assert adapters.names()[-len(NAMES) :] == NAMES

    @pytest.mark.parametrize("name", NAMES)
    def test_every_package_has_one_version_and_hashes(self, name: str) -> None:
        lines = [line for line in text(name, "requirements.txt").splitlines() if not line.lstrip().startswith("#")]
        entries = re.split(r"\n(?=\S)", "\n".join(lines))
        assert len(entries) > 5
        for entry in entries:
            first, *rest = [part.strip(" \\") for part in entry.splitlines()]
            assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*==[a-z0-9.]+( ; .+)?", first), first
            assert rest, first
            for each in rest:
                assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each), (first, each)

    @pytest.mark.parametrize("name", NAMES)
    def test_what_is_wanted_is_what_is_pinned(self, name: str) -> None:
        wanted = text(name, "requirements.in").split()
        assert wanted
        pinned = re.findall(r"^(\S+==\S+)", text(name, "requirements.txt"), re.MULTILINE)
        assert set(wanted) <= set(pinned)
        assert port_environments.wanted(name) == " ".join(wanted)

    @pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PORTS)))
    def test_no_file_names_an_index(self, file: Path) -> None:
        content = file.read_text(encoding="utf-8")
        assert not re.search(r"py[p]i|python[h]osted|index-url", content.replace("--no-emit-index-url", ""))
        assert all("github.com" in url for url in re.findall(r"https?://\S+", content))


class TestShapes:
    @pytest.mark.parametrize("name", NAMES)
    def test_only_operations_of_the_protocol_are_declared_and_once(self, name: str) -> None:
        declared = operations(name)
        assert len(declared) == len(set(declared)) >= 8
        assert set(declared) <= set(schemas.operations())

    @pytest.mark.parametrize("name", NAMES)
    def test_refusals_have_kinds_of_the_protocol(self, name: str) -> None:
        kinds = set(
            re.findall(r"^\| `(\w+)` \|", (spec_dir() / "protocol.md").read_text(encoding="utf-8"), re.MULTILINE)
        )
        table = ast.literal_eval(assigned(name, "KINDS"))
        assert {kind for _, kind in table} <= kinds
        for pattern, _ in table:
            re.compile(pattern)

    @pytest.mark.parametrize("name", NAMES)
    def test_an_adapter_tells_its_name_its_distribution_and_its_home(self, name: str) -> None:
        about = ast.literal_eval(assigned(name, "ABOUT"))
        assert set(about) == {"name", "distribution", "url"}
        assert about["name"] == name
        assert f"{about['distribution']}==" in text(name, "requirements.in")

    @pytest.mark.parametrize("name", NAMES)
    def test_the_documents_tell_version_licence_and_operations(self, name: str) -> None:
        version = text(name, "requirements.in").split()[0].split("==")[1]
        row = next(line for line in text("README.md").splitlines() if line.startswith(f"| [`{name}`]"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == f"[`{name}`]({name}/README.md)"
        assert cells[1] == version
        assert cells[5] == str(len(operations(name)))
        page = " ".join(text(name, "README.md").split())
        assert page.startswith(f"# {name} {version} {cells[2]}, <")
        met = re.fullmatch(r"(\d+) of (\d+) \(([\d.]+) %\)", cells[6])
        assert met is not None
        assert f" {cells[5]} operations." in page
        assert round(100 * int(met[1]) / int(met[2]), 1) == float(met[3])

    @pytest.mark.parametrize("page", ["README.md", *(f"{name}/README.md" for name in NAMES)])
    def test_every_rule_that_a_page_names_exists(self, page: str) -> None:
        rules = set(
            re.findall(r"^### (\S+) ·", "\n".join(file.read_text() for file in spec_dir().glob("*.md")), re.MULTILINE)
        )
        named = set(RULE.findall(text(page)))
        assert len(named) >= 7
        assert named <= rules

    @pytest.mark.parametrize("name", NAMES)
    def test_at_least_five_deviations_are_told_with_input_and_answer(self, name: str) -> None:
        table = text(name, "README.md").split("## Deviations")[1]
        rows = [line.strip("|").split("|") for line in table.splitlines() if RULE.match(line.removeprefix("| "))]
        assert len(rows) >= 5
        assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Program:
    """Stand-ins: `python` makes environments, whose own Python is `inner` and plays pip. The cache is empty."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv(adapters.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", str(programs / "python"))

    def put(name: str, script: str) -> None:
        file = programs / name
        file.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{script}\n")
        file.chmod(0o755)

    put("python", f'mkdir -p "$3/bin" && cp "{programs}/inner" "$3/bin/python" && echo "$1 $2" >>"$3/../made"')
    put("inner", 'echo "$*" >>../calls')
    return put


NAME = "pp-coding-agent"


class TestInstallation:
    def test_installs_once_and_says_so(
        self, program: Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert adapters.command_for(NAME) == adapters.command_for(NAME)
        assert (tmp_path / "cache" / "made").read_text() == "-m venv\n"
        (call,) = (tmp_path / "cache" / "calls").read_text().splitlines()
        assert call.startswith("-m pip install --require-hashes --only-binary=:all: ")
        assert call.endswith(f"--requirement {PORTS / NAME / 'requirements.txt'}")
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count(f"installing {NAME}==0.2.2 into ") == 1

    def test_starts_the_adapter_with_the_python_of_its_environment(self, program: Program, tmp_path: Path) -> None:
        command, environment = adapters.command_for(NAME)
        python = Path(command[0])
        assert python.parent.parent.parent == tmp_path / "cache"
        assert command[1:] == ["-B", "-E", "-s", str(PORTS / "serve.py"), NAME]
        assert environment == {}

    def test_every_port_has_an_environment_of_its_own(self, program: Program) -> None:
        assert len({adapters.command_for(name)[0][0] for name in NAMES}) == len(NAMES)

    def test_other_pins_make_another_environment(
        self, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = adapters.command_for(NAME)[0][0]
        copy = tmp_path / "adapters"
        shutil.copytree(PORTS, copy / "ports")
        (copy / "ports" / NAME / "requirements.txt").write_text("other==1\n")
        monkeypatch.setattr(port_environments, "adapters_dir", lambda: copy)
        assert port_environments.command_for(NAME)[0] != before

    def test_an_unknown_port_lists_the_known_ones(self) -> None:
        with pytest.raises(adapters.AdapterUnavailable, match="no port 'nothing'; the ports are aelix, pi-agent-"):
            port_environments.command_for("nothing")

    def test_a_failing_pip_is_told_in_one_line_and_leaves_nothing(self, program: Program, tmp_path: Path) -> None:
        program("inner", "echo Looking; echo 'ERROR: No matching distribution found for x==1' >&2; echo hint; exit 1")
        with pytest.raises(adapters.AdapterUnavailable) as caught:
            adapters.command_for(NAME)
        assert caught.value.what == (
            f"pip could not install {NAME} (exit code 1): ERROR: No matching distribution found for x==1"
        )
        assert "nothing was kept" in caught.value.remedy
        assert [file.name for file in (tmp_path / "cache").iterdir()] == ["made"]

    def test_a_failing_pip_without_an_error_line_shows_its_last_lines(self, program: Program) -> None:
        program("inner", "echo one; echo two; echo three; echo four; exit 3")
        with pytest.raises(adapters.AdapterUnavailable, match=r"\(exit code 3\): two \| three \| four; "):
            adapters.command_for(NAME)

    def test_a_silent_failure_is_told_too(self, program: Program) -> None:
        program("inner", "exit 4")
        with pytest.raises(adapters.AdapterUnavailable, match=r"\(exit code 4\): it said nothing; "):
            adapters.command_for(NAME)

    def test_a_python_without_venv_is_told(self, program: Program) -> None:
        program("python", "echo 'No module named venv' >&2; exit 1")
        with pytest.raises(
            adapters.AdapterUnavailable, match=r"no virtual environment could be made .* No module named venv"
        ):
            adapters.command_for(NAME)

    def test_a_python_that_does_not_start_is_told(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(
            adapters.AdapterUnavailable, match=r"no virtual environment could be made for .*/nowhere/python"
        ):
            adapters.command_for(NAME)

    def test_a_run_that_loses_the_race_uses_the_other_installation(self, program: Program, tmp_path: Path) -> None:
        program("inner", 'cp -R . "$(pwd | sed "s/\\.[^.]*$//")"')
        home = Path(adapters.command_for(NAME)[0][0]).parent.parent
        assert sorted((tmp_path / "cache").iterdir()) == sorted([home, tmp_path / "cache" / "made"])

    def test_an_environment_whose_python_is_gone_is_told(self, program: Program) -> None:
        python = Path(adapters.command_for(NAME)[0][0])
        python.unlink()
        with pytest.raises(adapters.AdapterUnavailable, match=f"does not run any more; delete {python.parent.parent}"):
            adapters.command_for(NAME)

    def test_a_cache_that_cannot_be_written_is_told(
        self, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv(adapters.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
        with pytest.raises(adapters.AdapterUnavailable, match="cache folder cannot be written"):
            adapters.command_for(NAME)

    def test_the_command_line_ends_with_one_message(self, program: Program, capsys: pytest.CaptureFixture[str]) -> None:
        program("inner", "echo 'ERROR: no network'; exit 1")
        assert main(["run", "--implementation", NAME]) == 2
        err = capsys.readouterr().err
        assert f"--implementation {NAME}: pip could not install {NAME} (exit code 1): ERROR: no network" in err
        assert "Traceback" not in err


DEMO = """
import os, sys
class Lost(Exception): pass
ABOUT = {"name": "demo", "distribution": "pytest", "url": "https://example.org/demo"}
KINDS = [(r"^Lost: .* not here", "entry_not_found")]
def lost(_): raise Lost("e1 not here")
def trouble(_): raise ValueError("odd")
def prints(_):
    print("a stray line")
    os.write(1, b"another\\n")
    return {}
async def waits(p): return p
OPERATIONS = {"demo/" + name: function for name, function in {
    "echo": lambda p: p, "waits": waits, "lost": lost, "trouble": trouble, "prints": prints,
    "broken": lambda p: p["missing"], "nan": lambda _: {"tokens": [float("nan"), float("inf"), 1]},
    "object": lambda _: {"it": object()}, "home": lambda _: {"there": os.path.exists(os.path.expanduser("~"))},
    "environment": lambda _: {"pi": sorted(n for n in os.environ if n.startswith("PI_"))},
    "arguments": lambda _: {"given": sys.argv[1:]},
}.items()}
"""


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., tuple[list[Any], str]]:
    """Asks the shared half over a small adapter; answers and log. It must end well when its input ends."""
    shutil.copy(PORTS / "serve.py", tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "adapter.py").write_text(DEMO)

    def ask(*lines: str | bytes | dict[str, Any]) -> tuple[list[Any], str]:
        raw = [
            line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
            for line in lines
        ]
        run = subprocess.run(
            [sys.executable, "-E", "-s", str(tmp_path / "serve.py"), "demo"],
            input=b"".join(line + b"\n" for line in raw),
            capture_output=True,
            timeout=60,
            check=True,
            env={**os.environ, "PI_SECRET": "x"},
        )
        return [json.loads(line) for line in run.stdout.decode().split("\n")[:-1]], run.stderr.decode()

    return ask


def call(number: int, method: str, **params: Any) -> dict[str, Any]:
    name = method if method == "initialize" else f"demo/{method}"
    return {"jsonrpc": "2.0", "id": number, "method": name, "params": params}


class TestServe:
    def test_starts_the_adapter_that_the_command_names(self, talk: Any) -> None:
        ((answer,), _) = talk(call(1, "arguments"))
        assert answer["result"] == {"given": ["demo"]}

    def test_introduces_the_port_by_its_installed_version(self, talk: Any) -> None:
        ((answer,), _) = talk(call(0, "initialize", protocolVersion=1))
        assert not schemas.first_error("protocol/initialize.result", answer["result"])
        assert answer["result"]["implementation"]["version"] == pytest.__version__
        assert answer["result"]["operations"][0] == "demo/echo"

    def test_answers_in_order_and_hands_text_back_unharmed(self, talk: Any) -> None:
        odd = "a\u2028b\ud83dc\u0085"
        answers, _ = talk(call(2, "echo", text=odd), "", call(1, "waits", text=odd))
        assert [answer["id"] for answer in answers] == [2, 1]
        assert {answer["result"]["text"] for answer in answers} == {odd}

    @pytest.mark.parametrize(
        ("method", "kind", "message"),
        [
            ("lost", "entry_not_found", "Lost: e1 not here"),
            ("broken", "malformed_input", "KeyError: 'missing'"),
        ],
    )
    def test_a_refusal_has_its_kind(self, method: str, kind: str, message: str, talk: Any) -> None:
        ((answer,), _) = talk(call(1, method))
        assert answer["error"] == {"code": -32000, "message": message, "data": {"kind": kind}}

    def test_other_trouble_has_none(self, talk: Any) -> None:
        ((first, second), _) = talk(call(1, "trouble"), call(2, "object"))
        assert first["error"] == {"code": -32603, "message": "ValueError: odd"}
        assert second["error"]["code"] == -32603
        assert "not JSON serializable" in second["error"]["message"]

    def test_an_unknown_operation_and_lines_that_are_no_request(self, talk: Any) -> None:
        answers, _ = talk(call(1, "nothing"), "{", b"\xff\xfe", "[1]", '{"id": 5}', "[" * 100_000)
        assert [answer["error"]["code"] for answer in answers] == [-32601, -32700, -32700, -32600, -32600, -32700]
        assert [answer["id"] for answer in answers] == [1, None, None, None, None, None]

    def test_numbers_that_json_cannot_hold_are_null(self, talk: Any) -> None:
        ((answer,), _) = talk(call(1, "nan"))
        assert answer["result"] == {"tokens": [None, None, 1]}

    def test_what_a_port_prints_goes_to_the_log(self, talk: Any) -> None:
        (answers, log) = talk(call(1, "prints"), call(2, "echo"))
        assert [answer["result"] for answer in answers] == [{}, {}]
        assert "a stray line" in log
        assert "another" in log

    def test_a_port_finds_nothing_of_the_users(self, talk: Any) -> None:
        ((home, environment), _) = talk(call(1, "home"), call(2, "environment"))
        assert home["result"] == {"there": False}
        assert environment["result"] == {"pi": []}

    @pytest.mark.parametrize(
        ("arguments", "said"), [([], "usage: python serve.py NAME"), (["nothing"], "no adapter 'nothing'")]
    )
    def test_a_wrong_name_is_told(self, arguments: list[str], said: str) -> None:
        run = subprocess.run([sys.executable, str(PORTS / "serve.py"), *arguments], capture_output=True, timeout=60)
        assert run.returncode != 0
        assert said in run.stderr.decode()
        assert "Traceback" not in run.stderr.decode()


def helper(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"ports_{name}", PORTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestSessionFiles:
    def test_entries_stand_under_a_header_with_every_character(self) -> None:
        files = helper("session_files")
        entries = [{"id": "a", "text": "\ud83d é\n"}]
        header, line, rest = files.lines_of(entries).split(b"\n")
        assert json.loads(header)["version"] == 3
        assert [json.loads(line)] == entries
        assert rest == b""

    def test_content_is_bytes_text_or_nothing(self) -> None:
        bytes_of = helper("session_files").bytes_of
        assert bytes_of({"contentBase64": "/wA="}) == b"\xff\x00"
        assert bytes_of({"content": "é\r\n"}) == "é\r\n".encode()
        assert bytes_of({"content": None}) is None

    def test_a_file_is_there_for_a_while(self) -> None:
        files = helper("session_files")
        with files.session_file(None) as path:
            assert files.written(path) == {"content": None}
            path.write_bytes(b"a\r\n")
            assert files.written(path) == {"content": "a\r\n"}
        assert not path.parent.exists()

    def test_a_deep_tree_becomes_lists_of_ids(self) -> None:
        class Node:
            def __init__(self, number: int, children: list[Node]) -> None:
                self.entry = type("Entry", (), {"id": str(number)})
                self.children, self.label = children, "top" if number == 9999 else None

        node = Node(0, [])
        for number in range(1, 10_000):
            node = Node(number, [node])
        tree = helper("session_files").flattened([node], "name")
        assert tree["roots"] == ["9999"]
        assert tree["labels"] == {"9999": "top"}
        assert len(tree["children"]) == 9999
        assert tree["children"]["5000"] == ["4999"]
        assert tree["name"] == "name"


SCRIPTED = helper("scripted_model")


def told(error: Exception) -> Any:
    return SCRIPTED.failed(str(error)) if str(error) == "known" else None


class TestScriptedModel:
    def play(self, params: dict[str, Any], use: Any) -> Any:
        return asyncio.run(SCRIPTED.played(params, use, told))

    def test_replies_come_in_order_and_requests_are_kept(self) -> None:
        async def use(script: Any) -> Any:
            script.reply(
                {"prompt": "one", "maxTokens": None, "cacheRetention": "none", "routingId": "r", "reasoning": None}
            )
            assert script.waits(1, 500) is False
            assert script.waits(2, 1000) is True
            await asyncio.sleep(3600)
            return {"reply": script.reply({"prompt": "two"})}

        played = self.play({"replies": [{}, {"text": "b"}], "abortDuringWait": 2}, use)
        first, second = played["requests"]
        assert first == {"prompt": "one", "maxTokens": None, "cacheRetention": "none", "routingId": "r"}
        assert second == {"prompt": "two"}
        assert played["retries"] == [
            {"request": 0, "attempt": 1, "delayMs": 500},
            {"request": 0, "attempt": 2, "delayMs": 1000},
        ]
        assert played["outcome"] == {"reply": {"text": "b"}}

    @pytest.mark.parametrize(
        ("replies", "message"),
        [([{"throws": "hang up"}], "hang up"), ([], "the script holds no reply for this request")],
    )
    def test_a_call_that_breaks_is_an_outcome(self, replies: list[Any], message: str) -> None:
        async def use(script: Any) -> Any:
            return script.reply({"prompt": "p"})

        played = self.play({"replies": replies}, use)
        assert played["outcome"] == {"error": {"kind": "thrown", "message": message}}
        assert len(played["requests"]) == 1

    def test_an_error_of_the_port_is_told_by_kind_or_let_through(self) -> None:
        async def known(_script: Any) -> Any:
            raise RuntimeError("known")

        async def other(_script: Any) -> Any:
            raise RuntimeError("other")

        assert self.play({"replies": []}, known)["outcome"] == {"error": {"kind": "failed", "message": "known"}}
        with pytest.raises(RuntimeError, match="other"):
            self.play({"replies": []}, other)
        assert asyncio.sleep.__module__ == "asyncio.tasks"
