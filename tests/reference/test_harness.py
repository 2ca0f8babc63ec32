"""The second profile: its files, its contexts, and what goes from one compaction to the next."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from compaction_reference import operations as coding_agent
from compaction_reference import session_file as coding_agent_file
from compaction_reference.errors import Refusal
from compaction_reference.harness import branch_summary, context, operations, preparation, session, storage, tokens
from compaction_reference.harness.session import Makers
from compaction_reference.harness.session_file import open_file, text_after_appends

Json = dict[str, Any]
HEADER = '{"v":4,"kind":"header","id":"s","storageVersion":1,"createdAt":0,"cwd":"/w"}\n'
OLD_HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n'
NOW = 1735689600000


@pytest.fixture
def makers() -> Makers:
    numbers: Iterator[int] = iter(range(1, 100_000))
    return Makers(lambda _: f"id{next(numbers)}", lambda: NOW)


def user(text: str) -> Json:
    return {"role": "user", "content": text, "timestamp": NOW}


def reply(text: str, stop_reason: str = "stop", *calls: Json) -> Json:
    content = [{"type": "text", "text": text}, *calls]
    return {"role": "assistant", "content": content, "stopReason": stop_reason, "timestamp": NOW}


def call(identifier: str, path: str) -> Json:
    return {"type": "toolCall", "id": identifier, "name": "read", "arguments": {"path": path}}


def result(identifier: str, text: str) -> Json:
    return {"role": "toolResult", "toolCallId": identifier, "content": [{"type": "text", "text": text}]}


def draft(message: Json) -> Json:
    return {"type": "message", "message": message}


def chain(*owns: Json) -> list[Json]:
    return [
        {"id": f"e{place}", "parentId": f"e{place - 1}" if place else None, "seq": place + 1, "timestamp": NOW, **own}
        for place, own in enumerate(owns)
    ]


def compaction(summary: str, tail: list[Json], **more: Any) -> Json:
    own = {"type": "compaction", "summary": summary, "retainedTail": tail, "tokensBefore": 1, "fromHook": False}
    return {**own, **more}


LONG_TURN = [user("q" * 40), reply("a" * 40), user("r" * 40), reply("", "toolUse", call("k", "a.txt"))]
LONG_TURN += [result("k", "x" * 400), reply("b" * 40), user("s" * 40), reply("c" * 40, "error"), reply("d" * 40)]


class TestFiles:
    def test_a_written_file_opens_with_what_was_appended(self, makers: Makers) -> None:
        drafts = [draft(user("one")), draft(reply("two")), {"type": "custom", "customType": "x", "data": None}]
        opened = open_file(text_after_appends(None, drafts, makers))
        assert [entry["type"] for entry in opened.storage.entries] == ["message", "message", "custom"]
        assert opened.storage.tips == {"main": opened.storage.entries[-1]["id"]}
        assert [entry["parentId"] for entry in opened.storage.entries] == [None, "id2", "id3"]

    def test_appending_never_changes_a_byte_that_was_there(self, makers: Makers) -> None:
        text = text_after_appends(HEADER, [draft(user("one"))], makers)
        for _ in range(5):
            longer = text_after_appends(text, [draft(reply("more"))], makers)
            assert longer.startswith(text)
            assert longer.count("\n") == text.count("\n") + 1
            text = longer

    def test_a_file_that_was_cut_anywhere_opens_with_its_finished_lines(self, makers: Makers) -> None:
        text = text_after_appends(HEADER, [draft(user("one")), draft(reply("two"))], makers)
        for end in range(len(HEADER), len(text) + 1):
            opened = open_file(text[:end])
            finished = text[:end].count("\n")
            assert len(opened.storage.entries) == max(0, finished - 2)  # header and branch come first
            assert text.startswith(opened.text)
            assert opened.text.endswith("\n")

    def test_every_refused_append_leaves_the_session_as_it_was(self, makers: Makers) -> None:
        state, tip = storage.in_memory(chain(draft(user("one"))))
        for bad in (draft(reply("", "pending")), {"type": "label"}, {"type": "branch_summary", "branchFromId": "none"}):
            with pytest.raises(Refusal):
                session.committed(bad, state, tip, makers)
        assert len(state.entries) == 1
        assert state.next_seq == 2

    @pytest.mark.parametrize("line", ["[" * 100_000, '{"kind":"entry","seq":1e999}', "\ud83d", "\0", "[[]]", "nul"])
    def test_a_hostile_line_is_refused(self, line: str) -> None:
        with pytest.raises(Refusal) as refusal:
            open_file(f"{HEADER}{line}\n")
        assert refusal.value.kind == "malformed_input"

    @pytest.mark.parametrize("key", ['"key":null,', '"key":["main"],', ""])
    def test_a_branch_without_a_name_does_no_harm(self, key: str) -> None:
        write = f'{{"kind":"value","op":"delete","namespace":"pi.branch.tip",{key}"seq":1}}'
        assert open_file(f"{HEADER}{write}\n").storage.tips == {}

    def test_a_long_session_needs_no_recursion(self) -> None:
        entries = chain(*[draft(user("x"))] * 50_000)
        assert len(storage.path_of(entries)) == 50_000


class TestImport:
    def test_a_session_of_the_coding_agent_has_the_same_context(self) -> None:
        drafts = [draft(user("one")), draft(reply("two")), {"type": "label", "targetId": "id1", "label": "x"}]
        makers = coding_agent_file.FileMakers(iter(["id1", "id2", "id3"]).__next__)
        text = coding_agent_file.text_after_appends(OLD_HEADER, drafts, makers)
        assert text is not None
        imported = open_file(text).storage
        ours = context.context_messages(imported.path(imported.tips["main"]))
        entries = coding_agent_file.open_file(text).entries
        assert ours == coding_agent.call("projection/messages", {"entries": entries})["messages"]

    def test_the_first_append_brings_a_file_that_opens_by_itself(self, makers: Makers) -> None:
        old: list[Json] = [
            {"type": "session_info", "id": "n", "parentId": None, "timestamp": "2025-01-01T00:00:00Z", "name": "N"}
        ]
        old += [
            {"type": "message", "id": f"o{place}", "parentId": old[-1]["id"], "timestamp": "2025-01-01T00:00:01Z"}
            | {"message": message}
            for place, message in enumerate(LONG_TURN)
        ]
        text = OLD_HEADER + "".join(json.dumps(entry) + "\n" for entry in old)
        before = open_file(text, makers).storage
        after = open_file(text_after_appends(text, [draft(user("more"))], makers)).storage
        assert len(after.entries) == len(before.entries) + 1
        assert after.path(after.tips["main"])[-1]["message"] == user("more")

    def test_many_compactions_of_one_range_share_their_messages(self) -> None:
        lines: list[Json] = [{"type": "message", "id": "m", "parentId": None, "message": user("x")}]
        for place in range(300):
            parent = lines[-1]["id"]
            lines.append({"type": "compaction", "id": f"c{place}", "parentId": parent, "firstKeptEntryId": parent})
        text = OLD_HEADER + "".join(json.dumps({**line, "timestamp": "2025-01-01T00:00:00Z"}) + "\n" for line in lines)
        entries = open_file(text).storage.entries
        assert all(len(entry["retainedTail"]) == 1 for entry in entries[1:])


class TestContext:
    def test_a_stored_compaction_stands_for_all_before_it(self) -> None:
        entries = chain(
            draft(user("old")), compaction("Sum.", [user("kept"), reply("gone", "aborted")]), draft(user("n"))
        )
        assert [message.get("content", message.get("summary")) for message in context.context_messages(entries)] == [
            "Sum.",
            "kept",
            "n",
        ]

    def test_no_message_is_lost_or_doubled_by_a_preparation(self) -> None:
        entries = chain(*map(draft, LONG_TURN))
        for budget in range(0, 250, 5):
            prepared = preparation.prepare(entries, {"keepRecentTokens": budget})
            assert prepared is not None
            parts = (prepared[name] for name in ("messagesToSummarize", "turnPrefixMessages", "retainedTail"))
            assert [message for part in parts for message in part] == LONG_TURN

    def test_what_was_kept_is_prepared_by_the_next_compaction(self) -> None:
        first = preparation.prepare(chain(*map(draft, LONG_TURN)), {"keepRecentTokens": 30})
        assert first is not None
        entries = chain(draft(user("q")), compaction("Sum.", first["retainedTail"]), draft(user("last")))
        second = preparation.prepare(entries, {"keepRecentTokens": 1})
        assert second is not None
        assert second["messagesToSummarize"] == first["retainedTail"]
        assert second["previousSummary"] == "Sum."
        assert second["retainedTail"] == [user("last")]

    def test_system_messages_weigh_nothing_and_are_kept(self) -> None:
        system = {"role": "system", "content": "s" * 4000, "timestamp": NOW}
        assert tokens.of_message(system) == 0
        prepared = preparation.prepare(chain(draft(system), draft(user("x" * 8))), {"keepRecentTokens": 2})
        assert prepared is not None
        assert prepared["messagesToSummarize"] == [system]
        assert prepared["tokensBefore"] == 2

    def test_absent_arguments_weigh_nine_units(self) -> None:
        for name in ("", "a", "abcd", "\U0001f600"):
            message = reply("", "toolUse", {"type": "toolCall", "id": "k", "name": name})
            units = 9 + len(name.encode("utf-16-le")) // 2
            assert tokens.of_message(message) == -(-units // 4)


class TestBranches:
    def test_what_is_left_and_what_stays_make_up_the_old_path(self) -> None:
        entries = chain(*map(draft, LONG_TURN))
        entries += [{**entries[0], "id": "b1", "parentId": "e2", "seq": 50}]
        for target in [entry["id"] for entry in entries]:
            left, shared = branch_summary.collect(entries, "e8", target)
            stays = storage.path_of(entries, shared) if shared is not None else []
            assert [*stays, *left] == storage.path_of(entries, "e8")

    def test_lists_of_an_extension_count(self) -> None:
        details = {"readFiles": ["r", 5], "modifiedFiles": None}
        own = {"type": "branch_summary", "summary": "B.", "fromId": None, "fromHook": True, "details": details}
        assert branch_summary.prepare(chain(own)).files == {"readFiles": ["r"], "modifiedFiles": []}


class TestOperations:
    def test_every_operation_that_is_declared_is_served(self) -> None:
        assert operations.describe()["operations"] == list(operations.OPERATIONS)
        assert operations.describe()["profiles"] == ["harness"]
        with pytest.raises(KeyError):
            operations.call("settings/resolve", {})

    def test_a_result_that_json_cannot_hold_is_null(self) -> None:
        usage = {"input": 1}
        assert operations.call("tokens/from_usage", {"usage": usage}) == {"tokens": None}
