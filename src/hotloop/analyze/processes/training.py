"""Decides which thread of which process trains: the subject of the report.

Usually it is the main thread of the main process. But a GUI, a server or a notebook may occupy the
main thread, and a program may start its trainer as a child process and wait for it. If the main
thread or process does no training and another one does all of it, the two are swapped: the report
is about the other one and lists the main one next to it. A main process that drives workers (it
learns, chooses their actions or waits for each of their steps) stays the subject.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from hotloop.analyze.processes.collectives import separate_reductions
from hotloop.analyze.processes.driving import hands_out_tasks, with_loop_of
from hotloop.analyze.processes.received_weights import name_weights
from hotloop.analyze.processes.unhooked_waits import separate_waits
from hotloop.analyze.renamed import with_paths
from hotloop.analyze.samples.silent_loops import take_back
from hotloop.analyze.stretches.resting import whole
from hotloop.analyze.timeline import offset_s
from hotloop.capture.reader import Capture, CaptureReader, Shard
from hotloop.capture.schema import Header, Notes
from hotloop.capture.window import Window
from hotloop.phases import REGION_ASIDE, REGION_LOOP, flags_of, is_of_thread, name_at

#: A process with less than this fraction of another's loop time does not train.
NEXT_TO_NOTHING = 0.02
#: A process that acts or waits this often per step of another drives it.
DRIVES = 0.5
#: Gradient steps that make a process the one that trains, however long the main one took to start.
TRAINS = 10
#: A process trains like the busiest one if it has at least this fraction of its loop time.
AS_BUSY = 0.5
#: The run is the first process with at least this fraction of the longest loop time.
EQUAL = 0.9

#: Name of a main process that only started the one that trains.
LAUNCHER = "launcher"
#: Notes about a process's work, rather than about the machine or the command.
_OWN_NOTES = (Notes.exact_functions, Notes.memory_peaks, Notes.gpu_memory_peaks, Notes.recognised,
              Notes.places, Notes.networks, Notes.remarks)  # fmt: skip

#: A network may be called with gradients only to inspect it: that is not learning.
_LEARNS = frozenset({"learn", "learn.step", "learn.backward", "learn.optimizer"})

_MAIN = ""


@dataclass
class Work:
    """The part of one thread in training."""

    loop_ns: int = 0
    learned: int = 0
    stepped: int = 0
    acted_or_waited: int = 0
    #: Collectives: ranks have these together.
    collectives: int = 0

    def drives(self, other: Work) -> bool:
        """Whether it takes part in the work of the other."""
        return (
            self.loop_ns > NEXT_TO_NOTHING * other.loop_ns
            or self.learned > 0
            # A process that waits for a learner and does not learn only follows it.
            or (not other.learned and self.acted_or_waited >= max(DRIVES * other.stepped, 1))
        )

    def is_rank_with(self, other: Work) -> bool:
        """Whether the two reduce gradients together; one of them may mostly wait for the other."""
        return bool(self.collectives and other.collectives and self.learned and other.learned)


def training_first(shards: list[Shard]) -> list[Shard]:
    """The shards of a run; the process that trains comes first, as the main one."""
    shards = [_training_thread_first(shard) for shard in shards]
    work = [_work_of(shard).get(_MAIN, Work()) for shard in shards]
    best = _first_of_the_busiest(work)
    # The main one may have spent most of a short run on starting a cluster.
    enough = 0 if work[best].learned >= TRAINS else NEXT_TO_NOTHING * _length(shards[0])
    if work[best].loop_ns <= enough or work[0].drives(work[best]):
        return _with_ranks(shards, work)
    stepping = [s for s, w in zip(shards[1:], work[1:], strict=True) if w.stepped]
    if not work[best].learned and hands_out_tasks(shards[0], stepping):
        return [with_loop_of(stepping, shards[0]), *shards[1:]]
    trainer, launcher = shards[best], shards[0]
    peers = [
        shard.role
        for shard, other in zip(shards[1:], work[1:], strict=True)
        if shard is not trainer
        and (other.is_rank_with(work[best]) or other.loop_ns >= AS_BUSY * work[best].loop_ns)
        and bool(other.learned) == bool(work[best].learned)
        and _overlap(shard, trainer)
    ]
    remark = f"The program trains in {trainer.role}, a child process: figures are for that process."
    facts = {key: value for key, value in launcher.notes.raw.items() if key not in _OWN_NOTES}
    own = {Header.role: launcher.role, Header.command: launcher.header.command}
    about = {
        Notes.trains_in: trainer.role,
        Notes.trains_beside: peers,
        Notes.remarks: [*trainer.notes.remarks, remark],
    }
    main = replace(
        trainer,
        header=launcher.header.changed({**trainer.header.raw, **own}),
        notes=Notes({**facts, **trainer.notes.raw, **about}),
    )
    beside = replace(launcher, header=launcher.header.changed({Header.role: LAUNCHER}))
    return [main, beside, *(each for each in shards[1:] if each is not trainer)]


def _with_ranks(shards: list[Shard], work: list[Work]) -> list[Shard]:
    """The main process trains, perhaps as one of several ranks: each started by its machine."""
    main = shards[0]
    ranks = [
        shard.role
        for shard, other in zip(shards[1:], work[1:], strict=True)
        if other.is_rank_with(work[0]) and _overlap(shard, main)
    ]
    if not ranks:
        return shards
    notes = Notes({**main.notes.raw, Notes.trains_beside: ranks})
    return [replace(main, notes=notes), *shards[1:]]


class TrainingReader(CaptureReader):
    """Reads a capture that may still grow; the process that trains is the main one."""

    def read(self, final: bool = False) -> Capture:
        capture = super().read(final)
        shards = [_as_it_was(shard) for shard in capture.shards]
        return Capture(capture.folder, training_first(shards))


def _as_it_was(shard: Shard) -> Shard:
    """A shard with what no hook could measure or name."""
    return take_back(separate_reductions(name_weights(separate_waits(whole(shard)))))


def read_capture(folder: str | Path) -> Capture:
    """The capture in that folder, or a `HotloopError` that says why it cannot be read."""
    return TrainingReader(folder).read(final=True)


def _first_of_the_busiest(work: list[Work]) -> int:
    """The first of the busiest; only processes that learn count, if any does."""
    learns = any(each.learned for each in work)
    times = [each.loop_ns if each.learned or not learns else 0 for each in work]
    return next(place for place, time in enumerate(times) if time >= EQUAL * max(times))


def _length(shard: Shard) -> int:
    return shard.windows[-1].end_ns - shard.windows[0].begin_ns if shard.windows else 0


def _overlap(one: Shard, other: Shard) -> bool:
    """Whether two processes ran for most of the shorter one's time together."""
    later = offset_s(one, other) * 1e9
    together = min(later + _length(one), _length(other)) - max(later, 0.0)
    return together > 0.5 * min(_length(one), _length(other))


