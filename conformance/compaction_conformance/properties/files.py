"""Properties of session files: what is read, what is written, what survives damage."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, ids_of, prop
from compaction_conformance.strategies import Session, damaged_contents, drafts, sessions, version_one_contents
from compaction_conformance.strategies.damage import DamagedContent
from compaction_conformance.strategies.sessions import HEADER, content_of

_PARSE, _WRITE = "session/parse", "session/write"
_DRAFTS = st.lists(drafts("message", "custom", "session_info", "model_change"), max_size=3)


@prop("SES-round-trip", rules="SES-01 SES-17 SES-38", asks=_PARSE, given=sessions(strays=True))
def a_file_reads_back(ask: Ask, session: Session) -> None:
    """A session file reads back as its header and its entries, each untouched, and the last one is the leaf."""
    found = ask(_PARSE, {"content": session.content})
    equal(_PARSE, {"header": HEADER, "entries": list(session.entries), "leafId": session.leaf_id}, found)


@prop("SES-noise", rules="SES-05 SES-04 SES-06 SES-25", asks=_PARSE, given=damaged_contents())
def damage_costs_itself_alone(ask: Ask, damaged: DamagedContent) -> None:
    """Blank lines, malformed lines, empty values and a torn last record change nothing of what else is read."""
    ask.same(_PARSE, {"content": damaged.session.content}, {"content": damaged.content})


@prop("SES-prefix", rules="SES-01 TRE-01", asks=_PARSE, given=st.tuples(sessions(), st.integers(0, 20)))
def a_shorter_file_has_fewer_entries(ask: Ask, example: tuple[Session, int]) -> None:
    """The first lines of a file read as its first entries, and the last of them is the leaf."""
    session, length = example
    first = list(session.entries[:length])
    found = ask(_PARSE, {"content": content_of(first)})
    equal(_PARSE, first, found["entries"], at="/entries")
    equal(_PARSE, first[-1]["id"] if first else None, found["leafId"], at="/leafId")


@prop("SES-carriage-returns", rules="SES-03", asks=_PARSE, given=sessions())
def carriage_returns_do_no_harm(ask: Ask, session: Session) -> None:
    """A file whose lines end in carriage return and line feed reads the same."""
    ask.same(_PARSE, {"content": session.content}, {"content": session.content.replace("\n", "\r\n")})


@prop(
    "SES-separators",
    rules="SES-02",
    asks=_PARSE,
    given=st.tuples(sessions(4), st.text("\u2028\u2029\u0085\x0b\x0c\x1c", min_size=1, max_size=3)),
)
def only_line_feeds_separate(ask: Ask, example: tuple[Session, str]) -> None:
    """Unicode's other line separators inside a text separate nothing."""
    session, text = example
    longer = session.with_draft({"type": "message", "message": {"role": "user", "content": f"a{text}b"}})
    written = (
        content_of(longer.entries).replace("\x0b", "\\u000b").replace("\x0c", "\\u000c").replace("\x1c", "\\u001c")
    )
    equal(_PARSE, list(longer.entries), ask(_PARSE, {"content": written})["entries"], at="/entries")


@prop("SES-bytes", rules="SES-01 SES-08", asks=_PARSE, given=sessions())
def bytes_and_text_agree(ask: Ask, session: Session) -> None:
    """The bytes of a file read as its text does."""
    encoded = base64.b64encode(session.content.encode()).decode()
    ask.same(_PARSE, {"content": session.content}, {"contentBase64": encoded})


@prop("SES-no-header", rules="SES-15", asks=_PARSE, given=sessions().filter(lambda session: bool(session.entries)))
def a_file_without_header_is_refused(ask: Ask, session: Session) -> None:
    """A file whose header is missing is no session."""
    content = session.content.split("\n", 1)[1]
    equal(_PARSE, "not_a_session", ask.refusal(_PARSE, {"content": content}), at="/error/kind")


@prop("SES-append-only", rules="SES-23 SES-24 SES-26", asks=_WRITE, given=st.tuples(damaged_contents(), _DRAFTS))
def a_file_only_grows(ask: Ask, example: tuple[DamagedContent, list[Any]]) -> None:
    """Opening and appending change no byte of a file, and every draft adds exactly one line."""
    damaged, drafted = example
    content = damaged.content
    found = ask(_WRITE, {"content": content, "drafts": drafted})["content"]
    whole = content if content.endswith("\n") else content + "\n"
    holds(found.startswith(whole), _WRITE, "what was in the file is changed", "/content", whole, found)
    holds(
        found[len(whole) :].count("\n") == len(drafted), _WRITE, "not one line a draft", "/content", len(drafted), found
    )


