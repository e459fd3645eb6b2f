"""Shards from plain dictionaries, as a reader would decode them."""

from __future__ import annotations

from typing import Any

from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Shard
from hotloop.capture.schema import Header, Notes
from hotloop.capture.window import Window


def made_shard(
    name: str,
    header: dict[str, Any] | None = None,
    notes: dict[str, Any] | None = None,
    windows: list[Window] | None = None,
    stacks: dict[int, StackRow] | None = None,
) -> Shard:
    return Shard(name, Header(header), Notes(notes), windows or [], stacks or {})


def change_header(shard: Shard, **changes: object) -> None:
    shard.header = shard.header.changed(changes)
