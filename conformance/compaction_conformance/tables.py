"""Rows of text under a head, for a terminal: words to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head. A column whose cells all begin with a digit, a dash or nothing is one of numbers."""
    columns = [[row[place] for row in rows] for place in range(len(rows[0]))]
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(not cell or cell[0].isdigit() or cell[0] == "–" for cell in column[1:]) for column in columns]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        for row in rows
    ]
    shown = [line.rstrip() for line in lines]
    return "\n".join([shown[0], "─" * max(map(len, shown)), *shown[1:]])
