"""`replay`: ask again what a reproduction file holds, and judge it where the file bears the id of a vector."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from compaction_conformance import terminal
from compaction_conformance.corpus.response_vectors import asked_again, served
from compaction_conformance.expectation import Broken, NotRun, Reply
from compaction_conformance.implementation import Implementation
from compaction_conformance.repro import read_repro
from compaction_conformance.run import FAILED, INCOMPLETE, NOT_CONFORMANT, Outcome, judge
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    groups = (common.implementation_group, common.selection_group)
    parser = common.add_verb(verbs, "replay", main, "ask again what a repro file holds", *groups)
    parser.add_argument("file", type=Path, metavar="FILE")


def main(options: argparse.Namespace) -> int:
    requests = read_repro(options.file)
    _, vectors = common.load_suite(options)
    codes = [0]
    with ExitStack() as stack:
        side = common.connected(stack, options.implementation, options)
        named = stack.enter_context(served([vector for vector in vectors if vector.id == options.file.stem], side))
        known = {(vector.operation, vector.params_text): vector for vector in named}
        requests = [asked_again(request, named) for request in requests]
        for request, reply in zip(requests, side.answers(requests), strict=True):
            print(f"{request.method}\n  answer {terminal.shown(reply.shown())}")
            vector = known.get((request.method, request.params_text))
            codes.append(_judged(vector, reply, side, options.implementation))
    return max(codes)


def _judged(vector: Vector | None, reply: Reply, side: Implementation, name: str) -> int:
    if isinstance(reply, NotRun):
        return INCOMPLETE
    if vector is None:
        return NOT_CONFORMANT if isinstance(reply, Broken) else 0
    verdict = judge(vector, reply)
    if verdict.met:
        print(f"  meets {vector.id}")
        return 0
    print(terminal.failure_block(Outcome(vector, FAILED, verdict, reply, side.log), side.description.label, name, None))
    return NOT_CONFORMANT
