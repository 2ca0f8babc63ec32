"""How an operation is called, of whichever profile it is: what comes in is checked, and there is room for depth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .params import checked
from .types import Json

_DEEP = 20_000  # calls within calls; Python allows a thousand


def called(operation: Callable[[Json], Json], params: Json) -> Json:
    """The result of an operation. Raises `errors.Refusal` where the rules refuse."""
    with room_for_depth():
        return operation(checked(params))


@contextmanager
def room_for_depth() -> Iterator[None]:
    """Meanwhile what is nested some thousand levels deep can be read and written."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
