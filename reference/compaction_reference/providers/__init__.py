"""How an agent asks a provider, and what it makes of the response (chapter RSP).

Read it in this order: `client` puts all together. `target` says who is asked, `connection` sends the one request and
bounds what comes back, `reply` is the assistant message while it arrives, `failure` holds the words of failures that
several styles share, `events` splits a stream. Then there is one module for each wire style: its request, its reading
of an error status, its reading of a stream. `binary_stream` and `complaint` are details of one wire and one language.

This is the only part of the reference that needs a library (httpx, the extra `providers`).
"""

from .client import STYLES, ask, classify
from .target import Target

__all__ = ["STYLES", "Target", "ask", "classify"]
