"""Shared by the harness's tests: a small folder of spec and vectors to break on purpose."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from compaction_conformance.paths import spec_dir, vector_dirs
from compaction_conformance.spec import Spec, load_spec
from compaction_conformance.vectors import Vector, load_vectors

settings.register_profile("same", derandomize=True)  # one commit, one outcome
settings.register_profile("other")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def spec() -> Spec:
    return load_spec(spec_dir())


@pytest.fixture(scope="session")
def vectors(spec: Spec) -> tuple[Vector, ...]:
    """All of the suite, of both profiles."""
    return load_vectors(vector_dirs(), spec)


@pytest.fixture
def vector_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "vectors"
    folder.mkdir()
    return folder


@pytest.fixture
def write_vectors(vector_folder: Path) -> Any:
    """Writes a vector file of one vector a line and gives back its path."""

    def write(*vectors: Any, name: str = "sample.json") -> Path:
        path = vector_folder / name
        bodies = ",\n".join(json.dumps(one) for one in vectors)
        path.write_text(f'{{"chapter": "tokens", "vectors": [\n{bodies}\n]}}\n')
        return path

    return write
