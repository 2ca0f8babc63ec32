"""Runs the variants of all golden sessions: one outcome a variant and operation, told by the first that fails."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from compaction_conformance.expectation import (
    Broken,
    Error,
    ExpectAnswer,
    ExpectRefusal,
    ExpectResult,
    NotRun,
    Reply,
    Result,
    Verdict,
)
from compaction_conformance.golden.canonical import canonical
from compaction_conformance.golden.questions import (
    FILE,
    MESSAGES,
    Material,
    Point,
    Question,
    all_questions,
    request_of_file,
    request_of_messages,
)
from compaction_conformance.golden.sessions import GoldenSession, load_sessions, numbered_ids, path_of
from compaction_conformance.golden.sweep_run import OnOutcome, SweepOutcome
from compaction_conformance.golden.variant_changes import State
from compaction_conformance.golden.variants import (
    FILE_VARIANTS,
    STATE_VARIANTS,
    FileVariant,
    StateVariant,
    material_of,
    states_of,
)
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.judge import Difference
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome, run_each
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import Vector


@dataclass(frozen=True)
class VariantVector(Vector):
    """One variant and one operation, over all golden sessions."""

    variant: str = ""


def load_variants(spec: Spec) -> tuple[VariantVector, ...]:
    """Every variant with every operation that it applies to."""
    rules = {question.operation: question.requirement for question in all_questions()}
    variants: Sequence[StateVariant | FileVariant] = (*STATE_VARIANTS, *FILE_VARIANTS)
    return tuple(
        _vector(spec, variant, operation, rules[operation]) for variant in variants for operation in variant.operations
    )


def _vector(spec: Spec, variant: StateVariant | FileVariant, operation: str, rule_id: str) -> VariantVector:
    rule = spec.requirements[rule_id]
    other = spec.requirements[variant.requirement]
    return VariantVector(
        id=f"VARIANT-{variant.name}-{operation.replace('/', '-')}",
        requirements=(rule,) if other is rule else (rule, other),
        description=f"the answers about every golden session and about its variant agree: {variant.about}",
        operation=operation,
        params={"variant": variant.name},
        expect=ExpectAnswer(),
        chapter=rule.chapter,
        file=Path(),
        evidence=("observed", "pi 0.87.0"),
        editions=rule.editions,
        profile=spec.profiles[rule.chapter],
        variant=variant.name,
    )


@dataclass(frozen=True)
class _Check:
    """What is due of the answer to a request, once the answer to another one is known."""

    vector: VariantVector
    session: GoldenSession
    request: Request
    due: Callable[[Any], Any]
    seen: Callable[[Any], Any]


@dataclass(frozen=True)
class _Base:
    """A question about a session as it is, and those about its variants that are held against the answer."""

    request: Request
    checks: tuple[_Check, ...]


def run_variants(
    sides: Sequence[Implementation],
    vectors: Sequence[VariantVector],
    on_outcome: OnOutcome = lambda _: None,
    sessions: Sequence[GoldenSession] | None = None,
) -> tuple[Outcome, ...]:
    """An outcome for each vector, in order. Several processes of one implementation share the sessions."""
    golden = load_sessions() if sessions is None else sessions
    declared = sides[0].description.operations
    asked = [vector for vector in vectors if vector.operation in declared]
    wrong: list[tuple[int, _Check, Reply, Reply, str]] = []

    def work(side: Implementation, share: Sequence[tuple[int, GoldenSession]]) -> None:
        for number, session in share:
            wrong.extend((number, *found) for found in _failures(side, session, asked))

    numbered = list(enumerate(golden))

    def task(side: Implementation, share: Sequence[tuple[int, GoldenSession]]) -> Callable[[], None]:
        return lambda: work(side, share)

    run_each([task(side, numbered[index :: len(sides)]) for index, side in enumerate(sides)])
    first = {
        check.vector.id: (check, base, reply, log)
        for _, check, base, reply, log in sorted(wrong, key=lambda item: -item[0])
    }
    outcomes = []
    for vector in vectors:
        outcomes.append(_outcome(vector, first, declared))
        on_outcome(outcomes[-1])
    return tuple(outcomes)


def _outcome(
    vector: VariantVector, first: dict[str, tuple[_Check, Reply, Reply, str]], declared: frozenset[str]
) -> Outcome:
    if vector.operation not in declared:
        return SweepOutcome(vector, UNSUPPORTED)
    if vector.id not in first:
        return SweepOutcome(vector, PASSED)
    check, base, reply, log = first[vector.id]
    for each in (base, reply):
        if isinstance(each, NotRun):
            return SweepOutcome(vector, NOT_RUN, reply=each)
    example = _example(check, base, reply, log)
    return SweepOutcome(vector, FAILED, example.verdict, reply, log, example)


# ---- asking ----------------------------------------------------------------------------------------------------------


def _failures(
    side: Implementation, session: GoldenSession, vectors: Sequence[VariantVector]
) -> Iterator[tuple[_Check, Reply, Reply, str]]:
    """The checks of one session that are not met, with both answers and the log."""
    under_way: deque[_Check | None] = deque()

    def requests() -> Iterator[Request]:
        for base in _bases(session, vectors):
            under_way.append(None)
            yield base.request
            for check in base.checks:
                under_way.append(check)
                yield check.request

    about_session: Reply = NotRun("nothing was asked")
    for reply in side.answers(requests()):
        check = under_way.popleft()
        if check is None:
            about_session = reply
        elif not _met(check, about_session, reply):
            yield check, about_session, reply, side.log


def _bases(session: GoldenSession, vectors: Sequence[VariantVector]) -> Iterator[_Base]:
    by_operation: dict[str, list[VariantVector]] = {}
    for vector in vectors:
        by_operation.setdefault(vector.operation, []).append(vector)
    questions = [question for question in all_questions() if question.operation in by_operation]
    for question in questions:
        if question.takes == FILE:
            checks = tuple(_file_checks(session, question, by_operation[question.operation]))
            yield _Base(request_of_file(question, session.content), checks)
    for state in states_of(session):
        yield from _state_bases(session, state, questions, by_operation)


def _file_checks(session: GoldenSession, question: Question, vectors: Sequence[VariantVector]) -> Iterator[_Check]:
    changes = {variant.name: variant.change for variant in FILE_VARIANTS}

    def seen(answer: Any) -> Any:
        return numbered_ids(answer, session.content)

    for vector in vectors:
        yield _Check(vector, session, request_of_file(question, changes[vector.variant](session.content)), seen, seen)


def _state_bases(
    session: GoldenSession, state: State, questions: Sequence[Question], by_operation: dict[str, list[VariantVector]]
) -> Iterator[_Base]:
    material, point = material_of(state)
    changed = {variant.name: (variant, material_of(variant.change(state))) for variant in STATE_VARIANTS}
    for question in questions:
        request = _request(question, material, point)
        if request is None:
            continue
        checks = []
        for vector in by_operation[question.operation]:
            variant, varied_state = changed[vector.variant]
            varied = _request(question, *varied_state)
            assert varied is not None
            checks.append(_Check(vector, session, varied, partial(_mapped, variant, state), variant.ignored))
        yield _Base(request, tuple(checks))


def _mapped(variant: StateVariant, state: State, answer: Any) -> Any:
    return variant.mapped(answer, state)


def _request(question: Question, material: Material, point: Point) -> Request | None:
    """A question about messages is asked with those that are stored on the path."""
    if question.takes == MESSAGES:
        path = path_of(material.entries[: point.length], point.leaf_id)
        return request_of_messages(question, [entry["message"] for entry in path if "message" in entry])
    return next((request for _, request in material.requests(point, [question])), None)


def _met(check: _Check, about_session: Reply, reply: Reply) -> bool:
    if isinstance(about_session, Result) and isinstance(reply, Result):
        try:
            return canonical(check.due(about_session.value)) == canonical(check.seen(reply.value))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return False  # an answer of another shape than the operation's cannot be mapped
    if isinstance(about_session, Error) and isinstance(reply, Error):
        return reply.kind is not None and about_session.kind == reply.kind
    return False


# ---- telling what is wrong -------------------------------------------------------------------------------------------


def _example(check: _Check, about_session: Reply, reply: Reply, log: str) -> Outcome:
    vector = check.vector
    expect: ExpectResult | ExpectRefusal | ExpectAnswer = ExpectAnswer()
    if isinstance(about_session, Result):
        try:
            expect = ExpectResult(check.due(about_session.value))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            expect = ExpectAnswer()
    elif isinstance(about_session, Error) and about_session.kind:
        expect = ExpectRefusal(about_session.kind)
    shown = Vector(
        id=vector.id,
        requirements=vector.requirements,
        description=f"the session {check.session.id} and its variant {vector.variant} do not agree",
        operation=vector.operation,
        params=json.loads(check.request.params_text),
        expect=expect,
        chapter=vector.chapter,
        file=check.session.file,
    )
    wanted = "the value wanted is what the implementation answered about it, changed as the variant says"
    note = f"first seen in the session {check.session.id}; {wanted}"
    return Outcome(shown, FAILED, _verdict(shown, check, about_session, reply, note), reply, log)


def _verdict(shown: Vector, check: _Check, about_session: Reply, reply: Reply, note: str) -> Verdict:
    for each in (about_session, reply):
        if isinstance(each, Broken):
            return Verdict(each.failure, Difference("", "an answer", each.shown(), f"{note}; {each.detail}"))
    if isinstance(reply, (Result, Error)):
        seen = Result(check.seen(reply.value)) if isinstance(reply, Result) else reply
        verdict = shown.expect.judge(seen, shown.params)
        if not verdict.met and verdict.difference is not None:
            return Verdict(verdict.failure, replace(verdict.difference, note=note))
    return Verdict("mismatch", Difference("", about_session.shown(), reply.shown(), note))
