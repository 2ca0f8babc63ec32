"""`explain`: what one name stands for, where it is defined, and what judges it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from compaction_conformance import adapters, schemas, terminal
from compaction_conformance.connect import REFERENCE
from compaction_conformance.corpus.cases import Case, load_corpus
from compaction_conformance.corpus.record import OPERATION
from compaction_conformance.corpus.response_vectors import ResponseVector
from compaction_conformance.errors import InvalidInput
from compaction_conformance.expectation import Expectation, ExpectReading
from compaction_conformance.golden.sweep_run import load_sweeps
from compaction_conformance.golden.variant_run import load_variants
from compaction_conformance.json_files import read_json
from compaction_conformance.paths import spec_dir
from compaction_conformance.schema_words import printable, printable_lines
from compaction_conformance.spec import Requirement, Spec
from compaction_conformance.terms import load_terms
from compaction_conformance.vectors import Vector
from compaction_conformance.verbs import common

_TABLES = (("overflow-patterns.json", "overflow"), ("recommended-overflow.json", "recommended-classifier"))
_KINDS = (
    "requirements, vectors, operations, chapters, overflow cases, rows of the overflow tables, properties, faults, "
    "failure classes, error kinds, profiles, implementations"
)

Found = Iterator[str] | None
"""The lines that explain a name, or None for a name of another kind."""


def add(verbs: common.Verbs) -> None:
    about = f"what a name stands for: {_KINDS}, sweeps and variants"
    parser = common.add_verb(verbs, "explain", main, about, common.selection_group)
    parser.add_argument("id", metavar="ID")


def main(options: argparse.Namespace) -> int:
    spec, vectors = common.load_suite(options)
    for explained in _EXPLAINED:
        if (lines := explained(options.id, spec, vectors)) is not None:
            for line in lines:
                print(printable_lines(line))
            return 0
    what = f"{options.id} is neither a requirement nor a vector, nor anything else that has a name here"
    remedy = f"known are {_KINDS}; `list`, `list --requirements` (--operations, --chapters), `search --list` show them"
    raise InvalidInput(what, remedy=remedy)


# One function a kind of name


def _rule(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    rule = spec.requirements.get(name)
    return None if rule is None else _lines_of_rule(rule, vectors)


def _lines_of_rule(rule: Requirement, vectors: Sequence[Vector]) -> Iterator[str]:
    yield f"{rule.id} · {rule.title}"
    yield f"{rule.level} · {', '.join(rule.editions)} · {rule.evidence}"
    yield f"file: {rule.file}:{rule.line}\n\n{rule.sentence}"
    for note in rule.notes:
        yield f"\n{note}"
    for label, text in (("Why", rule.why), ("Source", rule.source)):
        if text:
            yield f"\n{label}: {text}"
    for name, text in rule.readings.items():
        yield f"\nReading {name}: {text}"
    judged = [vector for vector in vectors if rule in vector.requirements]
    yield f"\n{len(judged)} vectors (chapter {rule.chapter}):"
    for vector in judged:
        yield f"  {vector.id}  {vector.description}"


def _vector(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    """A vector, or a case of the overflow corpus, which is one by another name."""
    for vector in vectors:
        if name == vector.id or (isinstance(vector, ResponseVector) and vector.case and name == vector.case.id):
            return _lines_of_vector(vector)
    return None


def _lines_of_vector(vector: Vector) -> Iterator[str]:
    yield f"{vector.id}: {vector.description}"
    yield f"{vector.level} · evidence {' · '.join(filter(None, vector.evidence))}"
    for rule in vector.requirements:
        yield f"{rule.id} · {rule.title}\n  {rule.sentence}"
    if vector.twin:
        yield f"twin: {vector.twin}"
    if isinstance(vector, ResponseVector) and vector.case is not None:
        yield from _lines_of_case(vector.case)
        yield from _expected(vector.expect)
        return
    raw = next(raw for raw in read_json(vector.file)["vectors"] if raw["id"] == vector.id)
    yield f"file: {vector.file}\ninput: {terminal.describe_input(vector.params)}"
    yield f"request: {vector.operation} {printable(vector.params_text)}"
    yield f"expects: {json.dumps(raw['expect'], ensure_ascii=False)}"


def _unrecorded(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    """A case that no answer of Pi is recorded for: it is no vector yet."""
    for case in load_corpus():
        if name == case.id:
            return _lines_of_case(case)
    return None


def _lines_of_case(case: Case) -> Iterator[str]:
    """What the provider sends, and how it is labelled. It has an address in a run alone."""
    response = case.response
    yield f"file: {case.file}\nlabel: {case.label} ({case.kind})"
    yield f"request: {OPERATION} at a server that answers in the style of {case.api}"
    yield f"response: {response.status or 'no status'}, {terminal.shown(response.text)}, then {response.end}"


def _expected(expect: Expectation) -> Iterator[str]:
    if isinstance(expect, ExpectReading):
        for reading, one in expect.readings:
            yield f"expects in the reading {reading}: {terminal.expected(one)}"
    else:
        yield f"expects: {terminal.expected(expect)}"


def _chapter(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    for chapter in spec.chapters:
        if name == chapter.slug:
            own = [vector for vector in vectors if vector.requirement.chapter == name]
            head = f"{name} · {chapter.title}\nfile: {chapter.file}\nprofile: {chapter.profile}"
            rules = [f"  {rule.id}  {rule.level:<6}  {rule.title}" for rule in chapter.requirements]
            counts = f"{len(rules)} requirements, {len(own)} vectors (`list --only {name}`):"
            return iter([head, counts, *rules])
    return None


def _operation(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    if name not in schemas.operations():
        return None
    own = [vector for vector in vectors if vector.operation == name]
    rules = dict.fromkeys(vector.requirement.id for vector in own)
    named = (schemas.params_schema(name), schemas.result_schema(name))
    files = [f"{spec_dir() / 'schemas' / schema}.json" for schema in named]
    head = f"{name}: an operation of {spec_dir() / 'protocol.md'}"
    return iter([head, *files, f"{len(own)} vectors (`list --only {name}`) of {' '.join(rules) or 'no rule'}"])


def _row(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    """A row of the overflow patterns or of the recommended classifier, with all that it holds."""
    for file, chapter in _TABLES:
        path = spec_dir() / file
        for group, rows in read_json(path).items():
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, dict) and row.get("id") == name:
                    return _lines_of_row(row, f"{name}: one of the {group} of {path}", chapter)
    return None


def _lines_of_row(row: dict[str, Any], head: str, chapter: str) -> Iterator[str]:
    yield head
    for member, value in row.items():
        if member != "id":
            yield f"{member}: {printable(value) if isinstance(value, str) else terminal.shown(value)}"
    yield f"judged by the vectors of its chapter (`list --only {chapter}`)"


def _property(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    if not name.startswith("PROP-"):
        return None
    from compaction_conformance.properties import all_properties, machine

    known = {each.id: (each.sentence, each.requirements, each.operations) for each in all_properties()}
    known["PROP-machine"] = (machine.SENTENCE, machine.REQUIREMENTS, (machine.NEEDED,))
    if name not in known:
        return None
    sentence, rules, asked = known[name]
    head = f"{name}: a property, of generated inputs\n{sentence}"
    return iter([head, *_titles(rules, spec), f"asks {', '.join(asked)} (`search --only {name}`)"])


def _fault(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    from compaction_conformance.faults import FAULTS

    if (fault := FAULTS.get(name)) is None:
        return None
    head = f"{name}: a named fault of the reference\n{fault.wrong}\nreport: {fault.url}"
    return iter([head, *_titles(fault.breaks, spec), f"caught by vectors of these rules (`faults {name}`)"])


def _of_sessions(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    if not name.startswith(terminal.OF_SESSIONS):
        return None
    for vector in (*load_sweeps(spec), *load_variants(spec)):
        if name == vector.id:
            rules = _titles([rule.id for rule in vector.requirements], spec)
            return iter([f"{name}: {vector.description}", *rules, f"asked by `run --sweeps --only {name}`"])
    return None


def _term(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    term = load_terms().get(name)
    if term is None:
        return None
    ending = "; the process ends and is started anew" if term.ends_process else ""
    return iter([f"{name}: {term.kind}: {term.text}{ending}\nfile: {term.file}:{term.line}"])


def _profile(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    own = [chapter.slug for chapter in spec.chapters if chapter.profile == name]
    head = f"{name}: a profile, told in {spec_dir() / 'profiles.md'} (`run --profile {name}`)"
    return iter([head, f"chapters: {' '.join(own)}"]) if own else None


def _implementation(name: str, spec: Spec, vectors: Sequence[Vector]) -> Found:
    if name != REFERENCE and name not in adapters.names():
        return None
    about = "the rules of the spec as plain Python" if name == REFERENCE else adapters.about(name)
    return iter([f"{name}: an implementation: {about} (`run --implementation {name}`)"])


def _titles(rules: Iterable[str], spec: Spec) -> list[str]:
    return [f"{rule} · {spec.requirements[rule].title}" for rule in rules]


_EXPLAINED: tuple[Callable[[str, Spec, Sequence[Vector]], Found], ...] = (
    _rule,
    _vector,
    _unrecorded,
    _chapter,
    _operation,
    _row,
    _property,
    _fault,
    _of_sessions,
    _term,
    _profile,
    _implementation,
)
