"""Files, read and written with one clear error where that cannot be done, and the JSON in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput

MAX_BYTES = 256 << 20


def read_bytes(path: Path) -> bytes:
    """Raises `InvalidInput` when the file cannot be read. A pipe or a device is none: it may never end."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput("cannot be read: it is no regular file", where=str(path))
        if path.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"cannot be read: it is larger than {MAX_BYTES >> 20} MiB", where=str(path))
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def read_text(path: Path) -> str:
    """A file in UTF-8. Raises `InvalidInput` with the line that is not."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8: {error.reason} at byte {error.start}"
        raise InvalidInput(what, where=f"{path}:{line}", remedy="write the file in UTF-8") from None


def parsed_json(content: bytes, path: Path) -> Any:
    """The value of a file's content. Raises `InvalidInput` with file and line."""
    try:
        return json.loads(content.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8: {error.reason} at byte {error.start}", where=str(path)) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput(f"cannot be read as JSON: {reason}", where=str(path)) from None


def read_json(path: Path) -> Any:
    """Both in one."""
    return parsed_json(read_bytes(path), path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Around the making of a file. Raises `InvalidInput` when it cannot be written."""
    try:
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise InvalidInput(what, where=str(path), remedy="name a place that can be written") from None


def write_text(path: Path, text: str) -> None:
    """Write the file whole or not at all: on a full disk the old content stays. Raises `InvalidInput`."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with writing(path):
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()
