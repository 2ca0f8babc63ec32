"""`compaction-conformance` as a process: what an interruption comes to, from the first moment to the last.

Little is imported here, for that takes time in which nobody could end the process without noise.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

INTERRUPTED = 130  # as a shell calls it: more than once, or where nothing could be ended in order
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit code: 0 conformant, 1 not, 2 bad usage, 3 incomplete."""
    if arguments is None:  # then the process is ours
        _handle(signal.SIG_DFL)
    from compaction_conformance.verbs.command import command

    with _interruptions() as interruptions:
        try:
            code = command(arguments)
        except KeyboardInterrupt:
            return INTERRUPTED
        return INTERRUPTED if len(interruptions) > 1 else code


@contextmanager
def _interruptions() -> Iterator[list[int]]:
    """The signals that have come: each raises `KeyboardInterrupt`, so that adapters are ended on the way out."""
    come: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        come.append(number)
        raise KeyboardInterrupt

    before = _handle(interrupt)
    try:
        yield come
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handle(handler: Any) -> dict[int, Any]:
    """Set the handler of the signals but those that are ignored; what they had before."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    heard = [number for number in _SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    return {number: signal.signal(number, handler) for number in heard}


if __name__ == "__main__":
    sys.exit(main())
