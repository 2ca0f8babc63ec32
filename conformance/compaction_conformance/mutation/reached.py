"""Which lines of the reference a vector reaches: only such a vector can tell a change of them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from compaction_conformance.mutation.mutants import PACKAGE_DIR

Lines = dict[tuple[str, int], list[int]]
_PREFIX = str(PACKAGE_DIR) + "/"


def lines_reached(calls: Iterable[Callable[[], Any]]) -> Lines:
    """For every line (module, number) the places in `calls` of those that reach it, in order."""
    reached: Lines = defaultdict(list)
    names: dict[str, str | None] = {}
    now: set[tuple[str, int]] = set()

    def module_of(file: str) -> str | None:
        if file not in names:
            own = file.startswith(_PREFIX)
            names[file] = file.removeprefix(_PREFIX).removesuffix(".py").replace("/", ".") if own else None
        return names[file]

    def on_call(frame: FrameType, event: str, _: Any) -> Any:
        module = module_of(frame.f_code.co_filename)
        if module is None:
            return None

        def on_line(frame: FrameType, event: str, _: Any) -> Any:
            now.add((module, frame.f_lineno))
            return on_line

        return on_line(frame, event, None)

    before = sys.gettrace()
    for index, call in enumerate(calls):
        now.clear()
        sys.settrace(on_call)
        try:
            call()
        finally:
            sys.settrace(before)
        for line in now:
            reached[line].append(index)
    return reached
