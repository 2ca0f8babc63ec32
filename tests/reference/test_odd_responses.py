"""Responses of odd shapes, read as Pi reads them."""

from __future__ import annotations

import httpx
import pytest
import respx

from compaction_reference.providers import Target, ask

SSE, JSON = "text/event-stream", "application/json"
BEDROCK = "bedrock-converse-stream"
ODD = [
    ("openai-completions", 200, SSE, "event: ping\n\ndata: [DONE]\n\n", "Unexpected end of JSON input"),
    ("openai-completions", 200, SSE, ": ping\n\ndata: [DONE]\n\n", "Stream ended without finish_reason"),
    ("openai-responses", 200, SSE, "event: ping\n\n", "Unexpected end of JSON input"),
    (
        "openai-responses",
        200,
        SSE,
        'data: {"type":["error"],"code":1,"message":"m"}\n\n',
        "OpenAI Responses stream ended before a terminal response event",
    ),
    (BEDROCK, 400, JSON, "null", "Unknown: UnknownError"),
    (BEDROCK, 400, JSON, '{"code":"","message":"m"}', ": m"),
    (BEDROCK, 400, JSON, '{"__type":"X","message":null}', "X: UnknownError"),
    (BEDROCK, 400, JSON, '{"__type":"X","message":"","Message":"n"}', "X: n"),
    (BEDROCK, 400, JSON, '{"__type":"X","message":0}', "X: UnknownError"),
]


@pytest.mark.parametrize(("api", "status", "kind", "body", "words"), ODD)
def test_an_odd_response_reads_as_it_does_in_pi(api: str, status: int, kind: str, body: str, words: str) -> None:
    with respx.mock() as router:
        router.route().mock(return_value=httpx.Response(status, headers={"content-type": kind}, content=body.encode()))
        message = ask(Target("http://127.0.0.1:9", api, "p", "m"))
    assert (message["stopReason"], message["errorMessage"]) == ("error", words)
