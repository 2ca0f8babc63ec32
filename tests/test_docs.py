"""Commands in the documents are run, so that none of them goes stale."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from pathlib import Path

import pytest

from compaction_conformance.cli import main
from compaction_conformance.compare import ASKABLE
from compaction_conformance.corpus.cases import load_corpus
from compaction_conformance.corpus.response_vectors import response_vectors
from compaction_conformance.paths import adapters_dir, spec_dir, vector_dirs
from compaction_conformance.spec import load_spec
from compaction_conformance.vectors import load_vectors

_ROOT = Path(__file__).resolve().parent.parent
_EXAMPLE = adapters_dir() / "node-example" / "adapter.mjs"
_ELSEWHERE = ("--implementation pi", "attest --fill", "compaction-conformance overflow ")


def _commands(document: str) -> list[str]:
    """Every `compaction-conformance …` of the fenced blocks, without comments, but what is run elsewhere."""
    text = (_ROOT / document).read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    parts = [part.strip() for block in fenced for line in block.splitlines() for part in line.split("&&")]
    commands = [part.split("  #")[0].strip() for part in parts if part.startswith("compaction-conformance ")]
    return [command for command in commands if not any(word in command for word in _ELSEWHERE)]


def test_the_documents_hold_commands() -> None:
    assert len(_commands("README.md")) >= 4


@pytest.mark.parametrize("command", sorted({*_commands("README.md"), *_commands("CONTRIBUTING.md")}))
def test_a_command_of_the_documents_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [word.replace("node adapter.mjs", f"node {_EXAMPLE}") for word in shlex.split(command)[1:]]
    code = main(arguments)
    captured = capsys.readouterr()
    succeeds = "--declared-only" in command or "smoke" in command or command.endswith(" run")
    assert code == (0 if succeeds else 1), captured
    assert captured.out


def test_the_failure_in_the_readme_is_what_a_failure_looks_like(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["run", "--implementation", "python:wrong:keeps_all", "--only", "PRJ-fold-retain-none"])
    printed = capsys.readouterr().out
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"^FAIL .*?^```", readme, re.MULTILINE | re.DOTALL)
    assert shown is not None
    labels = re.compile(r"^  (\w+) ", re.MULTILINE)
    assert labels.findall(shown[0]) == labels.findall(printed.split("\n\n")[0])
    for label in ("about", "at", "got"):
        line = re.search(rf"^  {label} .*$", shown[0], re.MULTILINE)
        assert line is not None
        assert line[0] in printed


def test_the_protocol_names_the_chapters_that_judge_each_operation() -> None:
    """Those of the vectors' first rules; the last chapter holds for all, and is not named."""
    spec = load_spec(spec_dir())
    numbers = {path.stem[3:]: path.stem[:2] for path in spec_dir().glob("[0-8][0-9]-*.md")}
    judged: dict[str, set[str]] = defaultdict(set)
    for vector in (*load_vectors(vector_dirs(), spec), *response_vectors(load_corpus(), spec)):
        if number := numbers.get(vector.requirement.chapter):
            judged[vector.operation].add(number)
    protocol = (spec_dir() / "protocol.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+/[a-z_]+)` \|.*\| ([0-9, ]+) \|$", protocol, re.MULTILINE)
    assert dict(rows) == {operation: ", ".join(sorted(chapters)) for operation, chapters in judged.items()}


def test_the_readme_names_what_compare_asks() -> None:
    (row,) = re.findall(r"^\| `compare A B .*", (_ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`([a-z]+/[a-z_]+)`", row)) == ASKABLE
