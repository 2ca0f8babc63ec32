"""The schemas of `spec/schemas/`, loaded once, and one error in plain words where a value breaks one.

A schema is named by its path below that folder, without `.json`: `entry`, `entries/message`, `protocol/response`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import spec_dir
from compaction_conformance.schema_words import pointer_to, printable, told

BASE = "https://pi-compaction-conformance.example/schemas/"
_REINSTALL = "reinstall the package"
_WEIGHED = 100  # a broken list of a million blocks has a million errors; the first ones tell enough


@dataclass(frozen=True)
class SchemaError:
    """The most telling way in which a value breaks a schema. `pointer` is a JSON Pointer to `value`; empty: the whole
    value."""

    pointer: str
    message: str
    schema_id: str
    value: Any = None

    def __str__(self) -> str:
        return f"{printable(self.pointer) or 'the value'}: {self.message}"


@cache
def all_schemas() -> MappingProxyType[str, Any]:
    """Every schema by name. The values are shared: read them, do not change them."""
    folder = spec_dir() / "schemas"
    found = sorted(folder.rglob("*.json"))
    if not found:
        raise InvalidInput("holds no schema", where=str(folder), remedy=_REINSTALL)
    named = {path.relative_to(folder).as_posix().removesuffix(".json"): _schema(path) for path in found}
    if "definitions" not in named:
        raise InvalidInput("definitions.json is not there", where=str(folder), remedy=_REINSTALL)
    return MappingProxyType(named)


def _schema(path: Path) -> Any:
    schema = read_json(path)
    if not isinstance(schema, dict) or not isinstance(schema.get("$id"), str):
        raise InvalidInput("not a schema with an $id", where=str(path), remedy=_REINSTALL)
    return schema


def _pattern(checker: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if checker.is_type(value, "string") and not _regex(pattern).search(value):
        yield ValidationError("does not match")


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    """As ECMAScript reads it: `$` is the end of a text, and not a line feed before it. Our patterns have it last."""
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


_Validator: type[Draft202012Validator] = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern}
)


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of a schema. Raises `KeyError` for an unknown name."""
    return _Validator(all_schemas()[name], registry=_registry())


def first_error(name: str, value: Any) -> SchemaError | None:
    """What is most wrong with the value, or None."""
    try:
        return error_of(validator(name), value)
    except Unresolvable as problem:
        what = f"the schema {name} refers to {problem.ref}, which is not there"
        raise InvalidInput(what, remedy=_REINSTALL) from None


def error_of(checker: Draft202012Validator, value: Any) -> SchemaError | None:
    """The same by a validator."""
    try:
        error = best_match(islice(checker.iter_errors(value), _WEIGHED))
    except RecursionError:
        return SchemaError("", "is nested too deeply to be checked", _id(checker))
    except ValueError:  # Python refuses to print integers of many thousand digits
        return SchemaError("", "holds a number of too many digits to be checked", _id(checker))
    return (
        None
        if error is None
        else SchemaError(pointer_to(error.absolute_path), told(error), _id(checker), error.instance)
    )


def read_valid(path: Path, name: str) -> Any:
    """A file of ours that follows the schema of that name. Raises `InvalidInput` where it is damaged."""
    value = read_json(path)
    if (error := first_error(name, value)) is not None:
        raise InvalidInput(str(error), where=str(path), remedy=_REINSTALL)
    return value


def operations() -> tuple[str, ...]:
    """The names of all operations, in the order of `protocol.md`."""
    return tuple(all_schemas()["definitions"]["$defs"]["operation"]["enum"])


def params_schema(operation: str) -> str:
    """The name of the schema of an operation's params."""
    return f"operations/{operation.replace('/', '-')}.params"


def result_schema(operation: str) -> str:
    """The name of the schema of an operation's result."""
    return f"operations/{operation.replace('/', '-')}.result"


@cache
def _registry() -> Registry[Any]:
    return Registry().with_resources(_resources(all_schemas().values()))


def _resources(schemas: Iterable[Any]) -> list[tuple[str, Resource[Any]]]:
    return [(schema["$id"], Resource.from_contents(schema, DRAFT202012)) for schema in schemas]


def _id(checker: Draft202012Validator) -> str:
    return str(checker.schema.get("$id", "")) if isinstance(checker.schema, dict) else ""
