"""The pytest plugin: options of the command line, the implementation as a fixture, one test a vector.

Nothing of the suite is imported until a test asks for it, so that the plugin costs other projects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from compaction_conformance.implementation import Implementation
    from compaction_conformance.run import Outcome
    from compaction_conformance.vectors import Vector

_VECTORS = pytest.StashKey["tuple[Vector, ...]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("compaction-conformance")
    group.addoption(
        "--implementation", default="reference", help="a name, python:MODULE, or a command (default: reference)"
    )
    group.addoption(
        "--vectors", action="append", default=[], metavar="DIR", help="a folder of more vectors (repeatable)"
    )
    group.addoption("--edition", default="pi-0.87", help="version of the rules (default: pi-0.87)")
    group.addoption("--profile", default="coding-agent", help="family of rules (default: coding-agent)")
    group.addoption("--only", default=None, metavar="PATTERN", help="an id, a requirement, an operation or a chapter")
    group.addoption("--strict-advice", action="store_true", help="advice (SHOULD) fails too")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector" in metafunc.fixturenames:
        metafunc.parametrize("vector", _vectors(metafunc.config), ids=lambda vector: vector.id)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A pattern that fits nothing is a mistake, and no success."""
    only = config.getoption("--only")
    suite = [item for item in items if "failure_text" in getattr(item, "fixturenames", ())]
    if only is not None and suite and all(map(_is_left_out, suite)):
        pytest.exit(f"no vector fits --only {only!r}", returncode=pytest.ExitCode.USAGE_ERROR)


def _is_left_out(item: pytest.Item) -> bool:
    """Whether pytest made the test for an empty list of vectors."""
    skip = item.get_closest_marker("skip")
    return skip is not None and "empty parameter set" in str(skip.kwargs.get("reason"))


@pytest.fixture(scope="session")
def implementation(request: pytest.FixtureRequest) -> Iterator[Implementation]:
    """The implementation under test, connected once for the session."""
    from compaction_conformance.connect import Settings, connect
    from compaction_conformance.errors import ConformanceError

    chosen = request.config.getoption
    try:
        side = connect(chosen("--implementation"), Settings(chosen("--edition"), chosen("--profile")))
    except ConformanceError as error:
        pytest.exit(str(error), returncode=error.exit_code)
    yield side
    side.close()


@pytest.fixture(scope="session")
def outcome_for(implementation: Implementation) -> Callable[[Vector], Outcome]:
    """Runs one vector and says what became of it."""
    from compaction_conformance.run import run

    return lambda vector: run(implementation, (vector,)).outcomes[0]


@pytest.fixture(scope="session")
def failure_text(request: pytest.FixtureRequest, implementation: Implementation) -> Callable[[Outcome], str]:
    from compaction_conformance.terminal import failure_block

    name = request.config.getoption("--implementation")
    return lambda outcome: failure_block(outcome, implementation.description.label, name, None)


@pytest.fixture(scope="session")
def strict(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--strict-advice"))


def _vectors(config: pytest.Config) -> tuple[Any, ...]:
    if _VECTORS not in config.stash:
        from compaction_conformance.errors import ConformanceError
        from compaction_conformance.paths import spec_dir, vector_dirs
        from compaction_conformance.spec import load_spec
        from compaction_conformance.vectors import load_vectors, select

        folders = [*vector_dirs(), *map(Path, config.getoption("--vectors"))]
        try:
            spec = load_spec(spec_dir())
            spec.check_choice(config.getoption("--edition"), config.getoption("--profile"))
            everything = load_vectors(folders, spec)
        except ConformanceError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        config.stash[_VECTORS] = select(
            everything,
            only=config.getoption("--only"),
            edition=config.getoption("--edition"),
            profile=config.getoption("--profile"),
        )
    return config.stash[_VECTORS]
