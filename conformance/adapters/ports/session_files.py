"""Session files for ports that read and write them: each is made in a folder of its own, which goes away again."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HEADER = {"type": "session", "version": 3, "id": "in-memory", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"}


def bytes_of(params: dict[str, Any]) -> bytes | None:
    """The content of the file that the params of `session/parse` or `session/write` stand for; None for no file."""
    if "contentBase64" in params:
        return base64.b64decode(params["contentBase64"])
    content = params["content"]
    return None if content is None else content.encode("utf-8", "surrogatepass")


def lines_of(entries: list[Any]) -> bytes:
    """The entries as a version 3 session file would hold them."""
    return "".join(json.dumps(each) + "\n" for each in [HEADER, *entries]).encode()


@contextmanager
def session_file(content: bytes | None) -> Iterator[Path]:
    """A file that holds the content, or the place for one."""
    with tempfile.TemporaryDirectory(prefix="port-session-") as folder:
        path = Path(folder) / "session.jsonl"
        if content is not None:
            path.write_bytes(content)
        yield path


def written(path: Path) -> dict[str, Any]:
    """The result of `session/write`."""
    return {"content": path.read_bytes().decode("utf-8", "replace") if path.exists() else None}


def flattened(roots: list[Any], name: str | None) -> dict[str, Any]:
    """The result of `session/tree` from nodes with `entry`, `children` and `label`. No recursion: trees can be deep."""
    children: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.label is not None:
            labels[node.entry.id] = node.label
        if node.children:
            children[node.entry.id] = [child.entry.id for child in node.children]
        stack.extend(node.children)
    return {"roots": [node.entry.id for node in roots], "children": children, "labels": labels, "name": name}
