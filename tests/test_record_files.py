"""A damaged record of the proof is one clear error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction_conformance import fault_run, trivial
from compaction_conformance.errors import InvalidInput
from compaction_conformance.mutation import record

READERS: dict[str, Callable[[Path], Any]] = {
    "faults": fault_run.read_pinned,
    "trivial": trivial.read_recorded,
    "mutate": record.read_record,
}
DAMAGED = [
    ("faults", '{"faults": {}}', "/faults"),
    ("faults", '{"faults": [{"id": "FLT-a"}]}', "/faults/0"),
    ("faults", '{"faults": [{"id": "FLT-a", "caughtBy": "PRJ-a"}]}', "/faults/0/caughtBy"),
    ("trivial", '{"scores": {"pi": {"tree": [1]}}}', "/scores/pi/tree"),
    ("trivial", '{"scores": {"pi": {"tree": [1, 0]}}}', "/scores/pi/tree/1"),
    ("trivial", '{"scores": {"pi": {"tree": "ab"}}}', "/scores/pi/tree"),
    ("mutate", '{"modules": {"tree": {}}, "equivalent": {}}', "/modules/tree"),
    ("mutate", '{"modules": [], "equivalent": {}}', "/modules"),
    *((command, text, "the whole") for command in READERS for text in ("[]", "7", "{}")),
]


@pytest.mark.parametrize(("command", "text", "where"), DAMAGED)
def test_a_damaged_record_says_where_and_what_to_do(tmp_path: Path, command: str, text: str, where: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        READERS[command](path)
    assert str(refused.value).startswith(f"{path}: {where}: ")
    assert f"compaction-conformance {command}" in refused.value.remedy


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("text", ["{", "", "[" * 100_000, '{"a": 1e', "\0"])
def test_a_record_that_is_no_json_is_refused(tmp_path: Path, command: str, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"record\.json"):
        READERS[command](path)
