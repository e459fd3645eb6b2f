"""Everything that the native core can do, at once: what a sanitizer or valgrind watches.

    python stress.py NATIVE SECONDS [native-threads]

NATIVE is the compiled core to use. Threads start and end, generators and tasks are left half way,
the garbage collector runs in a loop, processes fork, snapshots are taken, and the sampler looks as
often as it can. At the end it says how much of each it did; figures that do not add up are an error.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib.util
import os
import sys
import threading
import time
from collections import Counter
from typing import Any

done: Counter[str] = Counter()


def load(path: str) -> Any:
    """The core from that file, in the place where hotloop looks for its own."""
    name = "hotloop.measure._native"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class InCycle:
    """Enters a region as the garbage collector frees it."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.me = self

    def __del__(self) -> None:
        with self.core.profile("__del__"), self.core.profile("deeper"):
            done["destructors"] += 1


def recurse(core: Any, depth: int) -> None:
    with core.profile(f"level {depth % 7}"):
        if depth:
            recurse(core, depth - 1)
        else:
            InCycle(core)


def numbers(core: Any) -> Any:
    for number in range(5):
        with core.profile("generator"):
            yield number


def work(core: Any, rounds: int) -> None:
    """One short-lived thread."""
    left_open = []
    for number in range(rounds):
        with core.profile("work"), core.profile("inner"):
            core.count("steps")
            recurse(core, number % 40)
        generator = numbers(core)
        next(generator)
        if number % 3:
            generator.close()
        else:
            left_open.append(generator)  # closed by another thread, or by the collector
        done["rounds"] += 1
    core.region("left open").enter()


def threads(core: Any) -> None:
    started = [threading.Thread(target=work, args=(core, 5)) for _ in range(16)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    done["threads"] += len(started)


def native_threads(core: Any) -> None:
    """Threads that Python has not made: they make their state before they have the GIL."""
    system = ctypes.CDLL(None)

    def called(_: Any) -> int:
        with core.profile("native thread"):
            done["native threads"] += 1
        return 0

    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(called)
    started = [ctypes.c_ulong() for _ in range(40)]
    for thread in started:
        system.pthread_create(ctypes.byref(thread), None, call, None)
    for thread in started:
        system.pthread_join(thread, None)


def own_thread(core: Any, native: Any, pauses: list[float | None]) -> Any:
    """A thread that Python knows of only during its calls, which are as many as there are pauses."""

    def step() -> float | None:
        with core.profile("own thread"):
            done["calls of own threads"] += 1
            return pauses.pop()

    thread = native.OwnThread(step)
    thread.start(0.0)
    return thread


def own_threads(core: Any, native: Any) -> None:
    """Some end, and are forgotten at once; some are woken."""
    for _ in range(5):
        own_thread(core, native, [None, 0.0, 0.0001])
    woken = [own_thread(core, native, [None, 1e9, 0.0]) for _ in range(5)]
    for thread in woken:
        while not thread.join(0.0002):
            thread.wake()


def stay(core: Any, stop: threading.Event) -> None:
    """A thread that is always in a region: it must not be mistaken for a dead one."""
    with core.profile("stays"):
        while not stop.is_set():
            with core.profile("inside"):
                time.sleep(0.0005)
            done["stays"] += 1


def tasks(core: Any) -> None:
    async def task(number: int) -> None:
        with core.profile(f"task {number % 5}"):
            await asyncio.sleep(0)
            with core.profile("inner"):
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(task(number) for number in range(100)))

    with core.profile("tasks"):
        asyncio.run(main())
    done["tasks"] += 100


def exits(core: Any) -> None:
    """Regions that end where they should not, and names without end."""
    first, second = core.region("first"), core.region("second")
    first.enter(), second.enter(), first.exit(), second.exit(), second.exit()
    core.disable()
    core.enable()
    for number in range(50):
        with core.profile(f"name {done['exits']} {number}"):
            pass
    try:
        core.region("raises").wrap(lambda: 1 / 0)()
    except ZeroDivisionError:
        pass
    core.region("noted").wrap(lambda *a, **k: a, after=lambda *a, **k: 1 / 0)(1, 2, x=3)
    done["exits"] += 1


