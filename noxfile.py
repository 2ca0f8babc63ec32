"""The project's sessions: `nox -l` lists them, plain `nox` runs tests, lint and types."""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint", "types"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False

PYTHONS = ["3.11", "3.12", "3.13"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The project's own tests and the whole suite against the embedded reference."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session
def oracle(session: nox.Session) -> None:
    """The suite against the published Pi, sessions handed over both ways, the corpus recorded anew (npm)."""
    session.install("-e", ".[test]")
    session.run("compaction-conformance", "run", "--implementation", "pi", "--sweeps", "-n", "2", *session.posargs)
    session.run("compaction-conformance", "run", "--profile", "harness", "--implementation", "pi-harness")
    session.run("compaction-conformance", "handover", "reference", "pi")
    session.run("compaction-conformance", "handover", "pi", "reference")
    session.run("compaction-conformance", "overflow", "agree", "reference", "pi")
    session.run("compaction-conformance", "overflow", "record")


@nox.session
def mutation(session: nox.Session) -> None:
    """Every mutant of the reference against the vectors alone."""
    session.install("-e", ".[test,mutation]")
    session.run("compaction-conformance", "mutate", "-n", "2", *session.posargs)


@nox.session
def search(session: nox.Session) -> None:
    """A long search against the published Pi; what is found is left in `found/` (needs npm)."""
    session.install("-e", ".[test]")
    arguments = session.posargs or ["--implementation", "pi", "--seconds", "600", "-n", "2"]
    session.run("compaction-conformance", "search", *arguments)


@nox.session
def ports(session: nox.Session) -> None:
    """A search against each published port, judged by Pi: every one shows something in less than two minutes (needs
    the package index and npm)."""
    session.install("-e", ".[test]")
    for port in sorted(path.parent.name for path in Path("conformance/adapters/ports").glob("*/adapter.py")):
        command = ["compaction-conformance", "search", "--implementation", port, "--oracle", "pi", "--seconds", "100"]
        session.run(*command, "--out", f"found/{port}", *session.posargs, success_codes=[1])


@nox.session
def lint(session: nox.Session) -> None:
    """ruff, and the validity of all fixtures."""
    session.install("-e", ".[lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    folders = (Path("fixtures/vectors"), Path("fixtures/scenarios"))
    files = sorted(str(path) for folder in folders for path in folder.rglob("*.json"))
    session.run("compaction-conformance", "validate", "--quiet", *files)
    session.run("compaction-conformance", "overflow", "lint")


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strictly, over both packages."""
    session.install("-e", ".[lint,test]")
    session.run("mypy")


@nox.session
def bench(session: nox.Session) -> None:
    """Speed and memory, as ratios within one run (needs npm for the comparison with Pi)."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "compaction_conformance.bench", *session.posargs)
