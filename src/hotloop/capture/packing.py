"""Packs bytes into a text that fits a line of JSON, and unpacks it without trust."""

from __future__ import annotations

import base64
import zlib

#: What unpacking damaged data raises.
DAMAGE = (ValueError, TypeError, zlib.error)


def packed(data: bytes, level: int = 6) -> str:
    """Compressed, in letters of base64."""
    return base64.b64encode(zlib.compress(data, level)).decode()


def unpacked(text: object, most: int) -> bytes:
    """What was packed; one of `DAMAGE` if it was something else or is longer than `most`."""
    if type(text) is not str:
        raise TypeError("not a packed text")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text, validate=True), most)
    if not unpacker.eof:
        raise ValueError("packed data that ends too early or too late")
    return data
