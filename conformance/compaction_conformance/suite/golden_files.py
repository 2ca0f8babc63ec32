"""syrupy keeps the golden documents as plain JSON in `fixtures/golden/`, for programs without Python too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from compaction_conformance.golden.document import document_difference, document_text
from compaction_conformance.paths import fixtures_dir
from compaction_conformance.terminal import place, shown_apart


class GoldenFiles(SingleFileSnapshotExtension):
    """One file a session, named by the index of the assertion: `snapshot(name=session.id)`."""

    file_extension = "json"
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **_: Any) -> str:
        return document_text(data)

    @classmethod
    def dirname(cls, **_: Any) -> str:
        return str(fixtures_dir() / "golden")

    @classmethod
    def get_file_basename(cls, *, index: Any, **_: Any) -> str:
        return str(index)

    @classmethod
    def matches_test_location(cls, **_: Any) -> bool:
        """Whose file it is follows from its name, not from the test's place."""
        return True

    def discover_snapshots(self, **_: Any) -> SnapshotCollections:
        """None: the folder holds other files as well, and syrupy deletes what it takes for unused."""
        return SnapshotCollections()

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """What the recorded document leaves open is not compared."""
        return document_difference(json.loads(snapshot_data), json.loads(serialized_data)) is None

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """The first difference alone; documents are long."""
        difference = document_difference(json.loads(snapshot_data), json.loads(serialized_data))
        if difference is not None:
            want, got = shown_apart(difference.want, difference.got)
            yield f"at   {place(difference)}"
            yield f"want {want}"
            yield f"got  {got}"
