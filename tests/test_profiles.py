"""Two profiles, one suite: who is asked what, and the page that sets them side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import adapters
from compaction_conformance.cli import main
from compaction_conformance.paths import adapters_dir, spec_dir
from compaction_conformance.spec import load_spec
from compaction_reference.__main__ import Server

_PAGE = (spec_dir() / "profiles.md").read_text(encoding="utf-8")
_NOT_JUDGED = "## Control"
_DEFINITION = re.compile(r"^\[([A-Z]{3}-\d+)\]: (\S+)#(\S+)$", re.MULTILINE)


def asked(server: Server, method: str, **params: Any) -> Any:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return server.answer(line.encode())


def anchor(heading: str) -> str:
    """The fragment that a heading gets on the pages where the specification is read."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class TestRuns:
    def test_the_reference_conforms_in_process(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "--profile", "harness"]) == 0
        printed = capsys.readouterr().out
        assert "reference-harness" in printed
        assert "Cut point" not in printed

    def test_the_reference_conforms_as_a_process(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "--profile", "harness", "-n", "2", "--only", "harness-*"]) == 0
        assert "reference-harness" in capsys.readouterr().out

    def test_an_adapter_of_another_profile_is_not_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "--profile", "harness", "--implementation", "node-example"]) != 0
        assert "does not offer harness" in capsys.readouterr().err


class TestHandshake:
    @pytest.mark.parametrize(("profile", "name"), [("harness", "reference-harness"), ("coding-agent", "reference")])
    def test_the_named_profile_is_served_from_then_on(self, profile: str, name: str) -> None:
        server = Server()
        described = asked(server, "initialize", protocolVersion=1, edition="pi-0.87", profile=profile)["result"]
        assert described["implementation"]["name"] == name
        assert described["profiles"] == [profile]
        system = {"role": "system", "content": "x" * 40}
        weight = asked(server, "tokens/of_message", message=system)["result"]["tokens"]
        assert weight == (0 if profile == "harness" else 10)

    def test_an_unknown_profile_is_answered_with_the_first(self) -> None:
        for params in ({"profile": "other"}, {"profile": ["harness"]}, {}):
            assert asked(Server(), "initialize", **params)["result"]["profiles"] == ["coding-agent"]

    def test_an_operation_of_the_other_profile_is_unknown(self) -> None:
        server = Server()
        asked(server, "initialize", profile="harness")
        assert asked(server, "settings/resolve")["error"]["code"] == -32601


def test_both_oracles_share_one_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "@earendil-works" / "pi-coding-agent").mkdir(parents=True)
    monkeypatch.setenv(adapters.MODULES_VARIABLE, str(tmp_path))
    monkeypatch.setattr(adapters, "_node_on_path", lambda least: "node")
    (_, first), one = adapters.command_for("pi")
    (_, second), other = adapters.command_for("pi-harness")
    assert one == other == {adapters.MODULES_VARIABLE: str(tmp_path)}
    assert Path(first).parent == adapters_dir() / "pi"
    assert Path(second).parent == adapters_dir() / "pi-harness"


class TestPage:
    def test_every_link_leads_to_the_heading_of_its_rule(self) -> None:
        spec = load_spec(spec_dir())
        chapters = {path.stem[3:]: path.name for path in spec_dir().glob("[0-9][0-9]-*.md")}
        definitions = _DEFINITION.findall(_PAGE)
        assert len(definitions) > 100
        for name, file, fragment in definitions:
            rule = spec.requirements[name]
            assert (file, fragment) == (chapters[rule.chapter], anchor(f"{name} · {rule.title}"))

    def test_every_rule_that_is_named_is_linked(self) -> None:
        named = set(re.findall(r"\[([A-Z]{3}-\d+)\]", _PAGE))
        assert named == {name for name, _, _ in _DEFINITION.findall(_PAGE)}

    def test_each_side_of_a_row_names_rules_of_its_profile(self) -> None:
        spec = load_spec(spec_dir())
        rows = [line for line in _PAGE.split(_NOT_JUDGED)[0].splitlines() if line.startswith("| ")]
        judged = [row for row in rows if not row.startswith("| what")]
        assert len(judged) > 45
        for row in judged:
            _, left, right = (cell.strip() for cell in row.strip("|").split(" | "))
            for cell, profile in ((left, "coding-agent"), (right, "harness")):
                rules = re.findall(r"\[([A-Z]{3}-\d+)\]", cell)
                assert rules or cell.startswith("–"), row
                assert {spec.profiles[spec.requirements[rule].chapter] for rule in rules} <= {profile}, row
