"""The section of the README about overflow messages is walked through, command by command, on a copy of the corpus."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compaction_conformance.corpus.cases import corpus_dir, load_corpus
from compaction_conformance.corpus.lint import lint_corpus

README = Path(__file__).resolve().parent.parent / "README.md"
HEADING = "## Adding a provider's overflow message"


def blocks() -> list[str]:
    """The fenced blocks of the section, in their order."""
    _, found, rest = README.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")
    assert found, f"README.md has no section {HEADING!r}"
    return re.findall(r"^```\n(.*?)^```", re.split(r"\n## ", rest)[0], re.MULTILINE | re.DOTALL)


@pytest.fixture
def walk(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """All commands in one shell that stops at the first failure; those that use the corpus are given the copy. It lacks
    the family that they begin, which is in the corpus of who walked here before."""
    shutil.copytree(corpus_dir(), tmp_path / "overflow", ignore=shutil.ignore_patterns("acme.json"))
    program = tmp_path / "bin" / "compaction-conformance"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'case "$1 $2" in overflow\\ add|overflow\\ lint|overflow\\ check-pattern|overflow\\ score)\n'
        f'  set -- "$@" --corpus "{tmp_path}/overflow";; esac\n'
        f'exec "{sys.executable}" -m compaction_conformance.cli "$@"\n'
    )
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    script = "\n".join(blocks())
    return subprocess.run(
        ["bash", "-e", "-x", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_section_uses_every_verb_of_overflow() -> None:
    used = set(re.findall(r"compaction-conformance overflow ([a-z-]+)", "\n".join(blocks())))
    assert used == {"try", "add", "lint", "check-pattern", "score"}


def test_the_walk_succeeds_and_leaves_a_sound_case(walk: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    assert walk.returncode == 0, walk.stderr
    new = [case for case in load_corpus(tmp_path / "overflow") if case.family == "acme"]
    assert [case.label for case in new] == ["overflow"]
    assert "PLACEHOLDER" in new[0].response.text
    assert [one for one in lint_corpus(tmp_path / "overflow") if one.severity == "error"] == []


def test_the_walk_shows_what_the_section_says(walk: subprocess.CompletedProcess[str]) -> None:
    assert re.search(r"^pi-0\.87 +not overflow", walk.stdout, re.MULTILINE)
    assert re.search(r"^recommended +overflow", walk.stdout, re.MULTILINE)
    assert "replaced: id" in walk.stderr
    assert "newly caught: 1" in walk.stdout
    assert "verdict   sound" in walk.stdout
    assert "loops" in walk.stdout


def test_the_walk_changes_nothing_in_the_project(request: pytest.FixtureRequest) -> None:
    before = {path: path.read_bytes() for path in corpus_dir().iterdir()}
    request.getfixturevalue("walk")
    assert {path: path.read_bytes() for path in corpus_dir().iterdir()} == before
