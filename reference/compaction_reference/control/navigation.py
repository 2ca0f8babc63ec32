"""Going to another place of the session tree (chapter CTL), with or without a summary of the branch that is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import branch_summary
from ..ecma import map_key, members
from ..errors import malformed
from ..system import content_text, current_system_message
from ..tree import index_by_id
from ..types import Entry, Json
from .summarizing import Asking, summarize_branch
from .surroundings import Failure, Signal, ask, tell

if TYPE_CHECKING:
    from .controller import Controller


def navigate(c: Controller, target_id: Any, wishes: Json) -> Json:
    """Moves the leaf. `wishes`: `summarize`, `customInstructions`, `replaceInstructions`, `label`. Returns `cancelled`,
    and where they apply `aborted`, `editorText`, `summaryId`. Raises Failure. No public event tells of it."""
    if c.running:
        raise Failure("running")
    if c.compacting:
        raise Failure("compacting")
    old_leaf_id = c.session.leaf.get("leafId")
    if target_id == old_leaf_id:
        return {"cancelled": False}
    if wishes.get("summarize") and c.model is None:
        raise Failure("no_model")
    target = index_by_id(c.session.entries).get(map_key(target_id))
    if target is None:
        raise Failure("entry_not_found")
    c.branch_signal = Signal()
    try:
        return _navigate(c, target, old_leaf_id, wishes, c.branch_signal)
    finally:
        c.branch_signal = None


def _navigate(c: Controller, target: Any, old_leaf_id: Any, wishes: Json, signal: Signal) -> Json:
    left, shared_id = branch_summary.collect(c.session.entries, old_leaf_id, target["id"])
    answer = _asked(c, target, old_leaf_id, wishes, left, shared_id)
    if answer.get("cancel"):
        return {"cancelled": True}
    names = ("customInstructions", "replaceInstructions", "label")
    wishes = wishes | {name: answer[name] for name in names if name in answer}
    from_extension = bool(wishes.get("summarize") and answer.get("summary"))
    if from_extension:
        made: Any = answer["summary"]
    elif wishes.get("summarize") and left:
        made = _made(c, left, wishes, signal)
        if made is None:
            return {"cancelled": True, "aborted": True}
    else:
        made = {}
    leaf_id, editor_text = _place(target)
    summary_id = _move(c, target["id"], leaf_id, made, from_extension, wishes.get("label"))
    _restore_tools(c)
    shown = {} if summary_id is None else {"summaryId": summary_id, "fromExtension": from_extension}
    new_leaf_id = c.session.leaf.get("leafId")
    tell(c.around, {"extension": "session_tree", "newLeafId": new_leaf_id, "oldLeafId": old_leaf_id, **shown})
    result: Json = {"cancelled": False}
    if editor_text is not None:
        result["editorText"] = editor_text
    if summary_id is not None:
        result["summaryId"] = summary_id
    return result


def _asked(c: Controller, target: Any, old_leaf_id: Any, wishes: Json, left: list[Entry], shared_id: Any) -> Any:
    """What extensions say before the move. They are asked whether a summary is wanted or not."""
    event: Json = {
        "extension": "session_before_tree",
        "targetId": target["id"],
        "oldLeafId": old_leaf_id,
        "commonAncestorId": shared_id,
        "entries": [entry["id"] for entry in left],
        "summarize": bool(wishes.get("summarize")),
        **{name: wishes[name] for name in ("customInstructions", "replaceInstructions", "label") if name in wishes},
    }
    c.around.announce(event)
    return members(ask(c.around, "session_before_tree", event) or {})


def _made(c: Controller, left: list[Entry], wishes: Json, signal: Signal) -> Any:
    assert c.model is not None
    options = branch_summary.Options(
        branch_summary.settings(c.settings, {})["reserveTokens"],
        wishes.get("customInstructions"),
        bool(wishes.get("replaceInstructions")),
    )
    asking = Asking(c.around, c.settings, signal, {"source": "branchSummary"})
    return summarize_branch(asking, left, c.model, options)


def _place(target: Any) -> tuple[Any, str | None]:
    """Where the leaf goes, and the text that goes back into the editor: a user's message is written again."""
    if target["type"] == "message" and target["message"]["role"] == "user":
        return target["parentId"], content_text(target["message"]["content"], "")
    if target["type"] == "custom_message":
        return target["parentId"], content_text(target["content"], "")
    return target["id"], None


def _move(
    c: Controller, target_id: Any, leaf_id: Any, made: Any, from_extension: bool, label: str | None
) -> str | None:
    """Moves the leaf, appends summary and label. The label is an entry too, so that it becomes the leaf."""
    summary_entry: Entry | None = None
    if made.get("summary"):
        fields = {name: made[name] for name in ("summary", "details", "usage") if name in made}
        draft = {"type": "branch_summary", "branchFromId": leaf_id, **fields, "fromHook": from_extension}
        summary_entry = c.session.append(draft)
    else:
        c.session.leaf = {"leafId": leaf_id}
    labelled = target_id if summary_entry is None else summary_entry["id"]
    if label:
        c.session.append({"type": "label", "targetId": labelled, "label": label})
    return None if summary_entry is None else str(summary_entry["id"])


def _restore_tools(c: Controller) -> None:
    """The tools that the transcript declares at the new place, where it declares any system state."""
    current = current_system_message(c.messages())
    if current is None:
        return
    tools = current.get("toolsAdded", [])
    if not isinstance(tools, list):
        raise malformed("tools that are no list")
    names = [members(tool).get("name") for tool in tools]
    c.tools = [tool for name in names for tool in c.known_tools if tool["name"] == name]
