"""Properties of the lists of files that were read and changed."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.properties.facts import unit_order
from compaction_conformance.strategies import conversations, paths
from compaction_conformance.strategies.messages import in_order

_LISTS, _FORMAT = "files/lists", "files/format"
_TALK = conversations()
# the last three sort otherwise by code point than by code unit
_PATHS = st.one_of(st.lists(paths(), max_size=3), st.lists(st.sampled_from(["a", "😀", "\uff5e"]), max_size=3))
_DETAILS = st.none() | st.builds(lambda read, changed: {"readFiles": read, "modifiedFiles": changed}, _PATHS, _PATHS)


@prop("FIL-lists", rules="FIL-07 FIL-08 FIL-02 FIL-09", asks=_LISTS, given=st.tuples(_TALK, _DETAILS))
def lists_are_disjoint_and_sorted(ask: Ask, example: tuple[list[Any], Any]) -> None:
    """Every file that was named stands in one list, once, in the order of its code units: modified if it ever was."""
    talk, details = example
    read, modified = set((details or {}).get("readFiles", ())), set((details or {}).get("modifiedFiles", ()))
    for message in talk:
        for block in message["content"] if message["role"] == "assistant" else ():
            path = block["arguments"].get("path") if block["type"] == "toolCall" else None
            if path and block["name"] == "read":
                read.add(path)
            elif path and block["name"] in ("write", "edit"):
                modified.add(path)
    want = {"readFiles": sorted(read - modified, key=unit_order), "modifiedFiles": sorted(modified, key=unit_order)}
    previous = {} if details is None else {"previousDetails": details}
    equal(_LISTS, want, ask(_LISTS, {"messages": talk, **previous}))


@prop("FIL-cumulative", rules="FIL-09 FIL-07", asks=_LISTS, given=st.tuples(_TALK, _TALK))
def lists_are_cumulative(ask: Ask, two: tuple[list[Any], list[Any]]) -> None:
    """The lists of a conversation are those of its second part with the lists of its first part as previous details."""
    first = ask(_LISTS, {"messages": two[0]})
    both = ask(_LISTS, {"messages": [*two[0], *two[1]]})
    equal(_LISTS, both, ask(_LISTS, {"messages": two[1], "previousDetails": first}))


@prop("FIL-order", rules="FIL-08", asks=_LISTS, given=_TALK)
def order_never_matters(ask: Ask, talk: list[Any]) -> None:
    """The order in which files were named does not matter."""
    ask.same(_LISTS, {"messages": talk}, {"messages": in_order(talk[::-1])})


@prop("FIL-answers", rules="FIL-01 FIL-06", asks=_LISTS, given=_TALK)
def only_answers_name_files(ask: Ask, talk: list[Any]) -> None:
    """Files are taken from answers alone, whatever came of the calls."""
    ask.same(_LISTS, {"messages": [m for m in talk if m["role"] == "assistant"]}, {"messages": talk})


@prop("FIL-format", rules="FIL-11 FIL-12 FIL-13", asks=_FORMAT, given=st.tuples(_PATHS, _PATHS))
def lists_are_written_path_by_path(ask: Ask, two: tuple[list[str], list[str]]) -> None:
    """Each list that is not empty is a section between its tags, a path a line, as given."""
    text = ask(_FORMAT, {"readFiles": two[0], "modifiedFiles": two[1]})["text"]
    want = ""
    for tag, listed in (("read-files", two[0]), ("modified-files", two[1])):
        want += "\n\n" + "\n".join([f"<{tag}>", *listed, f"</{tag}>"]) if listed else ""
    equal(_FORMAT, want, text, at="/text")
    holds(bool(text) == bool(two[0] or two[1]), _FORMAT, "an empty list is written", "/text", "", text)
