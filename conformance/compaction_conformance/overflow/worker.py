"""A child process that tries a regex on texts, so that one that never ends can be ended.

It reads one JSON object from stdin: `regex`, `texts` to search, and `repeated` texts to make long: [[beginning, unit]].
It writes a line as soon as it knows something: `{"error": …}`, `{"matches": [index]}`, then for every repeated text
`{"beginning", "unit", "seconds": [time at each of SIZES]}`.
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any, TextIO

SIZES = (62_500, 125_000, 250_000, 500_000, 1_000_000)
_ENOUGH = 1.0  # seconds; a text that took so long at one size is not made larger


def main(source: TextIO, target: TextIO) -> None:
    task = json.load(source)
    try:
        pattern = re.compile(task["regex"])
    except (re.error, RecursionError, OverflowError) as error:
        _tell(target, {"error": f"{error}"})
        return
    _tell(target, {"matches": [index for index, text in enumerate(task["texts"]) if pattern.search(text)]})
    for beginning, unit in task["repeated"]:
        _tell(target, {"beginning": beginning, "unit": unit, "seconds": _times(pattern, beginning, unit)})


def _times(pattern: re.Pattern[str], beginning: str, unit: str) -> list[float]:
    times: list[float] = []
    for size in SIZES:
        text = beginning + unit * (size // len(unit))
        start = time.process_time()
        pattern.search(text)
        times.append(time.process_time() - start)
        if times[-1] > _ENOUGH:
            break
    return times


def _tell(target: TextIO, value: Any) -> None:
    print(json.dumps(value), file=target, flush=True)


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
