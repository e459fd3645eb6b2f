"""Which thread of which process trains: the one that a report is about.

A window, a server or a notebook keeps the main thread for itself; a program may start its trainer
as a process and wait for it. Where the main one did next to nothing of the training loop and
another did it, the two change places: what that one did is the run, and the main one stands beside
it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hotloop.capture.growing import Shard
from hotloop.capture.window import Window
from hotloop.words import REGION_LOOP, flags_of

#: One that did less of the loop than this part of what another did, does not train.
NEXT_TO_NOTHING = 0.02

#: What the main process is called that only started the one that trains.
LAUNCHER = "launcher"
#: The note that says which process that was.
TRAINS_IN = "trains_in"

_MAIN = ""


def training_first(shards: list[Shard]) -> list[Shard]:
    """The shards of a run, that of the process which trains in front, as the main one."""
    shards = [_training_thread_first(shard) for shard in shards]
    trained = [_trained(shard).get(_MAIN, 0) for shard in shards]
    if max(trained) == 0 or trained[0] > NEXT_TO_NOTHING * max(trained):
        return shards
    trainer, launcher = shards[trained.index(max(trained))], shards[0]
    remark = f"The program trains in {trainer.role}, a process that it started: figures are of it."
    main = replace(
        trainer,
        # What only the first process is told: the command, what the machine is like.
        header={**launcher.header, **trainer.header, "role": launcher.role},
        notes={
            **launcher.notes,
            **trainer.notes,
            TRAINS_IN: trainer.role,
            "remarks": [*_texts(launcher.notes.get("remarks")), remark],
        },
    )
    beside = replace(launcher, header={**launcher.header, "role": LAUNCHER})
    return [main, beside, *(each for each in shards[1:] if each is not trainer)]


def _texts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _training_thread_first(shard: Shard) -> Shard:
    trained = _trained(shard)
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


def _trained(shard: Shard) -> dict[str, int]:
    """Thread -> nanoseconds in phases with which a training loop begins, their waiting included."""
    trained: dict[str, int] = {}
    for window in shard.windows:
        for path, delta in window.phases.items():
            if _trains(path):
                thread = _thread_of(path)
                trained[thread] = trained.get(thread, 0) + delta.elapsed_ns
    return trained


def _trains(path: str) -> bool:
    """Whether a path is one of those phases, and not inside another of them."""
    *above, name = (bool(flags_of(name) & REGION_LOOP) for name in path.split("/"))
    return name and not any(above)


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
