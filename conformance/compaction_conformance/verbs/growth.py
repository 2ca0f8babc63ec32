"""`growth`: how the time of each operation grows with the session. Advice; with `--strict` it counts."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from compaction_conformance import growth
from compaction_conformance.run import INCOMPLETE, NOT_CONFORMANT
from compaction_conformance.verbs import common

_MOST = 50_000  # entries; the sessions of n, 2n and 4n are held in memory


def add(verbs: common.Verbs) -> None:
    about = "how time grows with the session: n, 2n and 4n entries"
    parser = common.add_verb(verbs, "growth", main, about, common.implementation_group)
    parser.add_argument("--entries", type=common.whole(1, _MOST), default=4000, metavar="N", help="n (4000)")
    parser.add_argument("--strict", action="store_true", help="super-linear growth makes the exit code 1")


def main(options: argparse.Namespace) -> int:
    curves = []
    with ExitStack() as stack:
        side = common.connected(stack, options.implementation, options, own_process=True)
        for curve in growth.probe(
            side, options.entries, edition=options.edition, profile=options.profile, time_limit=options.timeout
        ):
            print(growth.drawn(curve))
            curves.append(curve)
    if not curves or any(not curve.points for curve in curves):
        return INCOMPLETE
    return NOT_CONFORMANT if options.strict and growth.superlinear(curves) else 0
