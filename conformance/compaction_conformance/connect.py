"""From the word on the command line to a running implementation.

`reference` is the embedded one; names of `conformance/adapters/` (`pi`, `node-example` …) are ready adapters;
`python:module` or `python:module:name` is an object in this process; anything else is a command to start.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from compaction_conformance import adapters
from compaction_conformance.errors import InvalidInput, Unavailable
from compaction_conformance.implementation import Implementation
from compaction_conformance.in_process import InProcess, imported
from compaction_conformance.stdio import Stdio

REFERENCE = "reference"
_STARTERS = {".js": "node", ".mjs": "node", ".cjs": "node", ".py": "python", ".rb": "ruby", ".sh": "sh"}
_REFERENCE_MODULES = {"harness": "compaction_reference.harness.operations"}  # of the profiles besides the first


@dataclass(frozen=True)
class Settings:
    """How to talk to an implementation: `time_limit` in seconds a request, `restarts` a process."""

    edition: str = "pi-0.87"
    profile: str = "coding-agent"
    time_limit: float = 10.0
    restarts: int = 100
    own_process: bool = False  # start the reference as a process too, so that several can run at once


def connect(name: str, settings: Settings) -> Implementation:
    """Raises `Unavailable`, `InvalidInput` or `HandshakeFailed`."""
    if name == REFERENCE and not settings.own_process:
        return _python(_REFERENCE_MODULES.get(settings.profile, "compaction_reference.operations"), settings)
    if name.startswith("python:"):
        return _python(name.removeprefix("python:"), settings)
    command, environment = _command(name)
    if shutil.which(command[0]) is None:
        raise _not_to_be_started(name, command)
    return Stdio(
        command,
        environment=environment,
        edition=settings.edition,
        profile=settings.profile,
        time_limit=settings.time_limit,
        restarts=settings.restarts,
    )


def _command(name: str) -> tuple[list[str], dict[str, str]]:
    if name == REFERENCE:
        return [sys.executable, "-m", "compaction_reference"], {}
    if name in adapters.names():
        return adapter_command(name, where=f"--implementation {name}")
    try:
        command = shlex.split(name)
    except ValueError as error:
        raise InvalidInput(f"cannot be read as a command: {error}", where=f"--implementation {name!r}") from None
    if not command:
        raise InvalidInput("no command given", where="--implementation", remedy='for example "node adapter.mjs"')
    return command, {}


def adapter_command(name: str, *, where: str) -> tuple[list[str], dict[str, str]]:
    """The command that starts an adapter of the suite, and what to add to its environment. Raises `Unavailable`."""
    try:
        return adapters.command_for(name)
    except adapters.AdapterUnavailable as error:
        raise Unavailable(str(error), where=where) from None


def _not_to_be_started(name: str, command: list[str]) -> Unavailable:
    """Why there is no such program: it is no program at all, or a file that cannot be started by itself."""
    where, program = f"--implementation {name!r}", command[0]
    if not os.path.isfile(program):
        return Unavailable(
            f"the command {program!r} is not found",
            where=where,
            remedy=f"give a command that starts your adapter, or one of: {REFERENCE}, {', '.join(adapters.names())}",
        )
    if os.access(program, os.X_OK):  # a name without a folder is looked for on the path alone
        return Unavailable(f"{program!r} is not on the path", where=where, remedy=f"give {_quoted('./', command)}")
    starter = _STARTERS.get(Path(program).suffix)
    instead = f"or give {_quoted(f'{starter} ', command)}" if starter else "or name the program that runs it"
    what = f"the file {program!r} is not executable"
    return Unavailable(what, where=where, remedy=f"make it executable (chmod +x), {instead}")


def _quoted(before: str, command: list[str]) -> str:
    return f'"{before}{shlex.join(command)}"'


def _python(target: str, settings: Settings) -> Implementation:
    module_name, _, attribute = target.partition(":")
    if "" not in sys.path:  # the working directory, as `python -m` would find it
        sys.path.insert(0, "")
    path = attribute.split(".") if attribute else []
    found = imported(module_name, path, where=f"--implementation python:{target}")
    return InProcess(found, edition=settings.edition, profile=settings.profile, time_limit=settings.time_limit)
