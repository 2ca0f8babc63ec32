"""A search as a job: in this process, or shared by several that take different hunts and one example database.

A worker is `python -m compaction_conformance.search.jobs JOB RESULT`, two files of JSON.
"""

from __future__ import annotations

import fnmatch
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from compaction_conformance.connect import Settings, connect
from compaction_conformance.errors import ConformanceError, HandshakeFailed, InvalidInput
from compaction_conformance.paths import spec_dir
from compaction_conformance.run import INCOMPLETE
from compaction_conformance.search.hunting import Limits, Search, SearchReport
from compaction_conformance.search.hunts import Sides
from compaction_conformance.search.vectors import FoundVector, found_vector
from compaction_conformance.spec import load_spec

_LATE = 60.0
_GRACE = 10.0


@dataclass(frozen=True)
class Job:
    """What to search, as the command line says it. `only`: wildcard of an id, an operation or a requirement."""

    implementation: str
    against: str
    oracle: str
    settings: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)
    only: str = "*"


@dataclass(frozen=True)
class Searched:
    """What came of it."""

    found: tuple[FoundVector, ...]
    hunts: int
    examples: int
    seconds: float
    unexplained: dict[str, str]
    incomplete: str = ""


def search(job: Job, on_round: Callable[[int, SearchReport], None] = lambda _round, _report: None) -> Searched:
    """In this process. Raises what `connect` raises, and `InvalidInput` when nothing can be searched."""
    with ExitStack() as stack:
        sides: dict[str, Any] = {}
        for name in (job.implementation, job.against, job.oracle):
            if name not in sides:
                sides[name] = stack.enter_context(closing(connect(name, job.settings)))
        tested, oracle = sides[job.implementation], sides[job.oracle]
        run = Search(Sides(tested, sides[job.against], oracle), job.limits, _chosen(job.only), on_round)
        report = run.run()
        if not report.hunts:
            raise InvalidInput(
                f"nothing to search with --only {job.only!r} among what the implementation declares",
                remedy="`compaction-conformance search --list` shows properties and their operations",
            )
        spec = load_spec(spec_dir())
        found = tuple(found_vector(one, oracle.description, spec) for one in report.findings.values())
        return Searched(
            found, report.hunts, report.examples, report.seconds, dict(report.unexplained), report.incomplete
        )


def _chosen(pattern: str) -> Callable[[str, Sequence[str]], bool]:
    return lambda own_id, names: any(fnmatch.fnmatchcase(name, pattern) for name in (own_id, *names))


def search_shared(job: Job, processes: int) -> Searched:
    """Over several processes. When one fails, raises what `search` raises, with the worker's message."""
    with tempfile.TemporaryDirectory() as folder:
        workers = [
            _start(replace(job, limits=replace(job.limits, share=(k, processes))), Path(folder), k)
            for k in range(processes)
        ]
        try:
            parts = [_result(worker, Path(folder), k, job) for k, worker in enumerate(workers)]
        finally:
            _end(workers)
    return Searched(
        tuple(one for part in parts for one in part.found),
        parts[0].hunts,
        sum(part.examples for part in parts),
        max(part.seconds for part in parts),
        {name: what for part in parts for name, what in part.unexplained.items()},
        next((part.incomplete for part in parts if part.incomplete), ""),
    )


def _end(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Asked to, so that they end their adapters; by force where that takes too long."""
    for worker in workers:
        worker.terminate()
    try:
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(_GRACE)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def _start(job: Job, folder: Path, number: int) -> subprocess.Popen[bytes]:
    (folder / f"job{number}").write_text(json.dumps(asdict(job), default=str), encoding="utf-8")
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
    log = (folder / f"log{number}").open("wb")
    with log:
        return subprocess.Popen(
            [*command, str(folder / f"job{number}"), str(folder / f"result{number}")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _result(worker: subprocess.Popen[bytes], folder: Path, number: int, job: Job) -> Searched:
    try:
        worker.wait(job.limits.seconds * 2 + _LATE)
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"process {number} of the search does not end", remedy="give fewer --seconds") from None
    path = folder / f"result{number}"
    if not path.is_file():
        tail = (folder / f"log{number}").read_text(encoding="utf-8", errors="replace")[-2000:]
        kind = HandshakeFailed if worker.returncode == HandshakeFailed.exit_code else InvalidInput
        raise kind(f"process {number} of the search failed: {tail.strip()}")
    data = json.loads(path.read_text(encoding="utf-8"))
    return Searched(tuple(FoundVector(**one) for one in data.pop("found")), **data)


def _job_of(data: Any) -> Job:
    limits = data["limits"]
    database = None if limits["database"] is None else Path(limits["database"])
    return Job(
        data["implementation"],
        data["against"],
        data["oracle"],
        Settings(**data["settings"]),
        Limits(**{**limits, "database": database, "share": tuple(limits["share"])}),
        data["only"],
    )


def main(arguments: Sequence[str]) -> int:
    """The exit code tells the kind of error to who started the worker: that of the error, or 0."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # adapters are ended on the way out
    job_file, result_file = map(Path, arguments)
    try:
        searched = search(_job_of(json.loads(job_file.read_text(encoding="utf-8"))))
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INCOMPLETE
    result_file.write_text(json.dumps(asdict(searched)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
