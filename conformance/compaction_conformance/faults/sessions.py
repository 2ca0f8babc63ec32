"""Faults of session files, trees and appends (chapters SES, TRE, APP)."""

from __future__ import annotations

from typing import Any

from compaction_conformance.faults.fault import Fault, edited, given, then
from compaction_conformance.faults.sources import changelog, gh, pi


def _no_refusal(right: Any, content: Any, makers: Any = None) -> Any:
    try:
        return right(content, makers)
    except Exception:
        return right("", makers)


def _file_order(right: Any, entries: Any, *_: Any) -> Any:
    return reversed(list(entries))


def _bridged(right: Any, entry: Any, index: Any) -> Any:
    """The line before in the file stands in for a parent that is missing."""
    passed: list[Any] = []
    for one in right(entry, index):
        passed.append(one)
        yield one
    missing = isinstance(passed[-1], dict) and passed[-1].get("parentId") if passed else None
    if missing and not any(isinstance(one, dict) and one.get("id") == missing for one in passed):
        read = list(index._by_id.values())  # from the last line back
        place = next(place for place, one in enumerate(read) if one is passed[-1])
        yield from read[place + 1 :]


def _endless(right: Any, entry: Any, index: Any) -> Any:
    while entry is not None:
        yield entry
        entry = index.find(entry.get("parentId")) if isinstance(entry, dict) else None


def _since_compaction(path: Any) -> Any:
    places = [
        place for place, entry in enumerate(path) if isinstance(entry, dict) and entry.get("type") == "compaction"
    ]
    return path[places[-1] :] if places else path


