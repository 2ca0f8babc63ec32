"""The records of the proof, read with their shape checked: a damaged one is one clear error, whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_json
from compaction_conformance.schema_words import pointer_to, told

COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
COUNTS: Mapping[str, Any] = {"type": "object", "additionalProperties": COUNT}
TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "object", "additionalProperties": TEXT}


def members(**schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object that has all of these members."""
    return {"type": "object", "required": list(schemas), "properties": schemas}


def map_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "additionalProperties": schema}


def list_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": schema}


def read_checked(path: Path, schema: Mapping[str, Any], *, command: str) -> Any:
    """Raises `InvalidInput` where the file is not what the command writes into it."""
    data = read_json(path)
    try:
        error = best_match(Draft202012Validator(schema).iter_errors(data))
    except RecursionError:
        raise InvalidInput("is nested too deeply", where=str(path), remedy=_remedy(command)) from None
    if error is not None:
        where = pointer_to(error.absolute_path) or "the whole"
        raise InvalidInput(f"{where}: {told(error)}", where=str(path), remedy=_remedy(command))
    return data


def _remedy(command: str) -> str:
    return f"take the file as it was committed, or delete it and write it anew with `compaction-conformance {command}`"
