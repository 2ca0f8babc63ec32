"""Files, read and written with one clear error where that cannot be done, and the JSON in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from compaction_conformance.errors import InvalidInput

MAX_BYTES = 256 << 20
_TEXT_OR_CONSTANT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity', re.DOTALL)


class _NoNumber(ValueError):
    """NaN or an infinity, which Python reads and JSON does not have."""


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
        return json.loads(content.decode("utf-8"), parse_constant=_refuse)
    except _NoNumber as error:
        line = _line_of_constant(content.decode("utf-8"))
        raise InvalidInput(f"not JSON: {error} is no number", where=f"{path}:{line}") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8: {error.reason} at byte {error.start}", where=str(path)) from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput(f"cannot be read as JSON: {reason}", where=str(path)) from None


def _refuse(constant: str) -> NoReturn:
    raise _NoNumber(constant)


def _line_of_constant(text: str) -> int:
    """Where the first NaN or infinity stands that is in no text."""
    found = next(match for match in _TEXT_OR_CONSTANT.finditer(text) if not match[0].startswith('"'))
    return text.count("\n", 0, found.start()) + 1


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
    """Write the file whole or not at all: on a full disk the old content stays. Raises `InvalidInput`.

    A pipe, a device or a link, such as /dev/stdout, is not replaced but written to."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with writing(path):
            path.write_text(text, encoding="utf-8")
        return
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with writing(path):
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()
