"""Packs bytes into text for a line of JSON, and unpacks untrusted text."""

from __future__ import annotations

import base64
import zlib

#: Errors raised by unpacking damaged data.
DAMAGE = (ValueError, TypeError, zlib.error)


def packed(data: bytes, level: int = 6) -> str:
    """The bytes, compressed, as base64."""
    return base64.b64encode(zlib.compress(data, level)).decode()


def unpacked(text: object, most: int) -> bytes:
    """The unpacked bytes; raises one of `DAMAGE` for invalid text, or beyond `most` bytes."""
    if type(text) is not str:
        raise TypeError("not a packed text")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text, validate=True), most)
    if not unpacker.eof:
        raise ValueError("packed data that ends too early or too late")
    return data
