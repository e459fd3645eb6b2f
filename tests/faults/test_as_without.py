"""Signals, threads and exits: a program behaves under `hotloop run` as under `python`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import Hotloop

#: A loop of a second and a half, so that every thread of hotloop runs and a window is written.
LOOP = """\
import os, signal, sys, threading, time
from hotloop import count, profile

def loop(seconds=1.5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with profile("env.step"):
            time.sleep(0.002)
        count("env_steps")
"""

PROGRAMS = {
    "the SIGTERM handler is Python's": """
print(signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGTERM, signal.SIG_DFL))
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGURG))
""",
    "a handler that chains the previous one": """
previous = signal.getsignal(signal.SIGTERM)
def handler(number, frame):
    if callable(previous):
        previous(number, frame)
    print("checkpoint written", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, handler)
loop(0.2)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)
""",
    "SIGTERM of itself": """
loop(0.2)
print("before", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)
""",
    "SIGTERM inside a long native call": """
loop(0.2)
read, write = os.pipe()
child = os.fork()
if child == 0:
    import ctypes
    sleep = ctypes.PyDLL(None).sleep  # holds the GIL
    os.write(write, b"x")
    sleep(20)
    os._exit(3)
os.read(read, 1)
time.sleep(0.3)
begin = time.monotonic()
os.kill(child, signal.SIGTERM)
print(os.waitpid(child, 0)[1], time.monotonic() - begin < 5)
""",
    "a forked worker that is terminated": """
import multiprocessing
def work():
    time.sleep(60)
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
time.sleep(0.3)
worker.terminate()
worker.join(5)
print(worker.is_alive(), worker.exitcode)
""",
    "every thread is joined": """
threading.Thread(target=loop).start()
loop()
while threading.active_count() > 1:
    time.sleep(0.01)
for thread in threading.enumerate():
    print(thread.name)
    if thread is not threading.main_thread():
        thread.join()
""",
    "blocked signals wait for sigwait": """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP})
loop(1.2)
for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
    os.kill(os.getpid(), number)
    time.sleep(0.05)
    print(signal.sigwait({number}).name)
print(sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, ())))
""",
    "signals blocked before the program begins": """
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
child = os.fork()
if child == 0:
    print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)
    os._exit(4)
print(os.waitpid(child, 0)[1])
""",
    "os._exit while ending fails": """
import hotloop
core = hotloop.get_profiler()
def fails(*args):
    raise RuntimeError("no")
core.close_window = core.notes = core.disable = fails
loop(0.1)
print("leaving", flush=True)
os._exit(9)
""",
    "strange values": """
import hotloop
with profile("a", category=object()):
    pass
with profile("b\\ud800"):
    pass
hotloop.get_profiler().mark("x", object())
hotloop.get_profiler().categories[("no", "text")] = {1, 2}
loop(1.2)
print("done")
""",
    "os._exit is the program's own": """
import pickle
from os import _exit
print(os._exit, pickle.loads(pickle.dumps(os._exit)) is os._exit, _exit is os._exit)
print(type(os._exit), os._exit.__module__, os._exit.__text_signature__)
for wrong in ((), ("x",), (1, 2)):
    try:
        os._exit(*wrong)
    except TypeError as error:
        print(error)
loop(0.1)
sys.stdout.flush()
_exit(status=8)
""",
    "the environment, but for what children need": """
show = "import os; print(sorted(set(os.environ) - {'HOTLOOP_SESSION', 'PYTHONPATH'}))"
exec(show)
sys.stdout.flush()
import subprocess
subprocess.run([sys.executable, "-c", show])
print(sys.path, sys.flags, sys.argv)
""",
    "an exit from a thread": """
def leave():
    time.sleep(0.2)
    os._exit(5)
threading.Thread(target=leave).start()
loop()
""",
    "no threads after fork": """
loop(0.2)
child = os.fork()
if child == 0:
    loop(1.2)
    print([t.name for t in threading.enumerate()], flush=True)
    sys.exit(6)
print(os.waitpid(child, 0)[1])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_without_hotloop(name: str, hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LOOP + PROGRAMS[name])
    plain = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
    )
    under = hotloop("run", "-q", "-o", "cap", "program.py", timeout=60)
    assert (under.returncode, under.stdout) == (plain.returncode, plain.stdout)
    assert _without_ours(under.stderr) == plain.stderr


def _without_ours(text: str) -> str:
    return "".join(x for x in text.splitlines(True) if not x.startswith("hotloop: "))