@prop("SES-written-reads", rules="SES-26 APP-01", asks=f"{_WRITE} {_PARSE}", given=st.tuples(sessions(5), _DRAFTS))
def what_is_written_reads_back(ask: Ask, example: tuple[Session, list[Any]]) -> None:
    """After appends a file reads as the entries before and one for each draft, chained, the last one as leaf."""
    session, drafted = example
    written = ask(_WRITE, {"content": session.content, "drafts": drafted})["content"]
    found = ask(_PARSE, {"content": written})
    count = len(session.entries)
    equal(_WRITE, list(session.entries), found["entries"][:count], at="/content")
    added = found["entries"][count:]
    equal(_WRITE, [draft["type"] for draft in drafted], [entry["type"] for entry in added], at="/content")
    parents = [session.leaf_id, *ids_of(added)]
    equal(_WRITE, parents[:-1], [entry["parentId"] for entry in added], at="/content")
    equal(_WRITE, parents[-1], found["leafId"], at="/content")


@prop("SES-first-write", rules="SES-20 SES-21", asks=_WRITE, given=_DRAFTS)
def a_new_file_waits_for_an_answer(ask: Ask, drafted: list[Any]) -> None:
    """A file that is not there is written with the first answer, and then holds everything."""
    found = ask(_WRITE, {"content": None, "drafts": drafted})["content"]
    answered = any(draft.get("message", {}).get("role") == "assistant" for draft in drafted)
    holds(
        (found is not None) == answered,
        _WRITE,
        "written without an answer, or not with it",
        "/content",
        answered,
        found,
    )
    if found is not None:
        equal(_WRITE, len(drafted) + 1, found.count("\n"), "not one line a draft", "/content")


@prop("SES-reopened", rules="SES-34 SES-28", asks=f"{_WRITE} {_PARSE}", given=version_one_contents())
def a_migrated_file_stays(ask: Ask, content: str) -> None:
    """An old file is migrated once: what was written then reads the same at every later opening."""
    written = ask(_WRITE, {"content": content, "drafts": []})["content"]
    again = ask(_WRITE, {"content": written, "drafts": []})["content"]
    equal(_WRITE, written, again, "it is written anew", "/content")
    ask.same(_PARSE, {"content": written}, {"content": again})


@prop("SES-version-one", rules="SES-28 SES-29 SES-30", asks=_PARSE, given=version_one_contents())
def an_old_list_becomes_a_chain(ask: Ask, content: str) -> None:
    """Entries of version 1 are chained under new ids, and a kept place becomes the id of the entry in that place."""
    old = [json.loads(line) for line in content.split("\n") if line]
    found = ask(_PARSE, {"content": content})
    entries = found["entries"]
    equal(_PARSE, 3, found["header"]["version"], at="/header/version")
    equal(_PARSE, [None, *ids_of(entries)][: len(entries)], [entry["parentId"] for entry in entries], at="/entries")
    holds(len(set(ids_of(entries))) == len(old) - 1, _PARSE, "ids are missing or doubled", "/entries")
    for place, entry in enumerate(entries, 1):
        if entry["type"] == "compaction":
            kept = old[place]["firstKeptEntryIndex"]
            want = entries[kept - 1]["id"] if 0 < kept <= place else None
            equal(_PARSE, want, entry.get("firstKeptEntryId"), at=f"/entries/{place - 1}/firstKeptEntryId")
            holds(
                "firstKeptEntryIndex" not in entry,
                _PARSE,
                "the place stays",
                f"/entries/{place - 1}/firstKeptEntryIndex",
            )


@prop("SES-version-two", rules="SES-32 SES-33", asks=_PARSE, given=sessions(5))
def version_two_differs_by_a_role(ask: Ask, session: Session) -> None:
    """A file of version 2 reads as one of version 3, but for the role that was renamed."""
    hooked = session.with_draft({"type": "message", "message": {"role": "hookMessage", "content": "a"}})
    named = session.with_draft({"type": "message", "message": {"role": "custom", "content": "a"}})
    renamed = [
        {**entry, "id": "h"} if entry["id"] in (hooked.leaf_id, named.leaf_id) else entry
        for entry in (*session.entries, hooked.entries[-1], named.entries[-1])
    ]
    old = content_of([*session.entries, renamed[-2]], {**HEADER, "version": 2})
    ask.same(_PARSE, {"content": content_of([*session.entries, renamed[-1]])}, {"content": old})
