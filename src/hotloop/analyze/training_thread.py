"""Which thread trains: a window, a server or a notebook keeps the main one for itself.

Where the main thread did next to nothing of the training loop and another thread did it, the two
change places: what that thread did is the run, and the main thread is one of those beside it.
"""

from __future__ import annotations

from dataclasses import replace

from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window
from hotloop.words import REGION_LOOP, flags_of

#: A main thread that did less of the loop than this part of what another did, does not train.
NEXT_TO_NOTHING = 0.02

_MAIN = ""


def with_training_first(capture: Capture) -> Capture:
    """The same capture; in each process the thread that trains is the main one."""
    return replace(capture, shards=[_training_first(shard) for shard in capture.shards])


def _training_first(shard: Shard) -> Shard:
    trained: dict[str, int] = {}
    for window in shard.windows:
        for path, delta in window.phases.items():
            if _trains(path):
                thread = _thread_of(path)
                trained[thread] = trained.get(thread, 0) + delta.self_ns
    if set(trained) <= {_MAIN}:
        return shard
    most = max(trained, key=lambda thread: trained[thread])
    if most == _MAIN or trained.get(_MAIN, 0) > NEXT_TO_NOTHING * trained[most]:
        return shard
    windows, begun = [], False
    for window in shard.windows:
        # What came before the loop, imports above all, is the main thread's as it was.
        begun = begun or any(_trains(path) and _thread_of(path) == most for path in window.phases)
        windows.append(_swapped(window, most) if begun else window)
    return replace(shard, windows=windows)


def _trains(path: str) -> bool:
    return bool(flags_of(path.rpartition("/")[2]) & REGION_LOOP)


def _thread_of(path: str) -> str:
    """The name in front of a path that is not the main thread's."""
    return path.partition("/")[0] if path.startswith("@thread-") else _MAIN


def _swapped(window: Window, thread: str) -> Window:
    def renamed(path: str) -> str:
        of = _thread_of(path)
        if of == thread:
            return path[len(thread) + 1 :]
        return path if of else f"{thread}/{path}".rstrip("/")

    return replace(
        window,
        phases={renamed(path): delta for path, delta in window.phases.items()},
        samples={(renamed(p), stack, mode): n for (p, stack, mode), n in window.samples.items()},
        device={renamed(path): delta for path, delta in window.device.items()},
        device_parts={renamed(path): delta for path, delta in window.device_parts.items()},
    )
