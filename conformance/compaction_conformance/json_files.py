"""Files, read and written with one clear error where that cannot be done, and the JSON in them."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from compaction_conformance.errors import InvalidInput

MAX_BYTES = 256 << 20
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_CONSTANT = "NaN|-?Infinity"
_NAME_KEPT = 100  # characters of a file's name in that of the unfinished one


class _NoNumber(ValueError):
    """NaN or an infinity, which Python reads and JSON does not have."""


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Raises `InvalidInput` when the file cannot be read. A pipe or a device is none: it may never end."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput("cannot be read: it is no regular file", where=str(path))
        if path.stat().st_size > limit:
            what = f"cannot be read: it is larger than {limit >> 20} MiB"
            raise InvalidInput(what, where=str(path), remedy="split the file")
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """A file in UTF-8. Raises `InvalidInput` with the line that is not."""
    content = read_bytes(path, limit)
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
        line = _line_of(_CONSTANT, content.decode("utf-8"))
        raise InvalidInput(f"not JSON: {error} is no number", where=f"{path}:{line}") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8: {error.reason} at byte {error.start}", where=str(path)) from None
    except RecursionError:
        what = "cannot be read as JSON: nested too deeply"
        raise InvalidInput(what, where=str(path), remedy="flatten the value") from None
    except ValueError:  # the last one that is left: Python refuses whole numbers of many thousand digits
        most = sys.get_int_max_str_digits()
        line = _line_of(rf"(?<![0-9.eE+])[0-9]{{{most + 1},}}(?![0-9.eE])", content.decode("utf-8"))
        what = f"cannot be read as JSON: a number of more than {most} digits"
        raise InvalidInput(what, where=f"{path}:{line}", remedy="write a shorter number") from None


def _refuse(constant: str) -> NoReturn:
    raise _NoNumber(constant)


def _line_of(pattern: str, text: str) -> int:
    """Where the first match of the pattern stands that is in no text."""
    either = re.compile(f"{_TEXT}|{pattern}", re.DOTALL)
    found = next(match for match in either.finditer(text) if not match[0].startswith('"'))
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
        unread = error.errno == errno.ENXIO  # what opening a pipe without a reader comes to
        what = f"cannot be written: {'nobody reads from it' if unread else error.strerror}"
        raise InvalidInput(what, where=str(path), remedy="name a place that can be written") from None


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """A stream into a file, which is there whole or not at all: on a full disk the old content stays, and so it does
    after an error. Raises `InvalidInput`.

    A pipe, a device or a link, such as /dev/stdout, is not replaced but written to. A lone surrogate becomes the escape
    that JSON has for it."""
    with writing(path):
        unfinished = None if _is_written_to(path) else _beside(path)
        try:
            descriptor = _descriptor(path) if unfinished is None else _new(unfinished, path)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as stream:
                yield stream
            if unfinished is not None:
                unfinished.replace(path)
        finally:
            if unfinished is not None:
                unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """A whole file at once, as `written` tells. Raises `InvalidInput`."""
    with written(path) as stream:
        stream.write(text)


def _is_written_to(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and (not path.is_file() or _own_stream(path) is not None))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{os.getpid()}.part")


def _new(unfinished: Path, path: Path) -> int:
    """A new file that nobody else has, with the rights of the one that it is to replace."""
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    if path.exists():
        with suppress(OSError):
            os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
    return descriptor


def _descriptor(path: Path) -> int:
    """Of what is no regular file. Opening a pipe would wait for its reader for ever."""
    if (own := _own_stream(path)) is not None:
        return os.dup(own)  # to go on where it is
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    os.set_blocking(descriptor, True)
    return descriptor


def _own_stream(path: Path) -> int | None:
    """Our own output, where the path leads there; what was said before is there first."""
    for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
        with suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(number)):
                stream.flush()
                return number
    return None
