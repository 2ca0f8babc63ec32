"""A copy of the reference with one rule broken fails, and the rule is named with the smallest input that shows it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import compaction_reference
from compaction_conformance.cli import main
from compaction_conformance.connect import Settings, connect
from compaction_conformance.paths import spec_dir
from compaction_conformance.run import FAILED, run
from compaction_conformance.vectors import Vector, select


@dataclass(frozen=True)
class Break:
    """In a module, one text becomes another; `rule` is the one that is broken by it."""

    rule: str
    module: str
    right: str
    wrong: str


BREAKS = [
    Break("SES-05", "session_file", "except ValueError:", "except TypeError:"),
    Break("SES-25", "session_file", 'text if text.endswith("\\n") else text + "\\n"', "text"),
    Break("TRE-10", "tree", "setdefault(own_id, entry)", "setdefault(str(own_id).lower(), entry)"),
    Break("PRJ-06", "projection", "[self.compaction, *self.kept,", "[*self.kept, self.compaction,"),
    Break("PRJ-08", "projection", "    return []\n\n\ndef _is_system", "    return kept[::-1]\n\n\ndef _is_system"),
    Break("PRJ-10", "projection", "if not _is_system_message(each)", "if True"),
    Break("PRJ-14", "projection", "is_older_compaction = index > 0 and", "is_older_compaction = False and"),
    Break("SYS-03", "system", '"\\n\\n".join(text for text', '"\\n".join(text for text'),
    Break("LLM-06", "messages", 'BRANCH_SUFFIX = "</summary>"', 'BRANCH_SUFFIX = "\\n</summary>"'),
    Break("LLM-19", "messages", 'None if truthy(own.get("excludeFromContext")) else ', ""),
    Break("TOK-01", "tokens", 'if truthy(own.get("totalTokens")):', "if False:"),
    Break("TOK-08", "tokens", "IMAGE_UNITS = 4800", "IMAGE_UNITS = 1200"),
    Break("TOK-31", "tokens", "used_at >= projection.since and", "True and"),
    Break("ECM-01", "ecma", "return len(text) if text.isascii() else len(_utf16(text)) // 2", "return len(text)"),
    Break("SET-03", "settings", " if field in override else value", " if not field else value"),
    Break("TRG-01", "settings", "return to_number(context_tokens) > ", "return to_number(context_tokens) >= "),
    Break("OVF-06", "overflow", "if any(pattern.search(text) for pattern in table.exclusions):", "if False:"),
    Break("OVF-41", "overflow", "_input_tokens(own) > to_number", "_input_tokens(own) >= to_number"),
    Break("CUT-07", "cut_point", "total >= keep_recent_tokens", "total > keep_recent_tokens"),
    Break("CUT-01", "cut_point", '_TURN_STARTS | {"assistant"}', '_TURN_STARTS | {"assistant", "toolResult"}'),
    Break("CUT-09", "cut_point", "candidates[-1])", "candidates[0])"),
    Break("PRE-04", "preparation", "if not folded.after:", "if not folded.entries:"),
    Break("FIL-08", "file_operations", "key=sort_key", "key=str"),
]


@pytest.fixture(scope="module")
def vectors(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    return select(vectors, profile="coding-agent")


def broken_copy(change: Break, folder: Path) -> list[str]:
    """A command that serves a copy of the reference with the change made."""
    source = Path(compaction_reference.__file__).parent
    shutil.copytree(source, folder / "compaction_reference", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(spec_dir() / "overflow-patterns.json", folder / "compaction_reference")
    module = folder / "compaction_reference" / f"{change.module}.py"
    text = module.read_text(encoding="utf-8")
    assert change.right in text, f"{change.module} no longer holds {change.right!r}"
    module.write_text(text.replace(change.right, change.wrong, 1), encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); from compaction_reference.__main__ import main; main()"
    return [sys.executable, "-c", program]


@pytest.mark.parametrize("change", BREAKS, ids=lambda change: change.rule)
def test_a_broken_rule_is_named(change: Break, vectors: tuple[Vector, ...], tmp_path: Path) -> None:
    command = broken_copy(change, tmp_path)
    side = connect(" ".join(map(_quoted, command)), Settings())
    try:
        report = run(side, vectors)
    finally:
        side.close()
    failed = {outcome.vector.requirement.id for outcome in report.outcomes if outcome.status == FAILED}
    assert report.exit_code(declared_only=True) == 1
    assert change.rule in failed


def test_the_first_failure_shown_of_a_rule_is_its_smallest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, vectors: tuple[Vector, ...]
) -> None:
    change = next(change for change in BREAKS if change.rule == "PRJ-10")
    command = broken_copy(change, tmp_path)
    monkeypatch.chdir(tmp_path)
    name = " ".join(map(_quoted, command))
    assert main(["run", "--implementation", name, "--only", "PRJ-10", "--declared-only"]) == 1
    shown = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL PRJ-")]
    sizes = {vector.id: len(vector.params_text) for vector in vectors}
    assert shown
    assert sizes[shown[0]] == min(sizes[name] for name in shown)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\"'\"'") + "'"
