"""Texts: plain ones whose size matters, and ones that programs count or escape differently."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# Letters of one, two and three bytes, of two UTF-16 units, combining, joined; line ends, and what JSON escapes. The
# simplest one comes first: examples shrink to it.
TRICKY = 'aé😀中ß\u0301𝄞\u200d\u2028\u0085\n\t\r"\\/<>&\x7f'


def plain_texts(max_size: int = 40, *, min_size: int = 1) -> SearchStrategy[str]:
    """`a`, `aa`, … : nothing but its length can matter."""
    return st.integers(min_size, max_size).map("a".__mul__)


def tricky_texts(max_size: int = 12, *, min_size: int = 0, surrogates: bool = False) -> SearchStrategy[str]:
    """Characters outside ASCII and the basic plane, separators, quotes; with `surrogates` lone halves as well."""
    letters = st.sampled_from(TRICKY + ("\ud83d\udc00" if surrogates else ""))
    return st.lists(letters, min_size=min_size, max_size=max_size).map("".join)


def texts(max_size: int = 40, *, min_size: int = 1) -> SearchStrategy[str]:
    """Mostly plain ones; the rest tricky."""
    return st.one_of(plain_texts(max_size, min_size=min_size), tricky_texts(min(max_size, 12), min_size=min_size))


def paths() -> SearchStrategy[str]:
    """Paths of files, few enough that two calls name the same one now and then."""
    return st.sampled_from(["a", "b", "B", "a/b", "a.py", "é", "😀", "\uff5e", "/a b", "./a", "a "])
