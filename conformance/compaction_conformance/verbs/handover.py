"""`handover`: A compacts sessions and writes them, B reads them and goes on, and back."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import terminal
from compaction_conformance.connect import REFERENCE
from compaction_conformance.errors import InvalidInput
from compaction_conformance.golden.sessions import load_sessions
from compaction_conformance.handover import Finding, HandOver, Party, hand_over
from compaction_conformance.run import CONFORMANT, INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.schema_words import brief, printable
from compaction_conformance.spec import DEFAULT_PROFILE
from compaction_conformance.verbs import common

_SHOWN = 10
_WIDTH = 1_000


def add(verbs: common.Verbs) -> None:
    about = "one implementation compacts sessions, another reads them and goes on"
    parser = common.add_verb(verbs, "handover", main, about, common.talk_group)
    parser.add_argument("a", metavar="A", help="who writes first: a name, python:MODULE, or a command")
    parser.add_argument("b", metavar="B", help="who reads and goes on")
    parser.add_argument("sessions", type=Path, nargs="*", metavar="SESSION", help="files (the golden sessions)")


def main(options: argparse.Namespace) -> int:
    """Hands the sessions over, prints what came of it, and returns the exit code. Raises `InvalidInput` for another
    profile than the first."""
    if options.profile != DEFAULT_PROFILE:
        remedy = f"leave --profile out: the session files are those of {DEFAULT_PROFILE}"
        raise InvalidInput(f"there is no hand-over for the profile {options.profile!r}", remedy=remedy)
    files = options.sessions or [session.file for session in load_sessions()]
    a, b = options.a, options.b
    names = (brief(a), brief(b)) if a != b else (f"{brief(a)} (1)", f"{brief(b)} (2)")
    progress, began = common.Progress(len(files)), time.monotonic()
    with ExitStack() as stack:
        sides = [common.connected(stack, name, options) for name in (a, b, REFERENCE)]
        first, second = (Party(name, side) for name, side in zip(names, sides[:2], strict=True))
        result = hand_over(first, second, Party("the reference", sides[2]), files, progress.of)
    progress.end()
    print(report(result, names, time.monotonic() - began, _command(options)))
    if result.incomplete:
        return INCOMPLETE
    return NOT_CONFORMANT if result.findings else CONFORMANT


def _command(options: argparse.Namespace) -> list[str]:
    """What repeats the hand-over, but for the sessions."""
    asked = common.again_options(argparse.Namespace(**vars(options), vectors=[]))
    return ["compaction-conformance", "handover", *asked, options.a, options.b]


def report(result: HandOver, names: tuple[str, str], seconds: float, command: Sequence[str]) -> str:
    """The findings, then one line of counts. `command` repeats the hand-over, but for the sessions."""
    blocks = [_block(finding, names, command) for finding in result.findings[:_SHOWN]]
    if rest := result.findings[_SHOWN:]:
        blocks.append(printable(f"… and {len(rest)} more: {', '.join(finding.session for finding in rest)}"))
    if result.incomplete:
        blocks.append(f"incomplete: {printable(result.incomplete)}")
    handed = result.sessions - len(result.findings) - result.refused
    counts = (
        f"{' → '.join((*names, names[0]))}: {handed} of {result.sessions} sessions handed over, "
        f"{result.compactions} compactions, {result.answers} answers compared, "
        f"{result.kept_bytes} bytes left as they were, {result.rewritten} old files rewritten, "
        f"{result.refused} refused by both, {seconds:.1f} s"
    )
    return "\n\n".join([*blocks, printable(counts)])


def _block(finding: Finding, names: tuple[str, str], command: Sequence[str]) -> str:
    difference = finding.difference
    values = terminal.shown_apart(difference.want, difference.got)
    rows = [
        ("step", finding.step),
        ("blame", finding.who),
        ("in", finding.operation),
        ("at", terminal.place(difference)),
        *zip(map(brief, finding.sides), values, strict=True),
    ]
    if difference.note:
        rows.append(("note", difference.note))
    rows.append(("again", shlex.join([*command, str(finding.file)])))
    head = printable(f"FAIL {finding.session} · {' → '.join(names)}")
    width = max(len(name) for name, _ in rows)
    return "\n".join([head, *(f"  {name:<{width}}  {brief(text, _WIDTH)}" for name, text in rows)])