FAULTS = (
    Fault(
        "FLT-session-malformed-line",
        ("SES-05",),
        gh("PrimeIntellect-ai/prime-agent/pull/959"),
        "prime-agent",
        "a line that is no JSON makes the whole session unreadable",
        {"session_file.parsed_lines": edited("            continue\n", "            raise\n")},
        ("000-fold",),
    ),
    Fault(
        "FLT-session-torn-tail",
        ("SES-24", "SES-25"),
        pi(8345),
        "pi before 0.84.4",
        "the next append is written onto a last line that has no line feed, so that two records are lost",
        {"session_file.open_file": edited('text if text.endswith("\\n") else text + "\\n"', "text")},
        ("000-commit",),
    ),
    Fault(
        "FLT-session-unicode-lines",
        ("SES-02",),
        pi(1911),
        "pi",
        "U+2028 and its like end a line, so that a record with one in its text is torn",
        {"session_file.parsed_lines": edited('text.split("\\n")', "text.splitlines()")},
    ),
    Fault(
        "FLT-session-broken-utf8",
        ("SES-08",),
        gh("Tracer-Cloud/opensre/issues/6356"),
        "opensre",
        "a byte that is no UTF-8 makes the whole session unreadable",
        {"session_file.text_of": edited('"replace"', '"strict"')},
    ),
    Fault(
        "FLT-session-invalid-overwritten",
        ("SES-15",),
        pi(6002),
        "pi",
        "a file that is no session is taken for an empty one and gets a header",
        {"session_file.open_file": given(_no_refusal)},
    ),
    Fault(
        "FLT-session-second-header",
        ("SES-16",),
        pi(1672),
        "pi",
        "a second header line counts as an entry",
        {"session_file.open_file": edited('if members(line).get("type") != "session"]', "if line is not header]")},
    ),
    Fault(
        "FLT-session-written-early",
        ("SES-20",),
        pi(10000),
        "a later edition of pi",
        "a file is created although nothing was answered yet",
        {"session_file.text_after_appends": edited("if answered else None", "if appended else None")},
    ),
    Fault(
        "FLT-session-rewritten-by-compaction",
        ("SES-23", "SES-22"),
        gh("openai/codex/issues/44363"),
        "codex",
        "an append writes the file anew and what it held is gone",
        {
            "session_file.text_after_appends": edited(
                "return opened.text + _lines(appended)", "return _lines([opened.header, *appended])"
            )
        },
        ("000-commit", "002-storage"),
    ),
    Fault(
        "FLT-session-old-roles",
        ("SES-32",),
        changelog(),
        "ports of pi",
        "a file of version 2 keeps its old role, which no rule knows",
        {"session_file.migrate": edited("if version < 3:", "if version < 2:")},
    ),
    Fault(
        "FLT-session-fallback-parent",
        ("TRE-08", "PRJ-04"),
        gh("QwenLM/qwen-code/issues/6501"),
        "qwen-code",
        "the line before stands in for a parent that is missing",
        {"tree.walk_back": given(_bridged)},
    ),
    Fault(
        "FLT-tree-all-branches",
        ("TRE-02", "PRE-02"),
        changelog(),
        "pi before 0.31.0",
        "all entries of the file count, those of branches that were left too",
        {"tree.walk_of": given(_file_order), "projection.walk_from": given(_file_order)},
        ("000-reprojection", "002-storage"),
    ),
    Fault(
        "FLT-tree-first-of-two",
        ("TRE-09",),
        pi(8575, "pull"),
        "pi",
        "of two entries with one id the earlier line counts",
        {"tree.Index._read_one": edited("self._by_id.setdefault(own_id, entry)", "self._by_id[own_id] = entry")},
    ),
    Fault(
        "FLT-tree-endless-cycle",
        ("TRE-12",),
        gh("Yeachan-Heo/gajae-code/pull/1193"),
        "gajae-code",
        "a cycle of parents is walked for ever",
        {"tree.walk_back": given(_endless)},
    ),
    Fault(
        "FLT-tree-stops-at-compaction",
        ("TRE-03",),
        gh("can1357/oh-my-pi/issues/4090"),
        "oh-my-pi",
        "the path ends at its newest compaction, so that going back before it loses what was there",
        {"tree.path_of": then(_since_compaction)},
    ),
    Fault(
        "FLT-fork-broken-chain",
        ("TRE-26",),
        pi(5669),
        "pi",
        "labels are taken out of a fork and what hung below them hangs on nothing",
        {"session.fork": edited('{**own, "parentId": copied[-1].get("id") if copied else None}', "{**own}")},
    ),
    Fault(
        "FLT-fork-kept-label",
        ("TRE-28",),
        pi(8989),
        "pi",
        "a first kept id that names a label is left as it is, and the kept tail of the fork is gone",
        {"session.fork": edited('if own.get("type") == "compaction" and', "if False and")},
    ),
    Fault(
        "FLT-fork-whole-file",
        ("TRE-24",),
        pi(1242),
        "pi",
        "a fork holds every branch",
        {"session.fork": edited("path = path_of(entries, leaf)", "path = path_of(entries, leaf) and list(entries)")},
    ),
    Fault(
        "FLT-append-branch-destination",
        ("APP-24", "APP-26"),
        changelog(),
        "pi before 0.84.3",
        "a branch summary remembers where the user went in place of what was left",
        {
            "session.Session._branch_fields": edited(
                '"root" if left is None else left', '"root" if branch_from is None else branch_from'
            )
        },
        ("000-branch", "001-tree"),
    ),
    Fault(
        "FLT-append-text-replacement",
        ("APP-20",),
        changelog(),
        "pi before 0.87.0",
        "a text that replaces an answer is stored as text, which no provider takes",
        {"session.Session._checked_replacement": edited('role in ("assistant", "toolResult")', "role in ()")},
        ("000-edits",),
    ),
    Fault(
        "FLT-append-edit-anywhere",
        ("APP-18",),
        changelog(),
        "pi before 0.87.0",
        "an entry of another branch can be edited",
        {
            "session.Session._checked_replacement": edited(
                "if not any(entry is target for entry in self.path()):", "if False:"
            )
        },
    ),
    Fault(
        "FLT-append-keeps-nothing",
        ("APP-06",),
        changelog(),
        "pi before 0.87.0",
        "a compaction that keeps nothing names no first kept entry",
        {
            "session.Session._compaction_fields": edited(
                '{"firstKeptEntryId": new_id if first_kept is None else first_kept}', '{"firstKeptEntryId": first_kept}'
            )
        },
        ("001-entry", "002-storage"),
    ),
    Fault(
        "FLT-append-no-snapshot",
        ("APP-08",),
        pi(9789),
        "pi",
        "a compaction does not carry the system prompt and the tools, so that they are gone after it",
        {"session.Session._compaction_fields": edited("if system is not None:", "if False:")},
        ("000-fold",),
    ),
)
