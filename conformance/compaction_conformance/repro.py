"""Reproductions: the exact lines to pipe into an adapter, one file a vector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.implementation import Request, initialize_params
from compaction_conformance.vectors import Vector


def write_repro(folder: Path, vector: Vector, edition: str, profile: str) -> Path:
    """`FOLDER/ID.jsonl` with the handshake and the one request; `cat` it into an adapter to see its answer."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{vector.id}.jsonl"
    handshake = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize_params(edition, profile)}
    request = f'{{"jsonrpc":"2.0","id":1,"method":{json.dumps(vector.operation)},"params":{vector.params_text}}}'
    path.write_text(f"{json.dumps(handshake, separators=(',', ':'))}\n{request}\n", encoding="utf-8")
    return path


def read_repro(path: Path) -> list[Request]:
    """The requests of such a file, without the handshake. Raises `InvalidInput` naming the line that is none."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot be read: {error}", where=str(path)) from None
    requests = []
    for number, line in enumerate(lines, 1):
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
        raise InvalidInput("holds no request", where=str(path))
    return requests


def _request(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("method"), str) else None
