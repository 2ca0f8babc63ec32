"""`replay`: ask again what a reproduction file holds, and judge it where the file bears the id of a vector."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from compaction_conformance import terminal
from compaction_conformance.corpus.response_vectors import asked_again, served
from compaction_conformance.expectation import Broken, NotRun, Reply
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.repro import read_repro
from compaction_conformance.run import FAILED, INCOMPLETE, NOT_CONFORMANT, Outcome, judge
from compaction_conformance.schema_words import printable
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    groups = (common.implementation_group, common.selection_group)
    parser = common.add_verb(verbs, "replay", main, "ask again what a repro file holds", *groups)
    parser.add_argument("file", type=Path, metavar="FILE")


def main(options: argparse.Namespace) -> int:
    """0: every answer is judged and meets its vector. 1: one does not. 3: one is not judged, or was not given."""
    requests = read_repro(options.file)
    _, vectors = common.load_suite(options)
    codes = [0]
    with ExitStack() as stack:
        side = common.connected(stack, options.implementation, options)
        named = stack.enter_context(served([vector for vector in vectors if vector.id == options.file.stem], side))
        known = {(vector.operation, vector.params_text): vector for vector in named}
        requests = [_in_time(asked_again(request, named), known) for request in requests]
        for request, reply in zip(requests, side.answers(requests), strict=True):
            print(f"{printable(request.method)}\n  answer {terminal.shown(reply.shown())}")
            vector = known.get((request.method, request.params_text))
            if vector is None:
                print(f"  not judged: {printable(_why_not(options, named))}")
            codes.append(_judged(vector, reply, side, options))
    return max(codes)


def _in_time(request: Request, known: dict[tuple[str, str], Vector]) -> Request:
    """The request with the time limit of its vector."""
    vector = known.get((request.method, request.params_text))
    return request if vector is None else replace(request, time_limit=vector.time_limit)


def _why_not(options: argparse.Namespace, named: Sequence[Vector]) -> str:
    name = options.file.stem
    if named:
        return f"this is not what {name} asks"
    if name.startswith(terminal.OF_SESSIONS):
        return f"one of many questions; {terminal.again(options.implementation, name, common.again_options(options))}"
    if name.startswith("compare-"):
        return "made by `compare`, it holds no expectation; replay it with each of the two"
    return f"no vector of the profile {options.profile} is called {name} (--profile and --vectors choose others)"


def _judged(vector: Vector | None, reply: Reply, side: Implementation, options: argparse.Namespace) -> int:
    if isinstance(reply, NotRun):
        return INCOMPLETE
    if vector is None:
        return NOT_CONFORMANT if isinstance(reply, Broken) else INCOMPLETE
    verdict = judge(vector, reply)
    if verdict.met:
        print(f"  meets {printable(vector.id)}")
        return 0
    outcome, again = Outcome(vector, FAILED, verdict, reply, side.log), common.again_options(options)
    print(terminal.failure_block(outcome, side.description.label, options.implementation, None, again))
    return NOT_CONFORMANT
