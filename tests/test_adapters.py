"""The adapters that come with the suite. No network: where npm would be asked, a small program stands in for it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import adapters, bench
from compaction_conformance.cli import main
from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import Unavailable
from compaction_conformance.paths import adapters_dir

EXAMPLE = adapters_dir() / "node-example"
PI = adapters_dir() / "pi"
PI_PACKAGES = [
    "@earendil-works/chord",
    "@earendil-works/pi-agent-core",
    "@earendil-works/pi-ai",
    "@earendil-works/pi-coding-agent",
    "@earendil-works/pi-telemetry",
    "@earendil-works/pi-tui",
]

Program = Callable[[str, str], None]


def talk(lines: list[str] | list[dict[str, Any]] | bytes) -> list[dict[str, Any]]:
    """What the example adapter answers to these lines; it must end well when its input ends."""
    if not isinstance(lines, bytes):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        lines = "".join(f"{text}\n" for text in texts).encode()
    command, _ = adapters.command_for("node-example")
    run = subprocess.run(command, input=lines, capture_output=True, timeout=30, check=True)
    return [json.loads(line) for line in run.stdout.decode().removesuffix("\n").split("\n")]


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def result_of(method: str, **params: Any) -> Any:
    (answer,) = talk([request(1, method, **params)])
    return answer["result"]


def message_entry(identifier: str, parent: str | None, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "id": identifier, "parentId": parent, "message": {"role": role, "content": "text"}}


def test_the_list_says_what_each_is_and_what_it_installs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--implementations"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == ["reference", *adapters.names()]
    assert lines["reference"] == "the rules of spec/ as plain Python; installs nothing"
    assert lines["node-example"] == "worked example of an adapter, in plain Node; installs nothing"
    assert lines["pi"] == "oracle adapter: Pi itself; first use installs Pi 0.87.0, with npm"
    assert lines["pi-ai-python"].startswith("a Python port of a later Pi")
    assert lines["pi-ai-python"].endswith("; first use installs pi-ai-python==1.7.0, with pip")


class TestNodeExample:
    def test_introduces_itself(self) -> None:
        asked = request(0, "initialize", protocolVersion=1, edition="pi-0.87", profile="coding-agent")
        (answer,) = talk([asked])
        assert answer["id"] == 0
        assert answer["result"]["protocolVersion"] == 1
        assert answer["result"]["editions"] == ["pi-0.87"]
        assert len(answer["result"]["operations"]) == 9

    def test_the_examples_of_its_readme_are_true(self) -> None:
        console, wanted = re.findall(r"```(?:console|jsonl)\n(.*?)```", (EXAMPLE / "README.md").read_text(), re.S)[1:]
        command, *lines = console.splitlines()
        assert command == "$ node adapter.mjs"
        assert talk(lines) == [json.loads(line) for line in wanted.splitlines()]

    def test_answers_in_the_order_of_the_requests(self) -> None:
        usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
        answers = talk([request(number, "tokens/from_usage", usage=usage) for number in (7, 3, 5)])
        assert [answer["id"] for answer in answers] == [7, 3, 5]
        assert {answer["result"]["tokens"] for answer in answers} == {10}

    def test_a_line_separator_inside_a_text_does_not_end_the_line(self) -> None:
        line = json.dumps(
            request(1, "files/format", readFiles=["a\u2028b", "\ud83d"], modifiedFiles=[]), ensure_ascii=True
        ).replace("\\u2028", "\u2028")
        (answer,) = talk(line.encode() + b"\n")
        assert answer["result"]["text"] == "\n\n<read-files>\na\u2028b\n\ud83d\n</read-files>"

    def test_a_line_longer_than_one_read_is_put_together(self) -> None:
        message = {"role": "user", "content": "é" * 1_000_000}
        line = json.dumps(request(1, "tokens/of_message", message=message), ensure_ascii=False).encode() + b"\n"
        assert talk(line)[0]["result"] == {"tokens": 250_000}

    def test_missing_numbers_become_null(self) -> None:
        assert result_of("tokens/from_usage", usage={"input": 1}) == {"tokens": None}

    def test_broken_data_is_refused_by_kind(self) -> None:
        (answer,) = talk([request(1, "tokens/of_message", message={"role": "user"})])
        assert answer["error"]["code"] == -32000
        assert answer["error"]["data"] == {"kind": "malformed_input"}

    def test_an_unknown_operation_is_told_as_such(self) -> None:
        assert talk([request(1, "nothing/here")])[0]["error"]["code"] == -32601

    def test_counts_what_follows_the_last_usage(self) -> None:
        reply = {"role": "assistant", "content": [], "stopReason": "stop", "usage": {"totalTokens": 100}}
        counted = result_of("tokens/of_context", messages=[reply, {"role": "user", "content": "12345"}])
        assert counted == {"tokens": 102, "usageTokens": 100, "trailingTokens": 2, "lastUsageIndex": 0}

    def test_follows_parents_from_the_leaf(self) -> None:
        entries = [message_entry("a", None), message_entry("b", "a"), message_entry("c", "a")]
        path = result_of("session/path", entries=entries)["entries"]
        assert [entry["id"] for entry in path] == ["a", "c"]
        assert result_of("session/path", entries=entries, leafId=None) == {"entries": []}

    def test_a_circle_of_parents_ends(self) -> None:
        entries = [message_entry("a", "b"), message_entry("b", "a")]
        path = result_of("session/path", entries=entries)["entries"]
        assert [entry["id"] for entry in path] == ["a", "b"]

    def test_folds_at_the_newest_compaction(self) -> None:
        entries = [
            message_entry("a", None),
            message_entry("s", "a", role="system"),
            message_entry("b", "s"),
            {"type": "compaction", "id": "c", "parentId": "b", "summary": "text", "firstKeptEntryId": "s"},
            message_entry("d", "c"),
        ]
        folded = result_of("projection/entries", entries=entries)["entries"]
        assert [entry["id"] for entry in folded] == ["c", "b", "d"]

    def test_a_model_override_wins(self) -> None:
        resolved = result_of(
            "settings/resolve",
            **{
                "global": {"compaction": {"reserveTokens": 1, "modelOverrides": {"p/m": {"reserveTokens": 2}}}},
                "project": {"compaction": {"reserveTokens": 3}},
            },
            model={"provider": "p", "id": "m"},
        )
        assert resolved == {"enabled": True, "reserveTokens": 2, "keepRecentTokens": 20000}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Program:
    """Puts a shell script on a path that holds nothing else; the cache is an empty folder."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv(adapters.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(adapters.MODULES_VARIABLE, raising=False)

    def put(name: str, script: str) -> None:
        file = programs / name
        file.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{script}\n")
        file.chmod(0o755)

    return put


