"""Tables that belong to the specification: beside this module in a wheel, in `spec/` in a checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_table(file_name: str) -> Any:
    """What the JSON file holds."""
    beside = Path(__file__).with_name(file_name)
    path = beside if beside.exists() else Path(__file__).parents[2] / "spec" / file_name
    return json.loads(path.read_text("utf-8"))
