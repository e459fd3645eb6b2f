"""Packing bytes into text, and unpacking text that cannot be trusted."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from hotloop.capture.packing import DAMAGE, packed, unpacked


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 40])
def test_unpacking_gives_what_was_packed(data: bytes) -> None:
    text = packed(data)
    assert json.loads(json.dumps(text)) == text
    assert unpacked(text, most=20_000) == data


@pytest.mark.parametrize(
    "text",
    [
        None,
        12,
        b"bytes",
        "not base64!",
        base64.b64encode(b"not compressed").decode(),
        base64.b64encode(zlib.compress(b"cut off" * 90)[:-6]).decode(),
    ],
)
def test_anything_else_is_damage(text: object) -> None:
    with pytest.raises(DAMAGE):
        unpacked(text, most=20_000)


def test_a_small_text_cannot_unpack_to_gigabytes() -> None:
    with pytest.raises(DAMAGE):
        unpacked(packed(bytes(30_000)), most=20_000)
