"""What the replay server has at which path: the cases, and pages that describe them without their labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from compaction_conformance.corpus.cases import MODEL, Case
from compaction_conformance.corpus.replay_http import Request, page, refusal
from compaction_conformance.schema_words import printable

_ID = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*", re.ASCII)
_SHOWN = 80


class Site:
    """`find` gives a case, or the bytes of a page."""

    def __init__(self, cases: Iterable[Case], url: str) -> None:
        self._cases = {case.id: case for case in cases}
        self._url = url

    def find(self, request: Request) -> Case | bytes:
        """The case that answers a request, or the page that does."""
        path = unquote(request.path, errors="replace")
        if path == "/":
            return self._get(request, {"cases": [self._about(case) for case in self._cases.values()]})
        head, _, rest = path.removeprefix("/case/").partition("/")
        if not path.startswith("/case/"):
            return refusal(404, "unknown_path", f"there is nothing at {_shown(path)}; / lists the cases")
        if not _ID.fullmatch(head) or ".." in rest.split("/"):
            head = path if ".." in path.split("/") else head
            text = f"{_shown(head)} is no case id (small letters, digits, dots, hyphens); / lists the cases"
            return refusal(404, "bad_id", text)
        case = self._cases.get(head)
        if case is None:
            return refusal(404, "unknown_case", f"there is no case {_shown(head)}; / lists the cases")
        if not rest and request.method != "POST":
            return self._get(request, self._about(case))
        if request.method != "POST":
            text = f"{_shown(request.method)} is not answered here; POST gets the response of the case"
            return refusal(405, "bad_method", text)
        return case

    def _get(self, request: Request, value: object) -> bytes:
        if request.method == "GET":
            return page(200, value)
        return refusal(405, "bad_method", f"{_shown(request.method)} is not answered here; GET is")

    def _about(self, case: Case) -> dict[str, Any]:
        return {
            "id": case.id,
            "api": case.api,
            "provider": case.provider_id,
            "model": MODEL,
            "contextWindow": case.context_window,
            "baseUrl": f"{self._url}/case/{case.id}",
        }


def _shown(text: str) -> str:
    return f'"{printable(text[:_SHOWN])}"'
