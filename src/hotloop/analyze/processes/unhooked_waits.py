"""Turns waits that no hook can time into a phase: polling, and calls that block in C.

A loop that checks a flag in shared memory until another process sets it is waiting, whether it
spins or sleeps between checks. So is `lock.acquire()`, which every lock binds itself. Only samples
show them: stacks whose innermost line of the program polls or is blocked in such a call. Their part
of a phase's own time is moved to a `wait` inside it. The same is done for a blocked `transfer`,
which waits for the other end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from hotloop.analyze.samples.functions import is_program_file, unfold
from hotloop.analyze.samples.states import BLOCKED
from hotloop.capture.growing import Shard
from hotloop.capture.sample_modes import MODE_SLEEPING, MODE_WAITING_IO
from hotloop.capture.window import PhaseDelta, Samples, Window
from hotloop.phases import is_of_thread, name_at, names_of

WAIT = "wait"
#: Phases that keep their waiting.
_WAIT_THEMSELVES = frozenset({WAIT, "data.wait", "comm", "log", "checkpoint", "import", "evaluate"})
#: Calls that wait for another thread or process when they block, as a line names them.
_BLOCKS = frozenset(
    ["acquire", "wait", "wait_for", "join", "get", "recv", "recv_into", "recvfrom", "accept",
     "select", "poll", "recv_multipart", "recv_pyobj", "recv_json", "recv_string", "blpop", "brpop",
     "brpoplpush", "waitpid", "communicate"]
)  # fmt: skip

#: Between processes; on a device, a transfer waits for that.
MOVES = "transfer"

#: (stack) -> whether its innermost line of the program (polls, calls what may block).
_Verdicts = Callable[[int], tuple[bool, bool]]


def separate_waits(shard: Shard) -> Shard:
    """The shard, with the waiting that its samples show moved to `wait`."""
    verdicts = _verdicts(shard)
    moves = shard.notes.gpu is None
    windows = [_separated(window, verdicts, moves) for window in shard.windows]
    return replace(shard, windows=windows)


def _blocks(names: frozenset[str]) -> bool:
    return any(name.rpartition(".")[2] in _BLOCKS for name in names)


def _verdicts(shard: Shard) -> _Verdicts:
    own, notes = shard.notes.own_package or "", shard.notes

    @cache
    def of_stack(stack: int) -> tuple[bool, bool]:
        rows = unfold(stack, shard.stacks)
        at = next((i for i, row in enumerate(rows) if is_program_file(row.file, own)), None)
        if at is None:
            return False, False
        row = rows[at]
        polls = any(first <= row.line <= last for first, last in notes.polls.get(row.file, ()))
        calls = notes.lines.get(row.file, {}).get(str(row.line))
        # A library that blocks below that line may wait for its own threads.
        direct = not any("-packages" in inner.file for inner in rows[:at])
        return polls, direct and calls is not None and _blocks(calls.names)

    return of_stack


def _separated(window: Window, verdicts: _Verdicts, moves: bool) -> Window:
    waited: dict[str, list[int]] = {}  # path -> [all, waiting, samples that wait]
    samples: Samples = {}
    for (path, stack, mode), (count, ns) in window.samples.items():
        if name_at(path) == MOVES:
            waits = moves and mode == MODE_WAITING_IO and not is_of_thread(path)
        else:
            waits = _may_wait(path) and _is_wait(path, mode, *verdicts(stack))
        sums = waited.setdefault(path, [0, 0, 0])
        sums[0] += ns
        if waits:
            sums[1] += ns
            sums[2] += count
        known = samples.setdefault((_inside(path) if waits else path, stack, mode), [0, 0])
        known[0] += count
        known[1] += ns
    moved = {path: (ns / whole, count) for path, (whole, ns, count) in waited.items() if ns}
    return replace(window, phases=_moved(window, moved), samples=samples) if moved else window


def _moved(window: Window, shares: dict[str, tuple[float, int]]) -> dict[str, PhaseDelta]:
    """The phases with these shares of their own times in a `wait` below them."""
    phases = dict(window.phases)
    for path, (share, count) in shares.items():
        delta = phases.get(path)
        if delta is None:
            continue
        ns = round(share * delta.self_ns)
        phases[path] = replace(delta, self_ns=delta.self_ns - ns)
        into = replace(phases.get(_inside(path), PhaseDelta()))
        # How often it waited is not known: a sample is a moment of some wait.
        into.add(PhaseDelta(count, ns, ns, first_ns=delta.first_ns, last_ns=delta.last_ns))
        phases[_inside(path)] = into
    return phases


def _inside(path: str) -> str:
    return f"{path}/{WAIT}" if path else WAIT


def _may_wait(path: str) -> bool:
    return not is_of_thread(path) and not _WAIT_THEMSELVES & set(names_of(path))


def _is_wait(path: str, mode: int, polls: bool, blocks: bool) -> bool:
    """Polling is, anywhere; a call that blocks is unless an environment's simulator is called."""
    blocked = blocks and mode in BLOCKED and mode != MODE_SLEEPING
    return polls or (blocked and not any(name.startswith("env.") for name in names_of(path)))
