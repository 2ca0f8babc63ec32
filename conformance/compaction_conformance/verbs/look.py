"""`list`: what there is."""

from __future__ import annotations

import argparse

from compaction_conformance import adapters, schemas
from compaction_conformance.connect import REFERENCE
from compaction_conformance.golden.sweep_run import load_sweeps
from compaction_conformance.schema_words import printable
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    parser = common.add_verb(verbs, "list", main, "list the vectors, or what else there is", common.selection_group)
    for what in ("chapters", "requirements", "operations", "implementations"):
        parser.add_argument(f"--{what}", dest="what", action="store_const", const=what)
    parser.set_defaults(what="vectors")


def main(options: argparse.Namespace) -> int:
    if options.what == "operations":
        print("\n".join(schemas.operations()))
        return 0
    if options.what == "implementations":
        _list_implementations()
        return 0
    spec, vectors = common.load_suite(options)
    if options.what == "vectors":
        for vector in vectors:
            about = f"{vector.id}  {vector.requirement.id}  {vector.level:<6}  {vector.operation}  {vector.description}"
            print(printable(about))
    elif options.what == "requirements":
        for rule in spec.requirements.values():
            count = sum(rule in vector.requirements for vector in vectors)
            print(f"{rule.id}  {rule.level:<6}  {count:>3} vectors  {rule.title}")
    else:
        _list_chapters(spec, vectors)
    return 0


def _list_implementations() -> None:
    """What each is, and what its first use installs into the cache folder."""
    known = {REFERENCE: ("the rules of spec/ as plain Python", "")}
    known |= {name: (adapters.about(name), adapters.installs(name)) for name in adapters.names()}
    width = max(map(len, known))
    for name, (about, installs) in known.items():
        print(f"{name:<{width}}  {about}; {f'first use installs {installs}' if installs else 'installs nothing'}")


def _list_chapters(spec: Spec, vectors: tuple[Vector, ...]) -> None:
    """How each chapter is judged: by plain vectors, by scenarios, by answers in the sweeps of the golden sessions."""
    scenarios = [vector for vector in vectors if vector.operation == "control/run"]
    sweeps = load_sweeps(spec)
    print(f"{'chapter':<24} requirements  vectors  scenarios  sweep answers  title")
    for chapter in spec.chapters:
        played = sum(vector.requirement.chapter == chapter.slug for vector in scenarios)
        judged = sum(vector.requirement.chapter == chapter.slug for vector in vectors) - played
        answers = sum(sweep.answers for sweep in sweeps if sweep.chapter == chapter.slug)
        counts = f"{len(chapter.requirements):>12}  {judged:>7}  {played:>9}  {answers:>13}"
        print(f"{chapter.slug:<24} {counts}  {chapter.title}")
