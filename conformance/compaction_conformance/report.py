"""What machines read: JSON Lines with every outcome (see `spec/schemas/report.json`), and JUnit made from the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from compaction_conformance.expectation import NotRun
from compaction_conformance.json_files import write_text, written
from compaction_conformance.judge import NOTHING
from compaction_conformance.run import FAILED, STATUSES, UNSUPPORTED, Outcome, RunReport
from compaction_conformance.terminal import shown
from compaction_conformance.vectors import Vector

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def suite_digest(vectors: Iterable[Vector]) -> str:
    """Two reports are about the same suite when their digests are equal."""
    digest = hashlib.sha256()
    for vector in sorted(vectors, key=lambda vector: vector.id):
        digest.update(
            f"{vector.id}\0{vector.operation}\0{vector.params_text}\0{vector.expect!r}\n".encode(
                "utf-8", "backslashreplace"
            )
        )
    return digest.hexdigest()


def report_lines(report: RunReport, *, edition: str, profile: str, exit_code: int) -> Iterator[dict[str, Any]]:
    """Header, one line an outcome, footer."""
    about = report.implementation
    yield {
        "type": "header",
        "suite": {
            "name": "pi-compaction-conformance",
            "version": version("pi-compaction-conformance"),
            "digest": suite_digest(outcome.vector for outcome in report.outcomes),
        },
        "edition": edition,
        "profile": profile,
        "implementation": {
            "name": about.name,
            "version": about.version,
            "language": about.language,
            "url": about.url,
            "operations": sorted(about.operations),
        },
    }
    for outcome in report.outcomes:
        yield _outcome_line(outcome)
    yield {
        "type": "footer",
        "counts": {
            level: {status: report.of(level, status) for status in STATUSES} for level in ("MUST", "QUIRK", "SHOULD")
        },
        "exitCode": exit_code,
    }


def _outcome_line(outcome: Outcome) -> dict[str, Any]:
    vector, verdict = outcome.vector, outcome.verdict
    line: dict[str, Any] = {
        "type": "outcome",
        "vector": vector.id,
        "chapter": vector.requirement.chapter,
        "requirements": [rule.id for rule in vector.requirements],
        "level": vector.level,
        "operation": vector.operation,
        "status": outcome.status,
    }
    if verdict.reading:
        line["reading"] = verdict.reading
    if isinstance(outcome.reply, NotRun):
        line["reason"] = outcome.reply.reason
    if outcome.status == FAILED:
        line["failure"] = verdict.failure
        if verdict.difference is not None:
            line["pointer"] = verdict.difference.pointer
            if verdict.difference.want is not NOTHING:
                line["want"] = verdict.difference.want
            if verdict.difference.got is not NOTHING:
                line["got"] = verdict.difference.got
            if verdict.difference.note:
                line["note"] = verdict.difference.note
    return line


def write_json_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Raises `InvalidInput` when the file cannot be written; so does `write_junit`."""
    with written(path) as file:
        for line in lines:
            file.write(_json_line(line) + "\n")


def _json_line(line: dict[str, Any]) -> str:
    """What JSON cannot hold stands as text: an answer may be nested too deeply, or have infinities."""
    try:
        return json.dumps(line, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({name: value if _is_json(value) else shown(value) for name, value in line.items()})


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def write_junit(path: Path, report: RunReport, blocks: dict[str, str], *, strict: bool = False) -> None:
    """One suite a chapter, one case a vector; advice, undeclared and unrun vectors are skipped with a reason. When
    `strict`, advice that is not met is a failure."""
    root = ElementTree.Element("testsuites", name=_xml(report.implementation.label))
    suites: dict[str, list[Outcome]] = {}
    for outcome in report.outcomes:
        suites.setdefault(outcome.vector.requirement.chapter, []).append(outcome)
    for chapter, outcomes in suites.items():
        cases = [_junit_case(outcome, blocks.get(outcome.vector.id, ""), strict) for outcome in outcomes]
        counted = {tag: str(sum(case.find(tag) is not None for case in cases)) for tag in ("failure", "skipped")}
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=chapter,
            tests=str(len(cases)),
            failures=counted["failure"],
            skipped=counted["skipped"],
        )
        suite.extend(cases)
    write_text(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True).decode())


def _junit_case(outcome: Outcome, block: str, strict: bool) -> ElementTree.Element:
    vector = outcome.vector
    case = ElementTree.Element(
        "testcase", classname=f"{vector.requirement.chapter}.{vector.requirement.id}", name=vector.id
    )
    if outcome.status == FAILED and (strict or vector.level != "SHOULD"):
        failure = ElementTree.SubElement(
            case, "failure", type=outcome.verdict.failure, message=_xml(vector.requirement.title)
        )
        failure.text = _xml(block)
    elif outcome.status == FAILED:
        ElementTree.SubElement(case, "skipped", message=_xml(f"advice: {vector.requirement.title}"))
    elif outcome.status == UNSUPPORTED:
        ElementTree.SubElement(case, "skipped", message=f"undeclared operation {vector.operation}")
    elif isinstance(outcome.reply, NotRun):
        ElementTree.SubElement(case, "skipped", message=_xml(f"not run: {outcome.reply.reason}"))
    return case


def _xml(text: str) -> str:
    """XML 1.0 has no way to hold some characters; they become a replacement character."""
    return _NO_XML.sub("\ufffd", text)
