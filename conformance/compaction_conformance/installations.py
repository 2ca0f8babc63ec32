"""Installations of what the ready adapters need: once, in a cache folder of the user, whole or not at all.

That holds also when two runs race for the same one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

CACHE_VARIABLE = "COMPACTION_CONFORMANCE_CACHE"


class AdapterUnavailable(Exception):
    """An adapter cannot be started here: what is wrong, and what helps. Each is one line."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy


def cache_folder() -> Path:
    """Where installations are kept; the environment can move it. Raises `AdapterUnavailable`."""
    if chosen := folder_from(CACHE_VARIABLE):
        return chosen
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else _expanded("~/.cache", CACHE_VARIABLE)) / "compaction-conformance"


def folder_from(variable: str) -> Path | None:
    """The folder that the environment names, or None. Raises `AdapterUnavailable` for the home of nobody."""
    chosen = os.environ.get(variable)
    return _expanded(chosen, variable) if chosen else None


def _expanded(folder: str, variable: str) -> Path:
    try:
        return Path(folder).expanduser().absolute()
    except RuntimeError:
        what = f"there is no home folder to put in place of the ~ of {folder!r}"
        raise AdapterUnavailable(what, f"set {variable} to a whole path") from None


def installed(name: str, about: str, fill: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache. When it is not there, `fill` fills a folder apart, and that is said.

    Raises `AdapterUnavailable` when the cache cannot be written, and what `fill` raises; nothing is kept then.
    """
    home = cache_folder() / name
    try:
        if home.is_dir():
            return home
        home.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=home.parent))
    except OSError as error:
        raise AdapterUnavailable(f"the cache folder cannot be written: {error}", f"set {CACHE_VARIABLE}") from None
    try:
        print(f"installing {about} into {home} (once) …", file=sys.stderr, flush=True)
        fill(unfinished)
        try:
            unfinished.rename(home)
        except OSError:
            if not home.is_dir():  # else another run was faster, and its folder is as good
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return home


def run_installer(command: Sequence[str], where: Path, failure: str, told: Callable[[list[str]], list[str]]) -> None:
    """Runs it in the folder. Where it fails, `told` picks from its lines what goes into the one line of the error."""
    try:
        run = subprocess.run(
            command, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        raise AdapterUnavailable(f"{failure}: {error}", "mend that and run again; nothing was kept") from None
    if run.returncode == 0:
        return
    lines = [line.strip() for line in run.stdout.decode("utf-8", "replace").splitlines()]
    said = " | ".join(told([line for line in lines if line])) or "it said nothing"
    raise AdapterUnavailable(
        f"{failure} (exit code {run.returncode}): {said}", "mend that and run again; nothing was kept"
    )
