"""Where the data files are: beside this package in an installed wheel, at the root of the repository in a checkout."""

from __future__ import annotations

from pathlib import Path

from compaction_conformance.errors import InvalidInput, Unavailable

_PACKAGE = Path(__file__).resolve().parent
_REPOSITORY = _PACKAGE.parent.parent
_PROOF = _REPOSITORY / "conformance" / "PROOF.md"  # in no wheel


def spec_dir() -> Path:
    """The folder of chapters, schemas and the overflow pattern table."""
    return _folder("spec", _REPOSITORY / "spec")


def fixtures_dir() -> Path:
    """The folder of vectors, sessions and other language-neutral data."""
    return _folder("fixtures", _REPOSITORY / "fixtures")


def vector_dirs() -> list[Path]:
    """The folders of vector files: plain ones, and those whose input is a scenario."""
    return [fixtures_dir() / "vectors", fixtures_dir() / "scenarios"]


def vector_files() -> list[Path]:
    """Every vector file of the project."""
    return [file for folder in vector_dirs() for file in sorted(folder.rglob("*.json"))]


def adapters_dir() -> Path:
    """The folder of ready adapters to real implementations."""
    return _folder("adapters", _REPOSITORY / "conformance" / "adapters")


def checkout_dir(*, otherwise: str = "") -> Path:
    """The root of the repository. Raises `Unavailable` in an installed package, whose files are not to be changed and
    which has no records; `otherwise` is what can be done there."""
    if not _PROOF.is_file():
        what = "this needs a checkout: an installed package has no records, and its files are not to be changed"
        remedy = "run it in a checkout of the project, where `pip install -e .` was done"
        raise Unavailable(what, where=str(_PACKAGE), remedy=f"{otherwise}, or {remedy}" if otherwise else remedy)
    return _REPOSITORY


def _folder(name: str, in_checkout: Path) -> Path:
    in_wheel = _PACKAGE / "data" / name
    for folder in (in_wheel, in_checkout):
        if folder.is_dir():
            return folder
    where = f"{in_wheel} and {in_checkout}"
    raise InvalidInput(f"the data folder {name!r} is at neither place", where=where, remedy="reinstall the package")