INSTALLS = "mkdir -p node_modules/@earendil-works/pi-coding-agent && echo $* >>../calls"
NODE_22 = "echo v22.19.0"


class TestInstallation:
    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(adapters.AdapterUnavailable, match="'nothing'; the adapters are node-example, pi"):
            adapters.command_for("nothing")

    def test_missing_npm_is_told(self, program: Program) -> None:
        program("node", NODE_22)
        with pytest.raises(adapters.AdapterUnavailable, match=r"^npm was not found") as caught:
            adapters.command_for("pi")
        assert caught.value.remedy == "install Node.js with npm"

    def test_missing_npm_is_one_error_of_the_bench(
        self, program: Program, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        program("node", NODE_22)
        monkeypatch.setattr("sys.argv", ["bench", "--part", "pi"])
        assert bench.main() == 2
        assert "\nerror: --part pi: npm was not found" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["pi", "node-example"])
    def test_missing_node_is_told(self, name: str, program: Program) -> None:
        program("npm", INSTALLS)
        with pytest.raises(adapters.AdapterUnavailable, match=r"^node was not found"):
            adapters.command_for(name)

    @pytest.mark.parametrize(("name", "needed"), [("pi", "22.19"), ("node-example", "18.0")])
    def test_an_old_node_is_told(self, name: str, needed: str, program: Program) -> None:
        program("npm", INSTALLS)
        program("node", "echo v16.20.2")
        with pytest.raises(adapters.AdapterUnavailable, match=f"is version 16.20; install Node.js {needed} or newer"):
            adapters.command_for(name)

    def test_a_failing_npm_is_told_in_one_line_and_leaves_nothing(self, program: Program, tmp_path: Path) -> None:
        program("node", NODE_22)
        program("npm", "echo npm error code ENOTFOUND; echo; echo 'npm error no network' >&2; exit 7")
        with pytest.raises(adapters.AdapterUnavailable) as caught:
            adapters.command_for("pi")
        assert "(exit code 7): code ENOTFOUND | no network; " in str(caught.value)
        assert "\n" not in str(caught.value)
        assert list((tmp_path / "cache").iterdir()) == []

    def test_installs_once_and_says_so(
        self, program: Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        program("node", NODE_22)
        program("npm", INSTALLS)
        first, second = adapters.command_for("pi"), adapters.command_for("pi")
        assert first == second
        calls = (tmp_path / "cache" / "calls").read_text().splitlines()
        assert len(calls) == 1
        assert calls[0].startswith("ci --ignore-scripts")
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("installing Pi 0.87.0") == 1

    def test_runs_the_present_adapter_with_the_installed_packages(self, program: Program, tmp_path: Path) -> None:
        program("node", NODE_22)
        program("npm", INSTALLS)
        command, environment = adapters.command_for("pi")
        assert command == [str(tmp_path / "programs" / "node"), str(PI / "adapter.mjs")]
        modules = Path(environment[adapters.MODULES_VARIABLE])
        assert modules.parent.parent == tmp_path / "cache"
        assert (modules.parent / "package-lock.json").read_bytes() == (PI / "package-lock.json").read_bytes()

    def test_a_run_that_loses_the_race_uses_the_other_installation(self, program: Program, tmp_path: Path) -> None:
        program("node", NODE_22)
        program("npm", f'{INSTALLS}; cp -R . "$(pwd | sed "s/\\.[^.]*$//")"')
        _, environment = adapters.command_for("pi")
        home = Path(environment[adapters.MODULES_VARIABLE]).parent
        assert sorted((tmp_path / "cache").iterdir()) == sorted([home, tmp_path / "cache" / "calls"])

    def test_a_cache_that_cannot_be_written_is_told(
        self, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program("node", NODE_22)
        program("npm", INSTALLS)
        (tmp_path / "file").touch()
        monkeypatch.setenv(adapters.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
        with pytest.raises(adapters.AdapterUnavailable, match="cache folder cannot be written"):
            adapters.command_for("pi")

    def test_a_folder_of_modules_can_be_named(
        self, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program("node", NODE_22)
        (tmp_path / "modules" / "@earendil-works" / "pi-coding-agent").mkdir(parents=True)
        monkeypatch.setenv(adapters.MODULES_VARIABLE, str(tmp_path / "modules"))
        assert adapters.command_for("pi")[1] == {adapters.MODULES_VARIABLE: str(tmp_path / "modules")}

    def test_a_named_folder_without_pi_is_told(
        self, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(adapters.MODULES_VARIABLE, str(tmp_path))
        with pytest.raises(adapters.AdapterUnavailable, match="does not hold @earendil-works/pi-coding-agent"):
            adapters.command_for("pi")

    def test_the_cache_follows_the_desktop_convention(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv(adapters.CACHE_VARIABLE, raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert adapters.cache_folder() == tmp_path / "compaction-conformance"
        monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert adapters.cache_folder() == tmp_path / "home" / ".cache" / "compaction-conformance"


class TestCommands:
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in ("adapter.mjs", "adapter.py", "adapter"):
            (tmp_path / name).touch(0o644)
        (tmp_path / "ready").touch(0o755)

    @pytest.mark.parametrize(
        ("command", "instead"),
        [
            ("./adapter.mjs", '"node ./adapter.mjs"'),
            ("adapter.mjs --flag 'a b'", "\"node adapter.mjs --flag 'a b'\""),
            ("./adapter.py", '"python ./adapter.py"'),
            ("./adapter", "name the program that runs it"),
        ],
    )
    def test_a_file_that_is_not_executable_is_told_with_what_starts_it(self, command: str, instead: str) -> None:
        with pytest.raises(Unavailable, match="is not executable") as caught:
            connect(command, Settings())
        assert caught.value.remedy.startswith("make it executable")
        assert caught.value.remedy.endswith(instead)

    def test_a_program_of_this_folder_that_is_named_without_it_is_told(self) -> None:
        with pytest.raises(Unavailable, match="'ready' is not on the path") as caught:
            connect("ready --flag", Settings())
        assert caught.value.remedy == 'give "./ready --flag"'

    @pytest.mark.parametrize("command", ["nothing", "./nothing.mjs", "/", "a" * 9999])
    def test_a_command_that_is_nowhere_is_not_found(self, command: str) -> None:
        with pytest.raises(Unavailable, match="is not found"):
            connect(command, Settings())


class TestPiPackages:
    manifest: dict[str, Any] = json.loads((PI / "package.json").read_bytes())
    lock: dict[str, Any] = json.loads((PI / "package-lock.json").read_bytes())

    def test_every_version_is_exact(self) -> None:
        pinned = {
            **self.manifest["dependencies"],
            **self.manifest["optionalDependencies"],
            **self.manifest["overrides"],
        }
        assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in pinned.values())

    def test_manifest_and_lock_ask_for_the_same(self) -> None:
        root = self.lock["packages"][""]
        for member in ("dependencies", "optionalDependencies"):
            assert root[member] == self.manifest[member]
            for name, version in self.manifest[member].items():
                assert self.lock["packages"][f"node_modules/{name}"]["version"] == version

    def test_every_pi_package_is_of_one_release(self) -> None:
        found = {path: entry["version"] for path, entry in self.lock["packages"].items() if "@earendil-works/" in path}
        assert found == {f"node_modules/{name}": "0.87.0" for name in PI_PACKAGES}

    def test_the_lock_names_no_place(self) -> None:
        text = (PI / "package-lock.json").read_text()
        assert "://" not in text
        assert '"resolved"' not in text

    def test_the_lock_holds_a_checksum_for_every_package(self) -> None:
        packages = {path: entry for path, entry in self.lock["packages"].items() if path}
        assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())

    def test_the_node_for_each_platform_is_optional_and_of_one_version(self) -> None:
        wanted = {path.split("/")[0] for path in adapters._NODE_PACKAGES.values()}
        assert self.manifest["optionalDependencies"].keys() == wanted
        assert len(set(self.manifest["optionalDependencies"].values())) == 1
        assert all(self.lock["packages"][f"node_modules/{name}"]["optional"] for name in wanted)

    def test_the_adapter_is_javascript_that_parses(self) -> None:
        node = shutil.which("node")
        assert node is not None
        for file in (PI / "adapter.mjs", PI / "relock.mjs"):
            subprocess.run([node, "--check", str(file)], check=True, timeout=30, stdout=sys.stderr)
