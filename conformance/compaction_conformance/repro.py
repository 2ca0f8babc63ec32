"""Reproductions: the exact lines to pipe into an adapter, one file a vector or a disagreement."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.implementation import Request, initialize_params
from compaction_conformance.json_files import read_text, write_text, writing
from compaction_conformance.vectors import Vector


def write_repro(folder: Path, vector: Vector, edition: str, profile: str) -> Path:
    """`FOLDER/ID.jsonl` for the request of a vector. Raises `InvalidInput` when it cannot be written."""
    return write_request(folder, vector.id, Request(vector.operation, vector.params_text), edition, profile)


def write_request(folder: Path, name: str, request: Request, edition: str, profile: str) -> Path:
    """`FOLDER/NAME.jsonl` with the handshake and the one request; `cat` it into an adapter to see its answer.

    Raises `InvalidInput` when it cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    handshake = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params(edition, profile)}
    line = f'{{"jsonrpc":"2.0","id":1,"method":{json.dumps(request.method)},"params":{request.params_text}}}'
    write_text(path, f"{json.dumps(handshake, separators=(',', ':'))}\n{line}\n")
    return path


def forget(folder: Path, names: Iterable[str]) -> None:
    """Removes `FOLDER/NAME.jsonl` of what is met now, and nothing else. What cannot be removed stays."""
    for name in names:
        path = folder / f"{name}.jsonl"
        with suppress(OSError):
            if path.is_file():
                path.unlink()


def read_repro(path: Path) -> list[Request]:
    """The requests of such a file, without the handshake. Raises `InvalidInput` naming the line that is none."""
    requests = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        value = _request(line)
        if value is None:
            raise InvalidInput(
                "not a JSON-RPC request",
                where=f"{path}:{number}",
                remedy="give a file as a failing run writes it, one request a line",
            )
        if value["method"] != "initialize":
            requests.append(Request(value["method"], json.dumps(value.get("params", {}), separators=(",", ":"))))
    if not requests:
        raise InvalidInput("holds no request", where=str(path), remedy="give a file as a failing run writes it")
    return requests


def _request(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("method"), str) else None
