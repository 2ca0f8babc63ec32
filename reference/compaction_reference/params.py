"""What the params of a request have to be before an operation works on them.

This is about the members that an operation takes by name. What is inside of them comes from files and may be damaged:
then the rules of the chapters say what happens.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from .ecma import is_number, is_safe_integer
from .errors import malformed
from .types import Json

_KINDS: dict[str, Callable[[Any], bool]] = {
    "a list": lambda value: isinstance(value, list),
    "an object": lambda value: isinstance(value, dict),
    "text": lambda value: isinstance(value, str),
    "text or null": lambda value: value is None or isinstance(value, str),
    "an object or null": lambda value: value is None or isinstance(value, dict),
    "a number": is_number,
    "a number or null": lambda value: value is None or is_number(value),
    "a whole number": is_safe_integer,
}

# One name means the same in every operation. `usage`, `message`, `previousDetails` and `leafId` may be anything.
_WANTED = {
    **dict.fromkeys(("entries", "messages", "drafts", "replies", "readFiles", "modifiedFiles"), "a list"),
    **dict.fromkeys(("settings", "global", "project", "scenario", "draft", "retry", "sourceContext"), "an object"),
    **dict.fromkeys(("contentBase64", "targetId", "errorMessage", "customInstructions", "thinkingLevel"), "text"),
    "content": "text or null",
    "model": "an object or null",
    **dict.fromkeys(("startIndex", "endIndex", "entryIndex"), "a whole number"),
    **dict.fromkeys(("tokenBudget", "reserveTokens"), "a number"),
    **dict.fromkeys(("keepRecentTokens", "contextTokens", "contextWindow", "desiredMaxOutput"), "a number or null"),
}

# `overflow/classify` asks a provider, and names the model alone.
_WANTED_OF_PROVIDER = {
    **dict.fromkeys(("baseUrl", "api", "provider", "model"), "text"),
    **dict.fromkeys(("timeoutMs", "contextWindow"), "a number"),
}


def checked(params: Any) -> Json:
    """The params, with places in a list as integers. Refuses (`malformed_input`) what no operation could work on; a
    member that is missing shows when it is asked for."""
    if not isinstance(params, dict):
        raise malformed("params is no object")
    wanted = _WANTED_OF_PROVIDER if "baseUrl" in params else _WANTED
    for name, value in params.items():
        if name in wanted and not _KINDS[wanted[name]](value):
            raise malformed(f"{name} is not {wanted[name]}")
    places = {name: int(params[name]) for name in params if _WANTED.get(name) == "a whole number"}
    return _Params(params | places)


class _Params(dict[str, Any]):
    """Params that refuse when a member is asked for and missing."""

    def __missing__(self, name: str) -> Any:
        raise malformed(f"{name} is missing")


def file_content(params: Json) -> str | bytes | None:
    """The session file that the params carry: as text, as bytes, or none (`null`)."""
    if "contentBase64" not in params:
        return params["content"]  # type: ignore[no-any-return]
    try:
        return base64.b64decode(params["contentBase64"], validate=True)
    except ValueError as error:
        raise malformed(f"contentBase64 is no base64: {error}") from None
