"""Writes the golden documents and sweeps anew, from a run of the oracle.

python -m compaction_conformance.golden.recording [--implementation pi] [SESSION …]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import ConformanceError, InvalidInput
from compaction_conformance.golden import document as golden
from compaction_conformance.golden.sessions import GoldenSession, load_sessions
from compaction_conformance.golden.sweeps import recorded_sweep, sweep_text
from compaction_conformance.implementation import Implementation
from compaction_conformance.json_files import write_text
from compaction_conformance.paths import checkout_dir

ORACLE = "pi"


def record(side: Implementation, session: GoldenSession) -> None:
    """Both files of one session. Raises `InvalidInput` when the implementation is not the oracle."""
    if side.description.name != ORACLE:
        raise InvalidInput(
            f"expected answers are recorded from the oracle, not from {side.description.label}",
            remedy=f"give --implementation {ORACLE}",
        )
    session.sweep_file.parent.mkdir(parents=True, exist_ok=True)
    text = golden.document_text(golden.document(side, session, mark=True))
    write_text(session.golden_file, text)
    fresh = replace(session)  # nothing remembered of what the files held before
    write_text(session.sweep_file, sweep_text(recorded_sweep(side, fresh)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m compaction_conformance.golden.recording", description=__doc__)
    parser.add_argument("--implementation", default=ORACLE, help="the oracle (default: pi)")
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help="ids of golden sessions (default: all)")
    options = parser.parse_args(arguments)
    try:
        checkout_dir()
        sessions = load_sessions()
        unknown = set(options.sessions) - {session.id for session in sessions}
        if unknown:
            raise InvalidInput(f"no golden session {sorted(unknown)[0]!r}", where="fixtures/sessions/sessions.json")
        chosen = [session for session in sessions if not options.sessions or session.id in options.sessions]
        with closing(connect(options.implementation, Settings())) as side:
            for session in chosen:
                record(side, session)
                print(f"{session.id}: recorded", file=sys.stderr)
    except ConformanceError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
