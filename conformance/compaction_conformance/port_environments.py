"""The published ports that the suite has adapters for, each in a virtual environment of its own.

Ports share import names (`pi_ai`, `pi_coding_agent`), so no two fit into one environment.
`adapters/ports/NAME/requirements.txt` pins every package of a port with its hashes; pip makes the environment from it
on first use, and it stays in the cache.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

from compaction_conformance.installations import AdapterUnavailable, installed, run_installer
from compaction_conformance.paths import adapters_dir

_PIP = ["-m", "pip", "install", "--require-hashes", "--only-binary=:all:", "--no-input", "--quiet"]
_PYTHON = Path("Scripts", "python.exe") if os.name == "nt" else Path("bin", "python")


def names() -> list[str]:
    """The ports, by the name that `--implementation` takes."""
    return sorted(file.parent.name for file in _ports().glob("*/adapter.py"))


def command_for(name: str) -> list[str]:
    """The command that starts the port's adapter. Makes its environment when it is not there.

    Raises `AdapterUnavailable`, also for a name that no port has.
    """
    if name not in names():
        raise AdapterUnavailable(f"there is no port {name!r}", f"the ports are {', '.join(names())}")
    home = installed(_folder_name(name), wanted(name), lambda where: _fill(where, name))
    python = home / _PYTHON
    if not python.exists():  # the interpreter that it was made with is gone
        raise AdapterUnavailable(f"{python} does not run any more", f"delete {home}")
    return [str(python), "-B", "-E", "-s", str(_ports() / "serve.py"), name]


def wanted(name: str) -> str:
    """The distributions that make up the port, with their versions."""
    return " ".join((_ports() / name / "requirements.in").read_text(encoding="utf-8").split())


def _ports() -> Path:
    return adapters_dir() / "ports"


def _requirements(name: str) -> Path:
    return _ports() / name / "requirements.txt"


def _folder_name(name: str) -> str:
    """Other pins, another Python or another machine: another environment."""
    parts = [sys.base_prefix, platform.python_version(), platform.machine()]
    digest = hashlib.sha256(_requirements(name).read_bytes() + "\n".join(parts).encode())
    return f"{name}-{digest.hexdigest()[:16]}"


def _fill(where: Path, name: str) -> None:
    make = [sys.executable, "-m", "venv", str(where)]
    run_installer(make, where, f"no virtual environment could be made for {name}", lambda lines: lines[-2:])
    install = [str(where / _PYTHON), *_PIP, "--requirement", str(_requirements(name))]
    run_installer(install, where, f"pip could not install {name}", _causes)


def _causes(lines: list[str]) -> list[str]:
    """pip says what went wrong in lines of their own, and much else around them."""
    return [line for line in lines if line.startswith("ERROR: ")][:3] or lines[-3:]