# -- threads --


def _training_thread_first(shard: Shard) -> Shard:
    work = _work_of(shard)
    if set(work) <= {_MAIN}:
        return shard
    names = sorted(work)
    most = names[_first_of_the_busiest([work[name] for name in names])]
    if most == _MAIN or work.get(_MAIN, Work()).drives(work[most]):
        return shard
    if work[most].loop_ns <= NEXT_TO_NOTHING * _length(shard):
        return shard
    windows, begun = [], False
    for window in shard.windows:
        # Time before the loop, above all imports, stays with the main thread.
        begun = begun or any(_is_loop(path) and _thread_of(path) == most for path in window.phases)
        windows.append(_swapped(window, most) if begun else window)
    return replace(shard, windows=windows)


def _work_of(shard: Shard) -> dict[str, Work]:
    """Thread -> its part in the training."""
    found: dict[str, Work] = {}
    for window in shard.windows:
        for path, delta in window.phases.items():
            kind, name = _kind(path), name_at(path)
            if not kind and name != "comm":
                continue
            work = found.setdefault(_thread_of(path), Work())
            work.collectives += delta.calls if name == "comm" else 0
            if kind == _BESIDE:
                work.acted_or_waited += delta.calls
                continue
            if kind == _LOOP:
                work.loop_ns += delta.elapsed_ns  # its waiting included
            work.stepped += delta.calls if name == "env.step" else 0
            work.learned += delta.calls if name in _LEARNS else 0
    return {thread: work for thread, work in found.items() if work != Work()}


#: What a path is: the outermost phase with which a loop begins, something inside one, or what
#: a process does that drives others.
_LOOP, _INSIDE, _BESIDE = "loop", "inside", "beside"


@lru_cache(maxsize=65536)
def _kind(path: str) -> str:
    *above, own = (flags_of(name) for name in path.split("/"))
    if any(flags & REGION_ASIDE for flags in above) or own & REGION_ASIDE:
        return ""
    if any(flags & REGION_LOOP for flags in above):
        return _INSIDE
    if own & REGION_LOOP:
        return _LOOP
    return _BESIDE if name_at(path) in ("policy.act", "wait") else ""


def _is_loop(path: str) -> bool:
    return _kind(path) == _LOOP


def _thread_of(path: str) -> str:
    """The name in front of a path that is not the main thread's."""
    return path.partition("/")[0] if is_of_thread(path) else _MAIN


def _swapped(window: Window, thread: str) -> Window:
    def renamed(path: str) -> str:
        of = _thread_of(path)
        if of == thread:
            return path[len(thread) + 1 :]
        return path if of else f"{thread}/{path}".rstrip("/")

    return with_paths(window, renamed)
