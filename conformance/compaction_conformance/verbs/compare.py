"""`compare`: two implementations over session files, and the first difference between them."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import terminal
from compaction_conformance.compare import Comparison, Disagreement, compare_file
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import write_text, writing
from compaction_conformance.run import INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.verbs import common


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
    with ExitStack() as stack:
        first, second = (common.connected(stack, name, options) for name in (options.a, options.b))
        for file in options.sessions:
            began = time.monotonic()
            progress = common.Progress()
            sample = None if options.all else options.sample
            comparison = compare_file(first, second, file, sample=sample, on_point=progress.of)
            progress.end()
            code = max(code, _told(comparison, file, options, time.monotonic() - began))
    return code


def _told(comparison: Comparison, file: Path, options: argparse.Namespace, seconds: float) -> int:
    counted = f"{comparison.points} points, {comparison.answers} answers compared, {seconds:.1f} s"
    name = terminal.printable(str(file))
    if comparison.incomplete:
        print(f"{name}: incomplete after {counted}: {terminal.printable(comparison.incomplete)}")
        return INCOMPLETE
    if comparison.first is None:
        print(f"{name}: no difference ({counted})")
        return 0
    print(f"{name}: {options.a} and {options.b} differ ({counted})")
    for name, text in _rows(comparison.first, _kept_repro(comparison.first, file, options.repro)):
        print(f"  {name:<6} {terminal.printable(text)}")
    return NOT_CONFORMANT


def _rows(found: Disagreement, repro: str) -> list[tuple[str, str]]:
    return [
        ("at", str(found.point or "parsing")),
        ("in", f"{found.operation} {found.about}".strip()),
        ("where", found.difference.pointer or "the whole answer"),
        ("a", terminal.shown(found.difference.want)),
        ("b", terminal.shown(found.difference.got)),
        ("repro", repro),
    ]


def _kept_repro(found: Disagreement, file: Path, folder: Path) -> str:
    """Where the reproduction is, or why there is none."""
    try:
        return str(_write_repro(found, file, folder))
    except InvalidInput as error:
        return f"none, {error.where} {error.what}"


def _write_repro(found: Disagreement, file: Path, folder: Path) -> Path:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"compare-{file.stem}.jsonl"
    head = f'{{"jsonrpc":"2.0","id":1,"method":{json.dumps(found.operation)}'
    write_text(path, f'{head},"params":{found.request.params_text}}}\n')
    return path
