"""Speed and memory, as ratios within one run: `python -m compaction_conformance.bench [--part harness|run|growth|pi]`.

Nothing here is a test: machines differ. What is claimed of speed is claimed as a ratio that these lines print.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from compaction_conformance.connect import Settings, adapter_command, connect
from compaction_conformance.errors import ConformanceError
from compaction_conformance.generate import session_entries, write_session
from compaction_conformance.paths import adapters_dir, spec_dir, vector_dirs
from compaction_conformance.run import run
from compaction_conformance.spec import load_spec
from compaction_conformance.vectors import Vector, load_vectors

_T = TypeVar("_T")
_K = TypeVar("_K")

_REQUESTS = 5000
_SIZES = (50_000, 100_000, 200_000, 400_000)
_LARGE = 100_000
_SHAPES = (30, 0)
_RUNS = 25
_CACHE_BYTES = 256 << 20
_SETTINGS = {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compaction_conformance.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=sorted(_PARTS), action="append", help="only this part (repeatable)")
    chosen = parser.parse_args().part or list(_PARTS)
    try:
        for part in chosen:
            print(f"── {part}")
            _PARTS[part]()
    except ConformanceError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _harness() -> None:
    """What the harness adds to a vector: a full run against a process beside a bare loop over the same pipe."""
    vectors, loading = _timed(lambda: load_vectors(vector_dirs(), load_spec(spec_dir())))
    settled = [vector for vector in vectors if vector.time_limit is None]
    many = (settled * (_REQUESTS // len(settled) + 1))[:_REQUESTS]
    bare = min(_bare_loop(many) for _ in range(3))
    full = min(_full_run(many) for _ in range(3))
    cost = full / len(many) + loading / len(vectors)
    print(f"{len(many)} requests: bare loop {_us(bare / len(many))}, full run {_us(full / len(many))} a vector")
    print(f"{len(vectors)} vectors: loading {_us(loading / len(vectors))} a vector")
    ratio = cost / (bare / len(many))
    print(f"marginal cost of a vector (loaded, asked, judged) over the bare loop: {ratio:.2f} (at most 5)")


def _bare_loop(vectors: Sequence[Vector]) -> float:
    """Write a line, read a line, parse it, compare with `==`; nothing else."""
    command = [sys.executable, "-m", "compaction_reference"]
    lines = [
        f'{{"jsonrpc":"2.0","id":{index},"method":{json.dumps(vector.operation)},"params":{vector.params_text}}}\n'.encode()
        for index, vector in enumerate(vectors)
    ]
    expected = [getattr(vector.expect, "value", None) for vector in vectors]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        start = 0.0
        for index, line in enumerate([lines[0], *lines]):
            child.stdin.write(line)
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
            _ = answer.get("result") == expected[max(index - 1, 0)]
            if index == 0:  # the first one waited for the process to start
                start = time.perf_counter()
        seconds = time.perf_counter() - start
        child.stdin.close()
    return seconds


def _full_run(vectors: Sequence[Vector]) -> float:
    side = connect("reference", Settings(own_process=True))
    try:
        return _timed(lambda: run(side, vectors))[1]
    finally:
        side.close()


def _cold_run() -> None:
    """A cold full run of the reference, as a user starts it."""
    command = [sys.executable, "-m", "compaction_conformance.cli", "run"]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        code = subprocess.run(command, stdout=subprocess.DEVNULL, cwd=folder, check=False).returncode
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)
    print(f"cold full run of the reference: exit code {code}, {seconds:.1f} s (under 10), {peak:.0f} MB (under 200)")


def _growth() -> None:
    """Time at 2n over time at n, for the reference: with compactions, and without one, where all has to be visited.
    The sizes take turns, and a ratio is the median over the rounds: a slower while of the machine slows both."""
    for compactions in _SHAPES:
        sessions = {size: session_entries(size, compactions=compactions) for size in _SIZES}
        for operation in ("projection", "preparation"):
            rounds = _rounds({size: _work(operation, entries) for size, entries in sessions.items()})
            shown = ", ".join(f"{size // 1000}k {min(each[size] for each in rounds) * 1000:.2f} ms" for size in _SIZES)
            growth = ", ".join(
                f"{median(each[2 * size] / each[size] for each in rounds):.2f}" for size in _SIZES if 2 * size in _SIZES
            )
            print(f"{operation}, {compactions} compactions: {shown}; 2n over n: {growth} (at most 2.3)")


def _beside_pi() -> None:
    """The reference beside the published Pi under Node, on the same file."""
    command, environment = adapter_command("pi", where="--part pi")
    script = str(adapters_dir() / "pi" / "bench.mjs")
    for compactions in _SHAPES:
        entries = session_entries(_LARGE, compactions=compactions)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "session.jsonl"
            write_session(file, entries)
            done = subprocess.run(
                [command[0], script, str(file), str(_SETTINGS["keepRecentTokens"]), str(_RUNS)],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                check=True,
            )
        theirs = json.loads(done.stdout)
        for operation, limit in (("projection", 1), ("preparation", 2)):
            mine = min(each[operation] for each in _rounds({operation: _work(operation, entries)})) * 1000
            told = f" (at most {limit})" if compactions else ""
            print(
                f"{operation} of {_LARGE} entries, {compactions} compactions: reference {mine:.2f} ms, "
                f"Pi {theirs[operation]:.2f} ms, ratio {mine / theirs[operation]:.3f}{told}"
            )


def _work(operation: str, entries: list[dict[str, Any]]) -> Callable[[], Any]:
    from compaction_reference import operations

    params = {"entries": entries, "settings": _SETTINGS}
    name = {"projection": "projection/messages", "preparation": "compaction/prepare"}[operation]
    return lambda: operations.call(name, params)


def _rounds(works: Mapping[_K, Callable[[], Any]]) -> list[dict[_K, float]]:
    """The seconds of each piece of work, in turns. Every one begins with cold caches; else the sizes that just fit into
    them would look better than they are. Collection of garbage is off while the clock runs, as `timeit` does it."""
    evicting = bytes(_CACHE_BYTES)
    rounds = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(_RUNS):
            seconds = {}
            for key, work in works.items():
                evicting.count(1)
                seconds[key] = _timed(work)[1]
            rounds.append(seconds)
    finally:
        gc.enable()
    return rounds


def _timed(work: Callable[[], _T]) -> tuple[_T, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


_PARTS: dict[str, Callable[[], None]] = {"harness": _harness, "run": _cold_run, "growth": _growth, "pi": _beside_pi}


if __name__ == "__main__":
    sys.exit(main())
