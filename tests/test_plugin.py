"""The pytest plugin is loaded in every project: it gives the suite its options and leaves the others alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from compaction_conformance import suite
from samples import vector

SUITE = ("--pyargs", "compaction_conformance.suite.test_vectors")
FOREIGN = """
import pytest

@pytest.fixture
def vector():
    return [1, 2]

def test_len(vector):
    assert len(vector) == 2

def test_what_is_there(request):
    for name in ("implementation", "outcome_for", "failure_text", "pass_if_met", "strict"):
        with pytest.raises(pytest.FixtureLookupError):
            request.getfixturevalue(name)
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--profile", action="store_true")

def pytest_report_header(config):
    return f"profile is {config.getoption('--profile')}"
"""

DIES_ONCE = """
import json, pathlib, sys
from compaction_reference.operations import describe

started = pathlib.Path("started")
if started.exists():
    sys.exit("it does not start any more")
started.touch()
request = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": describe()}), flush=True)
sys.stdin.readline()
"""

PLAIN = """
from compaction_reference.operations import call
from compaction_reference import operations

def describe():
    return {**operations.describe(), "features": []}
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and output of pytest in the folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_fixtures_of_other_projects_are_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(FOREIGN)
    code, out = run(tmp_path)
    assert code == 0, out
    assert "2 passed" in out


def test_an_option_of_another_project_may_have_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    code, out = run(tmp_path, "--profile")
    assert code == 0, out
    assert "profile is True" in out


def test_a_short_name_is_unknown_where_the_suite_is_not_asked_for(tmp_path: Path) -> None:
    code, out = run(tmp_path, "--only", "TOK-01")
    assert code == 4
    assert "unrecognized arguments: --only" in out


@pytest.mark.parametrize("prefix", ["--", "--compaction-"])
def test_the_suite_knows_its_options_by_both_names(prefix: str, tmp_path: Path) -> None:
    code, out = run(tmp_path, *SUITE, f"{prefix}only", "HCO-context-plain", f"{prefix}profile", "harness")
    assert code == 0, out
    assert "1 passed" in out


def test_the_suite_leaves_a_short_name_to_the_project_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    options = ("--profile", "--compaction-profile", "harness", "--only", "HCO-context-plain")
    code, out = run(tmp_path, *SUITE, *options)
    assert code == 0, out
    assert "profile is True" in out
    assert "1 passed" in out


def test_the_suite_knows_its_short_names_when_it_is_named_by_its_path() -> None:
    code, out = run(Path(suite.__file__).parent, "test_vectors.py", "--only", "TOK-usage-total-wins")
    assert code == 0, out
    assert "1 passed" in out


def test_a_failure_under_pytest_tells_how_to_repeat_it(write_vectors: Callable[..., Path], tmp_path: Path) -> None:
    path = write_vectors(vector(expect={"result": {"compact": True}}))
    code, out = run(tmp_path, *SUITE, "--vectors", str(path.parent), "--only", "TOK-sample")
    assert code == 1
    assert f"--implementation reference --vectors {path.parent} --only TOK-sample" in out


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict-advice",), 1)])
def test_advice_fails_the_suite_when_it_is_strict(options: tuple[str, ...], code: int, tmp_path: Path) -> None:
    found = run(tmp_path, *SUITE, "--only", "OVF-62", *options)
    assert found[0] == code, found[1]


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("test_vectors", "TOK-01"),
        ("test_overflow_corpus", "RSP-anthropic-*"),
        ("test_sessions", "SWEEP-first-steps-*"),
    ],
)
def test_what_was_not_run_fails_the_suite(module: str, only: str, tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(DIES_ONCE)
    words = ("--pyargs", f"compaction_conformance.suite.{module}", "-k", "not without_a_socket", "--only", only)
    code, out = run(tmp_path, *words, "--implementation", f"{sys.executable} dies.py")
    assert code == 1, out
    assert "passed" not in out.splitlines()[-1]
    assert "not run: it could not be started again" in out


def test_vectors_of_an_undeclared_feature_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    words = (*SUITE, "-rs", "--only", "SUM-src-*", "--implementation", "python:plain")
    code, out = run(tmp_path, *words)
    assert code == 0, out
    assert "optional feature source-context is not declared" in out


@pytest.mark.parametrize(
    ("only", "passed", "skipped"),
    [("FIL-08", ["PROP-FIL-"], "PROP-PRJ-"), ("PROP-PRJ-off-path", ["PROP-PRJ-off-path"], "PROP-FIL-")],
)
def test_only_chooses_properties_too(only: str, passed: list[str], skipped: str, tmp_path: Path) -> None:
    places = (f"compaction_conformance.suite.{module}" for module in ("test_properties", "test_machine"))
    code, out = run(tmp_path, "--pyargs", *places, "-v", "-rs", "--only", only)
    assert code == 0, out
    assert all(name in out for name in passed)
    assert skipped not in out
    assert f"the machine is not what --only {only} asks for" in out


def test_the_help_says_what_differs_from_a_run(tmp_path: Path) -> None:
    _, out = run(tmp_path, "--help")
    assert "what it does not declare is skipped and fails nothing" in " ".join(out.split())
