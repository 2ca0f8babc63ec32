"""Is this a sound session file or vector file? Every finding says where, what is wrong and what to do.

Two strictnesses for sessions: `strict` is what Pi 0.87 writes, `tolerant` what a reader has to take.
Files may be hostile: lines are read one at a time and bounded, and no input ends the check with an exception.
"""

from __future__ import annotations

from pathlib import Path

from compaction_conformance.findings import Finding, Findings, Report, Severity, Strictness
from compaction_conformance.session_validation import check_session
from compaction_conformance.vector_validation import check_vector_file

__all__ = ["Finding", "Report", "Severity", "Strictness", "validate_file"]


def validate_file(path: Path, strictness: Strictness = "strict") -> Report:
    """Check a vector file (`.json`, always strictly) or a session file (any other name)."""
    vectors = path.suffix == ".json"
    kind, check = ("vector file", check_vector_file) if vectors else ("session", check_session)
    findings = Findings("strict" if vectors else strictness)
    lines = 0
    try:
        if path.is_file():
            with path.open("rb") as stream:
                lines = check(stream, findings)
        else:
            findings.add("unreadable", "is no regular file" if path.exists() else "no such file")
    except OSError as error:
        findings.add("unreadable", f"cannot be read: {error.strerror or error}")
    except MemoryError:
        findings.add("too-large", "does not fit into memory")
    return findings.report(path, kind, lines)
