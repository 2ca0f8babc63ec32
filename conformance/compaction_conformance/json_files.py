"""JSON files, read with one clear error where they are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compaction_conformance.errors import InvalidInput


def read_bytes(path: Path) -> bytes:
    """Raises `InvalidInput` when the file cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where=str(path)) from None


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
