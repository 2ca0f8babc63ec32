"""The turns of one run (chapter CTL): a request, its answer, the tools it calls, and the next turn.

A turn follows when tools were called, when messages are queued, or when an extension wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ecma import json_text, members, pick
from ..messages import to_llm
from ..system import current_system_message
from ..types import Json, Message
from . import boundary, compacting
from .surroundings import Failure, Signal, tell

if TYPE_CHECKING:
    from .controller import Controller


def run(c: Controller, messages: list[Message], *, poll_steering: bool = True) -> None:
    """A run that begins with messages."""
    with_tools = _with_tool_changes(c, messages)
    c.run_signal = Signal()
    c.around.emit({"event": "agent_start"})
    c.around.emit({"event": "turn_start"})
    for message in with_tools:
        c.store(message)
    _loop(c, poll_steering)


def go_on(c: Controller) -> None:
    """A run that begins where the last one ended. Raises Failure when there is nothing that the model could answer."""
    messages = c.messages()
    if all(message["role"] == "system" for message in messages):
        raise Failure("nothing_to_continue")
    if messages[-1]["role"] == "assistant":
        steering = _drain(c, "steering")
        queued = steering or _drain(c, "follow_ups")
        if not queued:
            raise Failure("nothing_to_continue")
        run(c, queued, poll_steering=not steering)
        return
    c.run_signal = Signal()
    c.around.emit({"event": "agent_start"})
    c.around.emit({"event": "turn_start"})
    _loop(c, poll_steering=True)


def _loop(c: Controller, poll_steering: bool) -> None:
    pending = _drain(c, "steering") if poll_steering else []
    first, more = True, True
    while more:
        called_tools = True
        while called_tools or pending:
            if not first:
                pending = _next_turn(c, pending)
            first = False
            for message in _with_tool_changes(c, pending):
                c.store(message)
            answer = _answer(c)
            if answer["stopReason"] in ("error", "aborted"):
                boundary.turn_end(c, answer, [])
                _turn_end(c, answer, [])
                _agent_end(c, answer)
                return
            results = _tool_results(c, answer)
            called_tools = bool(results)
            wants_more = boundary.turn_end(c, answer, results)
            _turn_end(c, answer, results)
            pending = _drain(c, "steering")
        pending = _drain(c, "follow_ups")
        more = bool(pending) or wants_more
    _agent_end(c, answer)


def _next_turn(c: Controller, pending: list[Message]) -> list[Message]:
    """Between two turns: the check of the size, and steering that came while it compacted."""
    compacting.check_between_turns(c)
    update = c.prompt_update()
    pending = pending or _drain(c, "steering")
    c.around.emit({"event": "turn_start"})
    return [update, *pending] if update else pending


def _answer(c: Controller) -> Message:
    assert c.model is not None and c.run_signal is not None
    request: Json = {
        "request": "turn",
        "model": f"{c.model.provider}/{c.model.id}",
        "messages": to_llm(c.messages()),
    }
    answer = c.around.answer(request, c.run_signal)
    c.store(answer)
    return answer


def _tool_results(c: Controller, answer: Message) -> list[str]:
    """The ids of the entries with the results. An answer that was cut off gets errors: its calls may be cut off too."""
    calls = [block for block in answer["content"] if block["type"] == "toolCall"]
    if answer["stopReason"] == "length":
        results = [_not_run(c, call) for call in calls]
    else:
        results = [c.around.run_tool(call) for call in calls]
    return [c.store(result) for result in results]


def _not_run(c: Controller, call: Json) -> Message:
    text = f"The call of {call['name']} was not run, as the answer was cut off. Call it again."
    return {
        "role": "toolResult",
        "toolCallId": call["id"],
        "toolName": call["name"],
        "content": [{"type": "text", "text": text}],
        "isError": True,
        "timestamp": c.around.now(),
    }


def _turn_end(c: Controller, answer: Message, result_ids: list[str]) -> None:
    c.around.emit({"event": "turn_end", "stopReason": answer["stopReason"], "toolResults": len(result_ids)})
    c.last_result_ids = result_ids
    c.flush_notes()


def _agent_end(c: Controller, answer: Message) -> None:
    tell(c.around, {"extension": "agent_end"})
    c.around.emit({"event": "agent_end", "willRetry": c.will_retry(answer)})
    c.run_signal = None


def _drain(c: Controller, name: str) -> list[Message]:
    """One message of a queue, or all of them where the settings say so."""
    queue: list[Message] = getattr(c, name)
    mode = c.settings.get("steeringMode" if name == "steering" else "followUpMode")
    count = len(queue) if mode == "all" else 1
    taken, left = queue[:count], queue[count:]
    setattr(c, name, left)
    return taken


def _with_tool_changes(c: Controller, pending: list[Message]) -> list[Message]:
    """The messages, with the system message that declares tools the model does not know of and takes back others. A
    tool whose definition changed is among both. (CTL-04)"""
    current = current_system_message([*c.messages(), *pending]) or {}
    known = {_definition(tool): members(tool) for tool in current.get("toolsAdded", [])}
    wanted = {_definition(tool): tool for tool in c.tools}
    added = [tool for definition, tool in wanted.items() if definition not in known]
    removed = [pick(tool, "name") for definition, tool in known.items() if definition not in wanted]
    changes = ({"toolsAdded": added} if added else {}) | ({"toolsRemoved": removed} if removed else {})
    if not changes:
        return pending
    system = [index for index, message in enumerate(pending) if message["role"] == "system"]
    if system:
        return [message | changes if index == system[-1] else message for index, message in enumerate(pending)]
    update = {"role": "system", "content": "", **changes, "timestamp": c.around.now()}
    return [update, *pending]


def _definition(tool: Any) -> str:
    """What a model reads of a tool, as JSON text: other members do not count, the order inside of a schema does."""
    return json_text(pick(members(tool), "name", "description", "parameters", "constrainedSampling"))
