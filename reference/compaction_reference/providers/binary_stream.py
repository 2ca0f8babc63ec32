"""Amazon's event stream: length-prefixed binary messages with headers and two checksums."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .failure import Failed

_PRELUDE, _CHECKSUM = 12, 4
_TRUE, _FALSE, _BYTES, _TEXT = 0, 1, 6, 7
_SIZES = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BROKEN = "Truncated event message received."


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: its headers that are text, and its payload."""

    headers: dict[str, str]
    payload: bytes

    def text(self) -> str:
        return self.payload.decode("utf-8", "replace")


def frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    """Each message as soon as it is complete. Raises `Failed` for one that is broken or cut short."""
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= _PRELUDE:
            size = int.from_bytes(buffer[:4], "big")
            if size < _PRELUDE + _CHECKSUM:
                raise Failed("Provided message too short to accommodate event stream message overhead")
            if len(buffer) < size:
                break
            yield _frame(bytes(buffer[:size]))
            del buffer[:size]
    if len(buffer) >= 4:
        raise Failed(_BROKEN)


def _frame(message: bytes) -> Frame:
    _, header_size, prelude_sum = struct.unpack(">III", message[:_PRELUDE])
    whole_sum = int.from_bytes(message[-_CHECKSUM:], "big")
    if prelude_sum != (found := zlib.crc32(message[:8])):
        words = "The prelude checksum specified in the message"
        raise Failed(f"{words} ({prelude_sum}) does not match the calculated CRC32 checksum ({found})")
    if whole_sum != (found := zlib.crc32(message[:-_CHECKSUM])):
        raise Failed(f"The message checksum ({found}) did not match the expected value of {whole_sum}")
    payload_at = _PRELUDE + header_size
    return Frame(_headers(message[_PRELUDE:payload_at]), message[payload_at:-_CHECKSUM])


def _headers(data: bytes) -> dict[str, str]:
    """Headers of other types than text are skipped."""
    headers: dict[str, str] = {}
    at = 0
    while at < len(data):
        try:
            end = at + 1 + data[at]
            name, kind = data[at + 1 : end].decode("utf-8", "replace"), data[end]
            at = end + 1
            if kind in (_BYTES, _TEXT):
                size = int.from_bytes(data[at : at + 2], "big")
                value = data[at + 2 : at + 2 + size]
                at += 2 + size
                if kind == _TEXT:
                    headers[name] = value.decode("utf-8", "replace")
            elif kind not in (_TRUE, _FALSE):
                at += _SIZES[kind]
        except LookupError:
            raise Failed("Unrecognized header type tag") from None
    return headers
