"""Ray workers on machines without the capture's folder: their shards travel over Ray to the driver.

Such a worker writes its shard to its own folder and puts new parts of it into the cluster's
key-value store, once per window. The driver collects them every few seconds and when Ray shuts
down, and writes them to the capture as the worker would have. Shards only grow, so a part and its
position in the file are enough. The last second before the shutdown may be lost.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from time import monotonic

from hotloop.hooks.context import HookContext
from hotloop.hooks.protocols import Foreign, RunProcess
from hotloop.hooks.wrapping import guarded

#: The namespace in Ray's store; users of Ray cannot see it.
NAMESPACE = b"hotloop"
#: The driver asks this often; a question takes about a millisecond.
RECEIVE_EVERY_S = 5.0
#: Parts of one process that may wait for the driver: a minute or two of its windows.
MOST_WAITING = 250
#: The longest part of a file in one message; gRPC takes some megabytes.
LONGEST_PART = 1 << 20
#: What a sender may name: a file of a capture, never a path.
_FILE = re.compile(r"^[A-Za-z0-9_-]+(?:\.tail-\d+)?\.jsonl$")


class Relay:
    """Sends or receives shards, whichever end of the cluster this process is."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._sent: dict[str, int] = {}
        self._sender = ""
        self._received_at = 0.0

    def connected(self, *_: object, **__: object) -> None:
        """This process has joined a cluster."""
        process = self._context.process
        if process is None:
            return
        if process.is_away:
            # Asked here: later, the question could connect a worker again that is shutting down.
            self._sender = _sender(process)
            process.every_window(guarded(self._context, "sending shards over Ray", self._send))
        elif process.role == "main":
            process.every_window(guarded(self._context, "receiving shards", self._ask))

    def leaving(self, *_: object, **__: object) -> None:
        """The driver is about to shut its connection down."""
        process = self._context.process
        if process is not None and process.role == "main":
            receive(Path(process.folder), process.run, is_last=True)

    def _ask(self) -> None:
        if monotonic() - self._received_at >= RECEIVE_EVERY_S:
            self._received_at = monotonic()
            process = self._context.process
            if process is not None:
                receive(Path(process.folder), process.run)

    def _send(self) -> None:
        process = self._context.process
        if process is None or not (store := _store()):
            return
        folder = Path(process.folder)
        if not folder.is_dir():
            return  # nothing recorded so far
        sender = self._sender
        if len(store._internal_kv_list(f"{sender}/", namespace=NAMESPACE)) > MOST_WAITING:
            return  # nothing collects them: the driver is gone
        names = sorted(each.name for each in folder.iterdir() if _FILE.match(each.name))
        for name in names:
            self._send_file(store, folder / name, f"{sender}/{name}")
        store._internal_kv_put(f"{sender}//files", "\n".join(names), namespace=NAMESPACE)

    def _send_file(self, store: Foreign, path: Path, key: str) -> None:
        begin = self._sent.get(key, 0)
        with open(path, "rb") as file:
            file.seek(begin)
            while part := file.read(LONGEST_PART):
                store._internal_kv_put(f"{key}/{begin}", part, namespace=NAMESPACE)
                begin += len(part)
        self._sent[key] = begin


def receive(folder: Path, run: str, is_last: bool = False) -> None:
    """Write the parts that have arrived for the capture in this folder, and forget them."""
    if not (store := _store()):
        return
    keys = sorted(key.decode() for key in store._internal_kv_list(f"{run}/", namespace=NAMESPACE))
    for key in keys:
        data = store._internal_kv_get(key, namespace=NAMESPACE)
        try:
            is_list = data is not None and _take(folder, key[len(run) + 1 :], data)
        except (ValueError, OSError):
            is_list = False  # one part that cannot be kept must not stop the others
        if is_last or not is_list:
            store._internal_kv_del(key, namespace=NAMESPACE)


def _take(folder: Path, key: str, data: bytes) -> bool:
    """Keep one message; returns whether it is a list of files, which its sender replaces."""
    sender, name, begin = key.split("/")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", sender):
        raise ValueError(sender)
    if not name:
        _drop_old_tails(folder, sender, data.decode().split("\n"))
    elif _FILE.match(name):
        _write(folder / f"{sender}-{name}", int(begin), data)
    return not name


def _write(path: Path, begin: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "wb") as file:
        file.seek(begin)
        file.write(data)


def _drop_old_tails(folder: Path, sender: str, names: list[str]) -> None:
    """A tail that its writer has deleted is part of its shard by now."""
    for path in folder.glob(f"{sender}-*.tail-*.jsonl"):
        if path.name[len(sender) + 1 :] not in names:
            path.unlink(missing_ok=True)


def _sender(process: RunProcess) -> str:
    """The run, and a name for this process that no other machine has."""
    import ray

    node = ray.get_runtime_context().get_node_id()[:8]
    return f"{process.run}/{node}-{os.getpid()}"


def _store() -> Foreign:
    """Ray's key-value store, while this process is connected."""
    from ray.experimental import internal_kv as found

    internal_kv: Foreign = found
    return internal_kv if internal_kv._internal_kv_initialized() else None