def rests(core: Any) -> None:
    """Stretches of a loop with a recursion, and hooks that come and go while others rest."""

    def deep(depth: int) -> int:
        return deep(depth - 1) if depth else 0

    def head() -> None:
        deep(100)

    hooks = [
        core.attach(deep, core.region("deep").wrap),
        core.attach(head, core.region("stretch head").wrap),
    ]
    core.stretches("stretch head", 0, 1, 2, ["deep", "stretch head"], frozenset({"steps"}))
    for _ in range(10):
        head()
        hooks.append(core.attach(deep, lambda inner: lambda *args: inner(*args)))
        hooks.pop(0 if len(hooks) > 6 else -1)()
        core.count("steps", 1)
        done["rests"] += core.resting
    for detach in hooks:
        detach()
    # What follows runs in a stretch or between two, as it happens.


def chains(core: Any) -> None:
    """Functions of one region that call each other, in two threads, by changing ways in."""

    def inner() -> None:
        done["inner"] += 1

    def middle() -> None:
        inner()

    def outer() -> None:
        middle()

    def call(*ways: Any) -> None:
        for way in ways:
            for _ in range(300):
                way()

    region = core.region("chain")
    detach = [
        core.attach(each, lambda original: region.wrap(original, after=work_after, outermost=True))
        for each in (inner, middle, outer)
    ]
    other = threading.Thread(target=call, args=(outer, middle, outer))
    other.start()
    call(outer, inner, outer)
    detach.pop(1)()
    call(outer)
    other.join()
    for undo in detach:
        undo()
    done["chains"] += 1


def work_after(*_: object) -> None:
    """A note."""


def fork(core: Any, sampler: Any, native: Any) -> None:
    """A child in the middle of a region, which samples and counts on its own."""
    with core.profile("forks"):
        child = os.fork()
        if child == 0:
            core.after_fork()
            sampler.after_fork()
            own = native.Sampler(core, 50_000)
            own.start()
            threads(core)
            own_threads(core, native)
            core.snapshot()
            own.stop()
            own.drain()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    done["forks"] += 1


class Network:
    """What a program calls, in the manner of torch's modules."""

    _compiled_call_impl: Any = None

    def forward(self, rows: Any, mask: Any = None) -> Any:
        return rows

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)


class Rows:
    """What it is called with, in the manner of a tensor."""

    shape = (4, 2)
    is_cpu = True
    is_meta = False
    device = "here"
    nbytes = 32

    def move(self) -> Any:
        return self


class Batch(Rows):
    """More rows than there are environments."""

    shape = (256, 2)


class Elsewhere(Rows):
    """The same on another device."""

    is_cpu = False
    device = "there"

    def move(self) -> Any:
        return Rows()


class Loop:
    """A training loop without a library, as the hooks see it: all of it in C where there is a way."""

    def __init__(self, core: Any, native: Any) -> None:
        self.core = core
        self.order = native.EventOrder(
            core,
            threading.get_ident(),
            lambda event, where: [core.region("policy.act"), *[core.region("buffer.add")] * 8],
            lambda before, after, where: None,
        )
        self.network, self.rows = Network(), Rows()
        self.learning = native.Updates(
            self.order,
            lambda loss: None,
            lambda buffer: None,
            lambda _: ("steps of it", "time of it"),
        )
        self.batch = Batch()
        self.networks = native.Networks(
            self.order,
            self.learning,
            lambda kind: None,
            lambda values: 1,
            lambda: done["events"] % 20 < 10,
            lambda event, result: None,
            (),
            Rows,
        )
        self.networks.take(Network.__call__)
        returns = native.Returns(core, lambda *_: None, lambda *_: None)
        returns.inspect_resets(lambda *_: None, lambda result, env, passed: 3)
        self.after_reset = returns.after_reset
        steps = native.Steps(core, self.order, returns, lambda _: None, lambda *_: None, -1)
        self.step = core.region("env.step").wrap(self._step, after=steps)
        kept = native.Transfers(core, lambda file: file == __file__, lambda: None)
        self.there, self.kept = Elsewhere(), kept
        self.move = native.TensorMethod(kept, Rows.move, ".item()", True, True, True, None, None)
        self.fetch = native.TensorMethod(
            kept, Elsewhere.move, ".cpu()", False, False, True, None, lambda *_: True
        )

    def _step(self, env: Any) -> Any:
        done["steps"] += 1
        return self.rows, 1.0, done["steps"] % 10 == 0, False, {}

    def events(self) -> None:
        for kind in range(8):
            self.order.happened(kind)
            self.network(self.rows)
            self.network(self.batch)
            self.network([self.batch], mask=self.rows)
            self.order.purpose(done["events"] + kind, kind % 2 == 0, done["events"] % 300)
            self.move(self.rows)
            self.fetch(self.there)
            self.after_reset(None, self)
            self.step(self)
        self.order.stepped(4)
        with self.core.profile("learn"):
            self.order.happened(4)
            self.network(self.rows)
            self.order.happened(5)
        with self.core.profile("collect"):
            self.order.happened(0)
        self.learn()
        self.kept.seen(f"read {done['events'] % 700}", 4, True)
        self.kept.lines()
        self.networks.skipped()
        if done["events"] % 7 == 0:
            self.order.forget_names()
        done["events"] += 10

    def learn(self) -> None:
        learning, turn = self.learning, done["events"]
        learning.after_rollout()
        learning.after_sample(None, self, batch_size=turn % 100)
        for network in range(turn % 90):
            learning.forward(network, turn)
        learning.after_forward()
        learning.after_backward(None, "loss")
        learning.after_minibatch(None, self, [1, 2])
        learning.after_step(None, self.rows)
        learning.optimizer(turn)


