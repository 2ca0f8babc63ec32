"""A classifier for tests: it asks with Python's own client, and calls an overflow whatever says "too long"."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any


def describe() -> dict[str, Any]:
    return {
        "protocolVersion": 1,
        "implementation": {"name": "fake", "version": "1"},
        "editions": ["pi-0.87"],
        "profiles": ["coding-agent"],
        "operations": ["overflow/classify"],
    }


def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert method == "overflow/classify"
    if params["provider"] == "broken":
        raise RuntimeError("fake trouble")
    request = urllib.request.Request(f"{params['baseUrl']}/chat", b"{}", method="POST")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
            return {"stopReason": "stop", "errorMessage": None, "overflow": False}
    except urllib.error.HTTPError as error:
        with error:
            text = f"{error.code}: {error.read().decode()}"
    overflow = "too long" in text
    return {"stopReason": "error", "errorMessage": text, "overflow": overflow, "retryable": overflow}
