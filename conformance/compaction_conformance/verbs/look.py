"""`list` and `explain`: what there is, and what one rule or vector says."""

from __future__ import annotations

import argparse

from compaction_conformance import adapters, schemas, terminal
from compaction_conformance.connect import REFERENCE
from compaction_conformance.corpus.cases import Case
from compaction_conformance.corpus.record import OPERATION
from compaction_conformance.corpus.response_vectors import ResponseVector
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Expectation, ExpectReading
from compaction_conformance.golden.sweep_run import load_sweeps
from compaction_conformance.json_files import read_json
from compaction_conformance.schema_words import printable
from compaction_conformance.spec import Requirement, Spec
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import common


def add(verbs: common.Verbs) -> None:
    parser = common.add_verb(verbs, "list", main, "list the vectors, or what else there is", common.selection_group)
    for what in ("chapters", "requirements", "operations", "implementations"):
        parser.add_argument(f"--{what}", dest="what", action="store_const", const=what)
    parser.set_defaults(what="vectors")
    parser = common.add_verb(verbs, "explain", explain, "show a requirement or a vector", common.selection_group)
    parser.add_argument("id", metavar="ID")


def main(options: argparse.Namespace) -> int:
    if options.what == "operations":
        print("\n".join(schemas.operations()))
        return 0
    if options.what == "implementations":
        print("\n".join([REFERENCE, *adapters.names()]))
        return 0
    spec, vectors = common.load_suite(options)
    if options.what == "vectors":
        for vector in vectors:
            print(f"{vector.id}  {vector.requirement.id}  {vector.level:<6}  {vector.operation}  {vector.description}")
    elif options.what == "requirements":
        for rule in spec.requirements.values():
            count = sum(rule in vector.requirements for vector in vectors)
            print(f"{rule.id}  {rule.level:<6}  {count:>3} vectors  {rule.title}")
    else:
        _list_chapters(spec, vectors)
    return 0


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


def explain(options: argparse.Namespace) -> int:
    spec, vectors = common.load_suite(options)
    if rule := spec.requirements.get(options.id):
        _explain_rule(rule, vectors)
        return 0
    for vector in vectors:
        if vector.id == options.id:
            _explain_vector(vector)
            return 0
    raise InvalidInput(
        f"{options.id} is neither a requirement nor a vector",
        remedy="`compaction-conformance list --requirements` and `list` show the known ids",
    )


def _explain_rule(rule: Requirement, vectors: tuple[Vector, ...]) -> None:
    print(f"{rule.id} · {rule.title}")
    print(f"{rule.level} · {', '.join(rule.editions)} · {rule.evidence}\n\n{rule.sentence}")
    for label, text in (("Why", rule.why), ("Source", rule.source)):
        if text:
            print(f"\n{label}: {text}")
    for name, text in rule.readings.items():
        print(f"\nReading {name}: {text}")
    judged = [vector for vector in vectors if rule in vector.requirements]
    print(f"\n{len(judged)} vectors (chapter {rule.chapter}):")
    for vector in judged:
        print(f"  {vector.id}  {vector.description}")


def _explain_vector(vector: Vector) -> None:
    print(f"{vector.id}: {vector.description}")
    print(f"{vector.level} · evidence {' · '.join(filter(None, vector.evidence))}")
    for rule in vector.requirements:
        print(f"{rule.id} · {rule.title}\n  {rule.sentence}")
    if vector.twin:
        print(f"twin: {vector.twin}")
    if isinstance(vector, ResponseVector) and vector.case is not None:
        _explain_response(vector.case, vector.expect)
        return
    raw = next(raw for raw in read_json(vector.file)["vectors"] if raw["id"] == vector.id)
    print(f"file: {vector.file}\ninput: {terminal.describe_input(vector.params)}")
    print(f"request: {vector.operation} {printable(vector.params_text)}")
    print(f"expects: {terminal.shown(raw['expect'])}")


def _explain_response(case: Case, expect: Expectation) -> None:
    """What the provider sends, how it is labelled, and what has to be made of it. It has an address in a run alone."""
    response = case.response
    print(f"file: {case.file}\nlabel: {case.label} ({case.kind})")
    print(f"request: {OPERATION} at a server that answers in the style of {case.api}")
    print(f"response: {response.status or 'no status'}, {terminal.shown(response.text)}, then {response.end}")
    if isinstance(expect, ExpectReading):
        for reading, one in expect.readings:
            print(f"expects in the reading {reading}: {_wanted(one)}")
    else:
        print(f"expects: {_wanted(expect)}")


def _wanted(expect: Expectation) -> str:
    """The members that the answer has to have, and what its error text has to hold."""
    members = terminal.shown(getattr(expect, "value", None))
    held = getattr(expect, "holds", "")
    return f"{members} and an error text that holds {terminal.shown(held)}" if held else members
