"""The pytest plugin: the options of the suite and nothing else. Its fixtures and its tests are in `suite/`.

Every project that has the package installed loads this. `--compaction-profile` and the like are always there; the
short names (`--profile` …) are added to runs of the suite alone, and last: who has taken one, plugin or conftest.py,
keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

_PACKAGE = __name__.partition(".")[0]
_SUITE = f"{_PACKAGE}.suite"
_CONFTEST = Path(__file__).with_name("suite") / "conftest.py"
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "implementation": {
        "default": "reference",
        "help": "a name, python:MODULE, or a command (default: reference); what it does not declare is skipped"
        " and fails nothing, as with `run --declared-only`",
    },
    "vectors": {
        "action": "append",
        "default": [],
        "metavar": "DIR",
        "help": "a folder of more vectors (repeatable)",
    },
    "edition": {"default": "pi-0.87", "help": "version of the rules (default: pi-0.87)"},
    "profile": {"default": "coding-agent", "help": "family of rules (default: coding-agent)"},
    "only": {"default": None, "metavar": "PATTERN", "help": "an id, a requirement, an operation or a chapter"},
    "strict-advice": {"action": "store_true", "help": "advice (SHOULD) fails too"},
}


def option(config: pytest.Config, name: str) -> Any:
    """The value of an option of the suite, by its short name without dashes: `option(config, "profile")`."""
    return config.getoption(_dest(name))


def pytest_addoption(parser: pytest.Parser) -> None:
    for name in _OPTIONS:
        _add(parser, f"--compaction-{name}", name)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, object, object]:
    """The short names, after every conftest.py that is there from the start. Without its libraries the suite could not
    be collected: one word of it, in place of errors."""
    if any(_SUITE in place.replace(os.sep, ".") for place in args):
        _check_libraries()
    result = yield
    named = any(_PACKAGE in place for place in (*args, *early_config.getini("testpaths")))
    if named or early_config.pluginmanager.has_plugin(str(_CONFTEST)):
        for name in _OPTIONS:
            if _is_free(parser, f"--{name}"):
                _add(parser, f"--{name}", name)
    return result


def _check_libraries() -> None:
    from compaction_conformance import extras  # not in every project that has the package installed

    if lacking := extras.lacking(extras.OF_THE_SUITE):
        raise pytest.UsageError(str(lacking))


def _add(parser: pytest.Parser, flag: str, name: str) -> None:
    parser.getgroup("compaction-conformance").addoption(flag, dest=_dest(name), **_OPTIONS[name])


def _dest(name: str) -> str:
    return f"compaction_{name.replace('-', '_')}"


def _is_free(parser: pytest.Parser, flag: str) -> bool:
    """Whether nobody has the option; its value here is of no account."""
    try:
        _, unknown = parser.parse_known_and_unknown_args([f"{flag}=x"])
    except pytest.UsageError:
        return False
    return bool(unknown)
