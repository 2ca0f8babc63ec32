"""What goes into an operation and comes out of it, in this process as over standard input and output."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from compaction_reference import operations
from compaction_reference.__main__ import Server
from compaction_reference.harness import operations as harness_operations

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}'
ENTRY = '{{"type":"custom","id":"c1","parentId":null,"timestamp":"2025-01-01T00:00:01Z","customType":"x","data":{}}}'


INFINITE = '[1e999,{"n":-1e999}]'


def deep_file(levels: int) -> str:
    return f"{HEADER}\n{ENTRY.format('[' * levels + ']' * levels)}\n"


def test_a_number_that_json_cannot_hold_is_null() -> None:
    parsed = operations.call("session/parse", {"content": f"{HEADER}\n{ENTRY.format(INFINITE)}\n"})
    assert parsed["entries"][0]["data"] == [None, {"n": None}]
    json.dumps(parsed, allow_nan=False)


@pytest.mark.parametrize("profile", [operations, harness_operations])
def test_a_count_that_is_no_number_is_null_in_every_profile(profile: Any) -> None:
    assert profile.call("tokens/from_usage", {"usage": {"input": 1}}) == {"tokens": None}


def test_a_line_of_a_thousand_and_one_levels_is_kept_and_the_limit_of_calls_is_what_it_was() -> None:
    limit = sys.getrecursionlimit()
    written = operations.call(
        "session/write", {"content": deep_file(1001), "drafts": [{"type": "custom", "customType": "y"}]}
    )
    assert json.loads(written["content"].splitlines()[-1])["parentId"] == "c1"
    assert sys.getrecursionlimit() == limit


def test_a_line_of_a_hundred_thousand_levels_is_trouble_told_in_one_sentence_and_the_server_goes_on() -> None:
    server = Server()
    params = {"content": deep_file(100_000)}
    request = {"jsonrpc": "2.0", "id": 1, "method": "session/parse", "params": params}
    trouble = server.answer(json.dumps(request).encode())
    assert trouble["error"] == {"code": -32603, "message": "the params are nested too deeply, or too large"}
    after = server.answer(b'{"jsonrpc":"2.0","id":2,"method":"session/path","params":{"entries":[]}}')
    assert after == {"jsonrpc": "2.0", "id": 2, "result": {"entries": []}}
