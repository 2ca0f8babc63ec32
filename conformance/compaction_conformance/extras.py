"""Libraries that a plain installation lacks: what needs them says so, and which extra of the package brings them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from compaction_conformance.errors import Unavailable

OF_THE_SUITE = ("httpx", "hypothesis", "respx", "syrupy")
_EXTRAS = {**dict.fromkeys(OF_THE_SUITE, "suite"), "libcst": "mutation", "mutmut": "mutation"}


def lacking(names: Sequence[str]) -> Unavailable | None:
    """What to tell where one of the libraries is not installed."""
    missing = [name for name in names if find_spec(name) is None]
    return _told(missing) if missing else None


def behind(error: ModuleNotFoundError) -> Unavailable | None:
    """What to tell of a failed import; None where no extra brings the module."""
    name = (error.name or "").partition(".")[0]
    return _told([name]) if name in _EXTRAS else None


def _told(missing: Sequence[str]) -> Unavailable:
    what = f"this needs what is not installed: {', '.join(missing)}"
    return Unavailable(what, remedy=f'pip install "pi-compaction-conformance[{_EXTRAS[missing[0]]}]"')
