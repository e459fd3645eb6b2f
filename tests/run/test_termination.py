"""SIGTERM: no handler that Python can see, and the last window where there is time for it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from real_runs import Hotloop

WORKERS = """\
import os, signal, sys, time
import multiprocessing
from hotloop import count

def work(ready, how):
    for _ in range(20):
        count("env_steps")
    ready.set()
    if how == "waits":
        time.sleep(60)
    while True:
        pass

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    worker = context.Process(target=work, args=(ready, sys.argv[1]))
    worker.start()
    ready.wait(30)
    time.sleep(0.2)
    begin = time.monotonic()
    worker.terminate()
    worker.join(5)
    print(worker.exitcode, time.monotonic() - begin < 2)
"""


def lines_of(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for path in folder.glob("work-*.jsonl")  # named after its target
        for line in path.read_text().splitlines()
    ]


@pytest.mark.parametrize("how", ["waits", "computes"])
def test_a_terminated_worker(
    how: str, hotloop: Hotloop, tmp_path: Path, region_clock: ModuleType
) -> None:
    (tmp_path / "program.py").write_text(WORKERS)
    pure = {"HOTLOOP_PURE": "1"} if region_clock.__name__.endswith("twin") else {}
    done = hotloop("run", "-q", "-o", "cap", "program.py", how, env=pure)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{-signal.SIGTERM} True\n", "")
    if how == "waits" and not pure:
        lines = lines_of(tmp_path / "cap")
        assert lines[-1] == {"e": {"reason": "SIGTERM"}}
        assert [line["c"] for line in lines if "w" in line] == [{"env_steps": 20}]


def test_a_handler_of_the_program_is_never_replaced(hotloop: Hotloop) -> None:
    code = (
        "import os, signal, subprocess, sys, time\n"
        "def own(*_): print('own', flush=True)\n"
        "signal.signal(signal.SIGTERM, own)\n"
        "child = os.fork()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "time.sleep(0.1)\n"
        "print(signal.getsignal(signal.SIGTERM) is own, flush=True)\n"
        "if child: os.waitpid(child, 0)\n"
    )
    done = hotloop("run", "-q", "-o", "cap", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.split()) == ["True", "True", "own", "own"]


def test_the_next_program_has_the_default_action(hotloop: Hotloop) -> None:
    code = "import os; os.execvp('sh', ['sh', '-c', 'kill -TERM $$; echo alive'])"
    done = hotloop("run", "-q", "-o", "cap", "-c", code)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")


def test_workers_terminated_as_they_begin(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, signal, time\n"
        "ends = []\n"
        "for number in range(40):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        time.sleep(30)\n"
        "        os._exit(1)\n"
        "    time.sleep(number * 0.0005)\n"
        "    os.kill(child, signal.SIGTERM)\n"
        "    ends.append(os.waitpid(child, 0)[1])\n"
        "print(set(ends))\n"
    )
    begin = time.monotonic()
    done = hotloop("run", "-q", "-o", "cap", "program.py", timeout=100)
    assert done.stdout == f"{{{int(signal.SIGTERM)}}}\n", done.stderr
    assert time.monotonic() - begin < 60


def test_sigterm_waits_until_the_last_window_is_written(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, signal\n"
        "from hotloop.measure.profiler import Profiler\n"
        "from hotloop.run.termination import Termination\n"
        "ending = Termination(Profiler().core, lambda: None)\n"
        "ending.begin()\n"
        "ending.defer()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('written', flush=True)\n"
        "ending.end()\n"
        "print('alive')\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "written\n"), done.stderr


def test_sigterm_waits_for_a_blocked_end_for_a_second(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os, signal, time\n"
        "from hotloop.measure.profiler import Profiler\n"
        "from hotloop.run.termination import Termination\n"
        "ending = Termination(Profiler().core, lambda: print('finished'))\n"
        "ending.begin()\n"
        "ending.defer()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "print('writing', flush=True)\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "writing\n"), done.stderr
