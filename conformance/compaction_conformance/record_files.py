"""The records of the proof, read with their shape checked: a damaged one is one clear error, whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_json

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
    if error := schemas.error_of(Draft202012Validator(schema), data):
        what = f"{error.pointer or 'the whole'}: {error.message}"
        anew = f"delete it and write it anew with `compaction-conformance {command}`"
        raise InvalidInput(what, where=str(path), remedy=f"take the file as it was committed, or {anew}")
    return data
