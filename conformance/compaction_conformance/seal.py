"""The seal of the fixtures: digests of vector files that were checked in full, so that a run need not check them again.

A file whose digest is not in the seal (it is new, or was edited) is checked when it is loaded; so is every file when a
schema changed. A stale or broken seal costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_json, write_text
from compaction_conformance.paths import fixtures_dir, spec_dir

_NAME = "seal.json"


def is_sealed(content: bytes) -> bool:
    """Whether exactly this file was checked against exactly these schemas."""
    return _digest(content) in _sealed()


def write_seal(files: list[Path]) -> Path:
    """Note the files as checked; the caller has checked them."""
    seal = {"schemas": _schemas_digest(), "files": {_name(file): _digest(file.read_bytes()) for file in sorted(files)}}
    path = fixtures_dir() / _NAME
    write_text(path, json.dumps(seal, indent=1) + "\n")
    return path


@cache
def _sealed() -> frozenset[str]:
    path = fixtures_dir() / _NAME
    if not path.is_file():
        return frozenset()
    try:
        seal = read_json(path)
        return frozenset(seal["files"].values()) if seal["schemas"] == _schemas_digest() else frozenset()
    except (InvalidInput, AttributeError, KeyError, TypeError):
        return frozenset()


def _schemas_digest() -> str:
    """Of everything that the checks rest on: the schemas, and the pattern table that facts are computed from."""
    folder = spec_dir()
    files = [*sorted((folder / "schemas").rglob("*.json")), folder / "overflow-patterns.json"]
    return _digest(b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files))


def _name(file: Path) -> str:
    return file.relative_to(fixtures_dir()).as_posix()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
