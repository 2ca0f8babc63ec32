"""`compare`: two implementations over session files, and the first difference between them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence, Set
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path

from compaction_conformance import terminal
from compaction_conformance.compare import ASKABLE, Comparison, Disagreement, compare_file, read_session
from compaction_conformance.errors import InvalidInput
from compaction_conformance.repro import write_request
from compaction_conformance.run import INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.verbs import common

_WIDTH = 1_000


def add(verbs: common.Verbs) -> None:
    groups = (common.talk_group, common.repro_group)
    parser = common.add_verb(verbs, "compare", main, "two implementations over session files", *groups)
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("sessions", type=Path, nargs="+", metavar="SESSION")
    parser.add_argument("--all", action="store_true", help="every prefix, however large the file")
    parser.add_argument("--sample", type=common.positive, default=200, metavar="N", help="points of a large file (200)")


def main(options: argparse.Namespace) -> int:
    code = 0
    asked: set[str] = set()
    with ExitStack() as stack:
        first, second = (common.connected(stack, name, options) for name in (options.a, options.b))
        for file in options.sessions:
            read_session(file)  # what is none ends it before anything is found
        for file, repro in zip(options.sessions, repro_names(options.sessions), strict=True):
            began = time.monotonic()
            progress = common.Progress()
            sample = None if options.all else options.sample
            comparison = compare_file(first, second, file, sample=sample, on_point=progress.of)
            progress.end()
            asked |= comparison.asked
            code = max(code, _told(comparison, file, repro, options, time.monotonic() - began))
        print(coverage(asked, first.description.operations, second.description.operations))
    return code


def coverage(asked: Set[str], first: Set[str], second: Set[str]) -> str:
    """What was asked, and what no difference was looked for in. `first` and `second` are what A and B serve."""
    of_one = ASKABLE & (first ^ second)
    told = {
        "asked": asked,
        "served by both and not asked": (first & second) - asked,
        "not served by A": of_one - first,
        "not served by B": of_one - second,
    }
    return "; ".join(f"{words}: {_listed(names)}" for words, names in told.items() if names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def repro_names(files: Sequence[Path]) -> list[str]:
    """`compare-STEM` for each file, with a number where an earlier one has the name."""
    names: dict[str, None] = {}
    for file in files:
        first = f"compare-{file.stem}"
        candidates = chain([first], (f"{first}-{number}" for number in count(2)))
        names[next(name for name in candidates if name not in names)] = None
    return list(names)


def _told(comparison: Comparison, file: Path, repro: str, options: argparse.Namespace, seconds: float) -> int:
    counted = f"{comparison.points} points, {comparison.answers} answers compared, {seconds:.1f} s"
    name = printable(str(file))
    if comparison.incomplete:
        print(f"{name}: incomplete after {counted}: {printable(comparison.incomplete)}")
        return INCOMPLETE
    if comparison.first is None:
        print(f"{name}: no difference ({counted})")
        return 0
    print(f"{name}: {brief(options.a)} and {brief(options.b)} differ ({counted})")
    for name, text in _rows(comparison.first, _kept_repro(comparison.first, repro, options)):
        print(f"  {name:<6} {brief(text, _WIDTH)}")
    return NOT_CONFORMANT


def _rows(found: Disagreement, repro: str) -> list[tuple[str, str]]:
    mine, theirs = terminal.shown_apart(found.difference.want, found.difference.got)
    return [
        ("at", str(found.point or "parsing")),
        ("in", f"{found.operation} {found.about}".strip()),
        ("where", terminal.place(found.difference)),
        ("a", mine),
        ("b", theirs),
        ("repro", repro),
    ]


def _kept_repro(found: Disagreement, name: str, options: argparse.Namespace) -> str:
    """Where the reproduction is, or why there is none."""
    try:
        return str(write_request(options.repro, name, found.request, options.edition, options.profile))
    except InvalidInput as error:
        return f"none, {error.where} {error.what}"
