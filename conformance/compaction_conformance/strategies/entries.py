"""Drafts and entries of all eleven types.

A draft is an entry before it is appended (`spec/protocol.md`). Drafts that name other entries hold a `Back` in the
place of the id: so many entries back on the path that they are appended to. `sessions.Builder` puts the ids in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.strategies.messages import (
    assistant_messages,
    bash_executions,
    spoken_contents,
    system_messages,
    text_block,
    tool_result_messages,
    user_messages,
)
from compaction_conformance.strategies.texts import paths, texts
from compaction_conformance.strategies.usage import usages

Draft = dict[str, Any]
ENTRY_TYPES = (
    "message",
    "label",
    "model_change",
    "thinking_level_change",
    "session_info",
    "custom",
    "usage",
    "custom_message",
    "branch_summary",
    "context_edit",
    "compaction",
)
_FAR = 12


@dataclass(frozen=True)
class Back:
    """The entry so many steps before the leaf (0: the leaf itself), the root when there are fewer. With `editable`
    only entries count that a context edit may target."""

    steps: int
    editable: bool = False


def drafts(*types: str) -> SearchStrategy[Draft]:
    """One draft of any of the types (all eleven without an argument)."""
    return st.one_of([_draft(kind) for kind in types or ENTRY_TYPES])


@cache
def _draft(kind: str) -> SearchStrategy[Draft]:
    return _MAKERS[kind]().map(lambda own: {"type": kind, **own})


def _message() -> SearchStrategy[Draft]:
    stored = (user_messages(), assistant_messages(), tool_result_messages(), system_messages(), bash_executions())
    return st.one_of(stored).map(lambda message: {"message": message})


def _label() -> SearchStrategy[Draft]:
    return st.fixed_dictionaries({"targetId": back()}, optional={"label": st.sampled_from(["a", "b", ""])})


def _usage() -> SearchStrategy[Draft]:
    about = {"kind": st.just("title"), "provider": st.just("acme"), "model": st.just("m"), "usage": usages()}
    return st.fixed_dictionaries(about, optional={"note": st.sampled_from(["", "n"])})


def _custom_message() -> SearchStrategy[Draft]:
    about = {"customType": st.just("x"), "content": spoken_contents(), "display": st.booleans()}
    return st.fixed_dictionaries(about)


def _branch_summary() -> SearchStrategy[Draft]:
    about = {"branchFromId": back(), "summary": texts(min_size=0)}
    return st.fixed_dictionaries(about, optional={"details": details(), "fromHook": st.booleans()})


def _context_edit() -> SearchStrategy[Draft]:
    return st.fixed_dictionaries({"targetId": back(editable=True), "replacement": replacements()})


def _compaction() -> SearchStrategy[Draft]:
    about = {"summary": texts(), "firstKeptEntryId": back() | st.none(), "tokensBefore": st.integers(0, 999)}
    return st.fixed_dictionaries(about, optional={"details": details(), "fromHook": st.booleans()})


_MAKERS = {
    "message": _message,
    "label": _label,
    "model_change": lambda: st.fixed_dictionaries(
        {"provider": st.just("acme"), "modelId": st.sampled_from(["m", "n"])}
    ),
    "thinking_level_change": lambda: st.fixed_dictionaries({"thinkingLevel": st.sampled_from(["off", "low", "high"])}),
    "session_info": lambda: st.fixed_dictionaries({"name": st.sampled_from(["n", "", " o ", "a\nb"])}),
    "custom": lambda: st.fixed_dictionaries({"customType": st.just("x")}, optional={"data": st.integers(0, 9)}),
    "usage": _usage,
    "custom_message": _custom_message,
    "branch_summary": _branch_summary,
    "context_edit": _context_edit,
    "compaction": _compaction,
}


def back(*, editable: bool = False) -> SearchStrategy[Back]:
    return st.integers(0, _FAR).map(lambda steps: Back(steps, editable))


@cache
def replacements() -> SearchStrategy[Any]:
    """What a context edit puts in the place of its target: nothing (`null`), a text, or blocks of text."""
    contents = st.one_of(texts(), st.lists(texts(8).map(text_block), max_size=2))
    return st.one_of(st.none(), contents.map(lambda content: {"content": content}))


@cache
def details() -> SearchStrategy[Any]:
    """The file lists of a compaction or branch summary."""
    files = st.lists(paths(), max_size=2, unique=True)
    return st.builds(lambda read, modified: {"readFiles": read, "modifiedFiles": modified}, files, files)


def entries(*types: str) -> SearchStrategy[dict[str, Any]]:
    """One entry on its own, a root named `e1`; what it refers to is the id `e0`."""
    return drafts(*types).map(_on_its_own)


def _on_its_own(draft: Draft) -> dict[str, Any]:
    own = {name: "e0" if isinstance(value, Back) else value for name, value in draft.items() if name != "type"}
    if own.pop("branchFromId", None) is not None:
        own["fromId"] = "e0"
    return {"type": draft["type"], "id": "e1", "parentId": None, "timestamp": "2025-01-01T00:00:01.000Z", **own}
