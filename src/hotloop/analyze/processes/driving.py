"""A main process that gives tasks to workers that do not learn.

An evolution strategy scores its candidates in a `Pool` or in Ray actors: the workers step the
environments, and the main process only draws candidates, waits and updates. The training loop is
still in the main process, because each generation begins and ends there. A launcher, in contrast,
waits once for each process that it started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hotloop.analyze.timeline import offset_s, split_at, split_timeline
from hotloop.capture.reader import Shard
from hotloop.capture.window import Window
from hotloop.phases import is_of_thread

#: Waits of the main process for each worker from which it hands out tasks again and again.
WAITS_A_WORKER = 2
#: Workers that hand results back wait about as often as the main process hands out tasks.
MOST_POLLS = 20
#: The first task was handed out at most this long before the first step that was taken for it.
FIRST_TASK_S = 1.0


def hands_out_tasks(main: Shard, workers: Sequence[Shard]) -> bool:
    """Whether the main process waits for results again and again, and the workers for tasks."""
    if not workers or _waits(main) < WAITS_A_WORKER * len(workers):
        return False
    actors = set(main.notes.waited_for)
    fewest = min(_waits(worker) for worker in workers)
    if not actors and _waits(main) > MOST_POLLS * max(fewest, 1) * len(workers):
        return False  # a launcher that asks again and again whether they live
    return all(
        _waits(worker) > 1 or any(worker.role.startswith(name) for name in actors)
        for worker in workers
    )


def with_loop_of(workers: Sequence[Shard], main: Shard) -> Shard:
    """The main process, with the loop from its first task to the last step of its workers."""
    begin, end = _span(workers, main)
    windows: list[Window] = []
    for window in main.windows:
        first = window.phases["wait"].first_ns if "wait" in window.phases else 0
        handed_out = window.begin_ns < first < window.end_ns and begin - first < FIRST_TASK_S * 1e9
        if handed_out and not any(known.loop_last_ns for known in windows):
            before, window = _threads_later(*split_at(window, first))
            window.counters, before.counters = before.counters, {}
            window.gauges, before.gauges = before.gauges, {}
            windows.append(before)
            begin = first
        is_loop = window.end_ns > begin and window.begin_ns < end
        windows.append(replace(window, loop_last_ns=min(window.end_ns, end)) if is_loop else window)
    return replace(main, windows=windows)


def _threads_later(before: Window, after: Window) -> tuple[Window, Window]:
    """A pool's threads begin with its first task."""
    threads = {path: d for path, d in before.phases.items() if path.startswith("@thread-")}
    left = {path: d for path, d in before.phases.items() if path not in threads}
    return replace(before, phases=left), replace(after, phases={**after.phases, **threads})


def _span(workers: Sequence[Shard], main: Shard) -> tuple[int, int]:
    """When the workers' loops begin and end, on the main process's clock."""
    begins, ends = [], []
    for worker in workers:
        later_ns, loop = round(offset_s(worker, main) * 1e9), split_timeline(worker.windows)
        begins.append(loop.loop_begin_ns + later_ns)
        ends.append(loop.loop_end_ns + later_ns)
    if any(worker.end is None for worker in workers):  # terminated: its last work is not known
        ends += [w.end_ns for w in main.windows if "wait" in w.phases and w.phases["wait"].calls]
    return min(begins), max(ends)


def _waits(shard: Shard) -> int:
    """How often the main thread waited for others."""
    return sum(
        delta.calls
        for window in shard.windows
        for path, delta in window.phases.items()
        if path.rpartition("/")[2] == "wait" and not is_of_thread(path)
    )
