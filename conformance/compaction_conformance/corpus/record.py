"""Asks an implementation about every case of the corpus and holds its answers against the recorded ones.

`compaction-conformance overflow record` checks what the oracle answers; with `--write` its answers are put into the
case files, and with them the rules that each case is about. No answer is typed: each is what Pi's own clients made of
the served bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction_conformance.corpus.cases import Answer, Case, case_files, read_case, read_case_file
from compaction_conformance.corpus.response_rules import rules_of
from compaction_conformance.corpus.server import ReplayServer
from compaction_conformance.corpus.text import case_file_text
from compaction_conformance.expectation import Reply, Result
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.json_files import read_text, write_text
from compaction_conformance.schema_words import brief, printable

OPERATION = "overflow/classify"
_TIMEOUT_MS = 10_000
_STALL_TIMEOUT_MS = 1_500  # a stalled case is known to end by this time limit alone
TIME_LIMIT = 30.0  # seconds a request may take, the queue before it included
_SHOWN = 160


@dataclass(frozen=True)
class Told:
    """What an implementation made of a case: an answer, or words for why there is none."""

    case: Case
    answer: Answer | None
    trouble: str = ""


@dataclass(frozen=True)
class Difference:
    """A case whose recorded answer is not the one that was given now. `recorded` None: there was none."""

    case_id: str
    recorded: Answer | None
    told: Told

    def __str__(self) -> str:
        lines = [f"{self.case_id}", f"  recorded {_shown(self.recorded)}"]
        return "\n".join([*lines, f"  now      {self.told.trouble or _shown(self.told.answer)}"])


def timeout_for(case: Case) -> int:
    """How many milliseconds a client may wait for the next byte of a case."""
    return _STALL_TIMEOUT_MS if case.response.end == "stall" else _TIMEOUT_MS


def ask(cases: Sequence[Case], side: Implementation, server: ReplayServer) -> Iterator[Told]:
    """What an implementation makes of each case, in order; `server` serves them."""
    requests = (
        Request(OPERATION, json.dumps(case.classify_params(server.base_url(case.id), timeout_for(case))))
        for case in cases
    )
    for case, reply in zip(cases, side.answers(requests), strict=True):
        yield _told(case, reply)


def differences(told: Iterable[Told], edition: str) -> list[Difference]:
    """The cases whose recorded answer of that edition differs from what was told."""
    found = []
    for one in told:
        recorded = one.case.answers.get(edition)
        if one.answer is None or one.answer != recorded:
            found.append(Difference(one.case.id, recorded, one))
    return found


def write_answers(folder: Path, edition: str, told: Iterable[Told]) -> int:
    """Put the answers into the case files, and the rules that follow from them; returns how many files changed."""
    answers = {one.case.id: one.answer for one in told if one.answer is not None}
    changed = 0
    for path in case_files(folder):
        raw = read_case_file(path)
        for case in raw["cases"]:
            if answer := answers.get(case["id"]):
                case["answers"] = _merged(case.get("answers", {}), edition, answer)
                if rules := rules_of(read_case(case, raw["family"], path)):
                    case["requirements"] = list(rules)
        text = case_file_text(raw["family"], raw["cases"])
        if text != read_text(path):
            write_text(path, text)
            changed += 1
    return changed


def told_by(side: Implementation, cases: Sequence[Case]) -> list[Told]:
    """What it makes of every case, served for the time of it."""
    with ReplayServer(cases) as server:
        return list(ask(cases, side, server))


def _told(case: Case, reply: Reply) -> Told:
    if not isinstance(reply, Result):
        return Told(case, None, brief(str(reply), _SHOWN))
    value: Any = reply.value
    return Told(case, Answer(value["stopReason"], value["errorMessage"], value["overflow"], value.get("retryable")))


def _merged(answers: Mapping[str, Any], edition: str, answer: Answer) -> dict[str, Any]:
    one: dict[str, Any] = {
        "stopReason": answer.stop_reason,
        "errorMessage": answer.error_message,
        "overflow": answer.overflow,
    }
    if answer.retryable is not None:
        one["retryable"] = answer.retryable
    return dict(sorted({**answers, edition: one}.items()))


def _shown(answer: Answer | None) -> str:
    if answer is None:
        return "nothing"
    verdict = "overflow" if answer.overflow else "no overflow"
    again = {None: "", True: ", sent again", False: ", not sent again"}[answer.retryable]
    message = "no error text" if answer.error_message is None else json.dumps(answer.error_message)[:_SHOWN]
    return printable(f"{answer.stop_reason}, {verdict}{again}: {message}")
