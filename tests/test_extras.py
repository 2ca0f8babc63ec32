"""What is not installed is told in one error with its remedy, and an installed package is not written to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compaction_conformance import extras, paths
from compaction_conformance.cli import main
from compaction_conformance.corpus.cases import corpus_dir
from compaction_conformance.paths import fixtures_dir
from compaction_conformance.verbs.proof import proof_dir

_CODE = """
import sys
sys.modules.update(dict.fromkeys({missing!r}))
from {module} import main
sys.exit(main(sys.argv[1:]))
"""
_ADD = (
    "overflow add body.txt --id acme-a --provider acme --api openai-completions --status 400 --label overflow"
    " --reason said --class context-input --grade synthetic --source ours --seen 2026"
)
_ALONE = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def without(
    missing: tuple[str, ...], folder: Path, *arguments: str, module: str = "compaction_conformance.cli"
) -> tuple[int, str]:
    """Exit code and output of a command where the libraries cannot be imported."""
    command = [sys.executable, "-c", _CODE.format(missing=missing, module=module), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=_ALONE)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["faults", "FLT-cut-keeps-all"], "httpx"),
        (["search", "--list"], "hypothesis"),
        (["explain", "PROP-PRJ-off-path"], "hypothesis"),
    ],
)
def test_a_verb_without_its_library_names_the_remedy(arguments: list[str], missing: str, tmp_path: Path) -> None:
    code, out = without(extras.OF_THE_SUITE, tmp_path, *arguments)
    assert (code, out.count("\n")) == (2, 2), out
    assert f"this needs what is not installed: {missing}" in out
    assert 'pip install "pi-compaction-conformance[suite]"' in out


def test_the_suite_under_pytest_without_its_libraries_names_the_remedy(tmp_path: Path) -> None:
    words = ("-p", "compaction_conformance.pytest_plugin", "--pyargs", "compaction_conformance.suite")
    code, out = without(("hypothesis", "respx"), tmp_path, *words, module="pytest")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "this needs what is not installed: hypothesis, respx" in out
    assert 'pip install "pi-compaction-conformance[suite]"' in out
    assert "Traceback" not in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["seal"],
        ["faults", "FLT-cut-keeps-all", "--pin"],
        ["trivial"],
        ["trace"],
        ["mutate", "cut_point", "--pin"],
        ["overflow", "record", "--write"],
        _ADD.split(),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_an_installed_package_is_not_written_to(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [*fixtures_dir().glob("*.json"), *corpus_dir().iterdir(), *proof_dir().glob("*.json")]
    before = [(path, path.stat().st_mtime_ns) for path in records]
    monkeypatch.setattr(paths, "_PROOF", tmp_path / "PROOF.md")
    monkeypatch.chdir(tmp_path)
    Path("body.txt").write_text("too long")
    assert main(arguments) == 2
    assert "this needs a checkout" in capsys.readouterr().err
    assert [(path, path.stat().st_mtime_ns) for path in records] == before
    assert not (corpus_dir() / "acme.json").exists()