def watch(core: Any, sampler: Any, stop: threading.Event) -> None:
    """What the recorder does, without its pauses."""
    while not stop.is_set():
        for _ in range(50):
            _, rows, _, _ = core.snapshot()
            assert all(row[2] < 10**12 for row in rows), "a time that cannot be"
            done["snapshots"] += 1
        core.nodes()
        core.slices()
        sampler.drain()
        core.trace(100 if done["snapshots"] % 2 else 0)
        gc.collect(done["snapshots"] % 3)
        done["snapshots"] += 1
        time.sleep(0.001)


def main(native_path: str, seconds: float) -> None:
    native = load(native_path)
    core = native.Core(describe=lambda name: 1 if name == "collect" else 0, on_loop=lambda: None)
    core.enable()
    sampler = native.Sampler(core, 50_000)
    sampler.start()
    loop = Loop(core, native)
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(core, sampler, stop), daemon=True)
    watcher.start()
    staying = [threading.Thread(target=stay, args=(core, stop), daemon=True) for _ in range(3)]
    for thread in staying:
        thread.start()
    # Calls at any moment, that of a fork among them.
    ticking = own_thread(core, native, [None] + [0.0003] * 10**6)
    end = time.monotonic() + seconds
    while time.monotonic() < end or not done["forks"]:
        rests(core)
        chains(core)
        threads(core)
        native_threads(core)
        own_threads(core, native)
        tasks(core)
        exits(core)
        for _ in range(20):
            loop.events()
        fork(core, sampler, native)
        time.sleep(0.002)  # blocked: the sampler answers for the main thread
        done["turns"] += 1
    stop.set()
    watcher.join()
    for thread in staying:
        thread.join()
    sampler.stop()
    assert not ticking.join(0.0)
    # `exits` leaves a region twice, once a turn; nothing else may come out of order.
    assert core.unmatched == done["turns"], f"{core.unmatched} exits for {done['turns']}"
    core.snapshot()
    for _ in range(3):
        short = native.Core()
        short.enable()
        with short.profile("short-lived"):
            work(short, 3)
        done["cores"] += 1
    loop.networks.give_back()
    del short, loop
    gc.collect()
    print("clean:", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))


def only_native_threads(native_path: str, seconds: float) -> None:
    """Threads come from native code while others stay, and snapshots look at them all the time."""
    core = load(native_path).Core()
    core.enable()
    sys.setswitchinterval(1e-4)
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            core.snapshot()
            done["snapshots"] += 1

    running = [threading.Thread(target=stay, args=(core, stop), daemon=True) for _ in range(2)]
    running.append(threading.Thread(target=look, daemon=True))
    for thread in running:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        native_threads(core)
    stop.set()
    for thread in running:
        thread.join()
    assert core.unmatched == 0, f"{core.unmatched} times a thread was taken for dead"
    print("clean:", ", ".join(f"{count} {name}" for name, count in sorted(done.items())))


if __name__ == "__main__":
    if sys.argv[3:] == ["native-threads"]:
        only_native_threads(sys.argv[1], float(sys.argv[2]))
    else:
        main(sys.argv[1], float(sys.argv[2]))
