"""`hotloop run` on real processes: the program's manners, and every way to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.capture.reader import read_capture

Hotloop = Callable[..., "subprocess.CompletedProcess[str]"]

LOOP = """
import sys, time
from hotloop import profile, count, step

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def train(iterations):
    try:
        for i in range(iterations):
            with profile("collect"):
                with profile("env.step"):
                    busy(0.004)
                count("env_steps", 2)
                count("episodes")
            with profile("learn"):
                busy(0.002)
            step()
    finally:
        print("finally ran")
"""


def report(hotloop: Hotloop, folder: str = "cap") -> dict[str, Any]:
    done = hotloop("report", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_the_programs(hotloop: Hotloop, code: int) -> None:
    assert hotloop("run", "-c", f"import sys; sys.exit({code})").returncode == code


def test_an_exit_with_a_message_prints_it(hotloop: Hotloop) -> None:
    done = hotloop("run", "-q", "-c", "import sys; sys.exit('that went wrong')")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "that went wrong\n")


PROBE = """
import __main__, sys, json
from pickle import dumps, loads
class Thing: pass
print(json.dumps({
    "argv": sys.argv, "path0": sys.path[0], "name": __name__, "doc": __doc__,
    "file": globals().get("__file__"), "package": __package__,
    "spec": getattr(__spec__, "name", None), "loader": type(__loader__).__name__,
    "main": __main__.__dict__ is globals(), "pickled": type(loads(dumps(Thing()))).__name__,
    "globals": sorted(globals()),
}))
"""


@pytest.mark.parametrize("how", ["script", "relative", "folder", "link", "module", "code"])
def test_the_program_sees_what_python_would_show_it(
    hotloop: Hotloop, tmp_path: Path, how: str
) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROBE)
    (package / "probe.py").write_text(f'"""Its documentation."""{PROBE}')
    if how == "link":
        (tmp_path / "link.py").symlink_to(package / "probe.py")
    words = {
        "script": [str(package / "probe.py")],
        "relative": ["pack/probe.py"],
        "folder": ["pack"],
        "link": ["link.py"],
        "module": ["-m", "pack.probe"],
        "code": ["-c", PROBE],
    }[how]
    arguments = ["--help", "-o", "x", "--", "-q"]
    plain = subprocess.run(
        [sys.executable, *words, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    under = hotloop("run", "-q", *words, *arguments)
    assert under.returncode == 0, under.stderr
    expected, seen = json.loads(plain.stdout), json.loads(under.stdout)
    expected["globals"] = [n for n in expected["globals"] if n != "__annotations__"]
    assert {**seen, "globals": None} == {**expected, "globals": None}


def test_a_traceback_is_as_python_shows_it(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "def inner():\n    raise ValueError('boom')\n\ntry:\n    inner()\n"
        "except ValueError as error:\n    raise KeyError('outer') from error\n"
    )
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    under = hotloop("run", "-q", str(script))
    assert under.returncode == plain.returncode == 1
    assert under.stderr == plain.stderr


def test_a_program_that_does_not_parse_shows_pythons_error(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    script = tmp_path / "bad.py"
    script.write_text("def x(:\n")
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    under = hotloop("run", "-q", str(script))
    assert (under.returncode, under.stderr) == (1, plain.stderr)


def test_an_import_that_fails_shows_no_frame_of_ours(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import not_there_at_all\n")
    script = tmp_path / "main.py"
    script.write_text("import traceback\ntry:\n    import broken\nexcept ImportError:\n"
                      "    traceback.print_exc()\n")  # fmt: skip
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert hotloop("run", "-q", str(script)).stderr == plain.stderr


def test_standard_output_is_the_programs_alone(hotloop: Hotloop) -> None:
    done = hotloop("run", "-c", "print('hello')")
    assert done.stdout == "hello\n"
    assert "Next: hotloop report" in done.stderr


def test_atexit_and_threads_of_the_program_come_before_the_end(hotloop: Hotloop) -> None:
    code = (
        "import atexit, threading, time\nfrom hotloop import profile\n"
        "def late():\n    with profile('late'):\n        print('atexit')\n"
        "atexit.register(late)\n"
        "def work():\n    time.sleep(0.2)\n    print('thread')\n"
        "threading.Thread(target=work).start()\n"
    )
    done = hotloop("run", "-q", "-o", "cap", "-c", code)
    assert done.stdout == "thread\natexit\n"
    assert "late" in {p["name"] for p in report(hotloop)["phases"]}


def test_the_report_of_a_run(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(100)\nprint(sys.argv[1:])\n")
    done = hotloop("run", "-o", "cap", script.name, "--lr", "0.1", "--stop-after", "1s")
    assert done.stdout == "finally ran\n['--lr', '0.1', '--stop-after', '1s']\n"
    document = report(hotloop)
    assert document["run"]["env_steps"] == 200
    assert document["run"]["exit"] == {"reason": "exit", "code": 0}
    paths = {phase["path"]: phase for phase in document["phases"]}
    assert paths["collect/env.step"]["calls"] == 100
    assert document["coverage"] > 0.97
    functions = {(f["function"], f["phase"]) for f in document["functions"]}
    assert ("busy", "collect/env.step") in functions
    text = hotloop("report", "cap").stdout
    assert max(map(len, text.splitlines())) <= 100
    assert "env.step" in text


@pytest.mark.parametrize(
    ("limit", "steps"), [("100steps", 100), ("7episodes", 14), ("5iterations", 10)]
)
def test_stop_after_ends_the_training_exactly(
    hotloop: Hotloop, tmp_path: Path, limit: str, steps: int
) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "import atexit\natexit.register(print, 'atexit ran')\ntrain(10**9)\n")
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", limit, str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\natexit ran\n")
    assert report(hotloop)["run"]["env_steps"] == steps


def test_stop_after_a_time(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(10**9)\n")
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "1.5s", str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\n")
    assert report(hotloop)["run"]["wall_s"] >= 1.4


WAITS_FOR_A_TRAINER = """
import multiprocessing as mp, sys, threading, time
from hotloop import count, profile

def train():
    while True:
        with profile("env.step"):
            time.sleep(0.01)
        count("env_steps", 1)

if __name__ == "__main__":
    kind = mp.Process if sys.argv[1] == "process" else threading.Thread
    trainer = kind(target=train) if kind is mp.Process else kind(target=train, daemon=True)
    trainer.start()
    try:
        trainer.join()
    finally:
        print("finally ran")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system call is interrupted by a signal")
@pytest.mark.parametrize("kind", ["process", "thread"])
def test_stop_after_ends_a_program_that_waits(hotloop: Hotloop, tmp_path: Path, kind: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(WAITS_FOR_A_TRAINER)
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "3s", str(script), kind)
    assert (done.returncode, done.stdout) == (0, "finally ran\n"), done.stderr
    assert report(hotloop)["run"]["env_steps"] > 50


STEPS_IN_WORKERS = """
import multiprocessing as mp, time
from hotloop import count, profile

def train():
    for _ in range(10**9):
        with profile("env.step"):
            time.sleep(0.01)
        count("env_steps", 1)

if __name__ == "__main__":
    workers = [mp.Process(target=train) for _ in range(2)]
    for worker in workers: worker.start()
    try:
        for worker in workers: worker.join()
    finally:
        print("finally ran")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system call is interrupted by a signal")
def test_stop_after_steps_of_other_processes(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEPS_IN_WORKERS)
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "150steps", str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\n"), done.stderr
    shards = read_capture(tmp_path / "cap").shards
    steps = sum(window.counters.get("env_steps", 0) for s in shards for window in s.windows)
    assert steps >= 150


@pytest.mark.parametrize(("steps", "reached"), [(50, False), (10**9, True)])
def test_a_stop_that_was_never_reached_is_none(
    hotloop: Hotloop, tmp_path: Path, steps: int, reached: bool
) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + f"train({steps})\n")
    hotloop("run", "-q", "-o", "cap", "--stop-after", "400steps", str(script))
    analysis = analyze(read_capture(tmp_path / "cap"))
    assert analysis.was_cut is reached


def start(tmp_path: Path, tail: str, *options: str) -> subprocess.Popen[str]:
    script = tmp_path / "train.py"
    script.write_text(LOOP + tail)
    return subprocess.Popen(
        [sys.executable, "-m", "hotloop", "run", *options, "-o", "cap", str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell lets what it starts in the background ignore Ctrl-C; this program must hear it.
        preexec_fn=_hear_ctrl_c if os.name == "posix" else None,
    )


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_windows(tmp_path: Path, count: int) -> None:
    """Until the capture has that many windows: what a person watching would wait for."""
    shard = tmp_path / "cap" / "main.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if shard.exists() and shard.read_bytes().count(b'\n{"w"') >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no windows came")


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix's")
class TestSignals:
    def test_kill_leaves_all_but_the_last_window(self, hotloop: Hotloop, tmp_path: Path) -> None:
        process = start(tmp_path, "train(10**9)\n", "-q")
        wait_for_windows(tmp_path, 5)
        process.kill()
        process.communicate()
        document = report(hotloop)
        assert document["run"]["loop_s"] >= 2.9
        assert not document["run"]["finished"]
        assert "up to its last window" in hotloop("report", "cap").stdout

    def test_ctrl_c_reaches_the_program(self, hotloop: Hotloop, tmp_path: Path) -> None:
        process = start(tmp_path, "train(10**9)\n")
        wait_for_windows(tmp_path, 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert process.returncode == -signal.SIGINT
        assert out == "finally ran\n"
        assert "KeyboardInterrupt" in err
        assert "hotloop/measure" not in err
        assert "Next: hotloop report" in err
        assert report(hotloop)["run"]["exit"]["reason"] == "KeyboardInterrupt"

    def test_sigterm_ends_the_program_and_finishes_the_capture(
        self, hotloop: Hotloop, tmp_path: Path
    ) -> None:
        process = start(tmp_path, "train(10**9)\n", "-q")
        wait_for_windows(tmp_path, 2)
        process.terminate()
        process.communicate()
        assert process.returncode == -signal.SIGTERM
        document = report(hotloop)
        assert document["run"]["exit"] == {"reason": "SIGTERM"}

    def test_a_programs_own_sigterm_handler_is_its_own(
        self, hotloop: Hotloop, tmp_path: Path
    ) -> None:
        tail = (
            "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\ntrain(10**9)\n"
        )
        process = start(tmp_path, tail, "-q")
        wait_for_windows(tmp_path, 2)
        process.terminate()
        out, _ = process.communicate()
        assert (process.returncode, out) == (9, "finally ran\n")
        assert report(hotloop)["run"]["exit"] == {"reason": "exit", "code": 9}


def test_os_exit_finishes_the_capture(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "import os\ntrain(20)\nsys.stdout.flush()\nos._exit(7)\n")
    done = hotloop("run", "-q", "-o", "cap", str(script))
    assert done.returncode == 7
    document = report(hotloop)
    assert document["run"]["exit"] == {"reason": "os._exit", "code": 7}
    assert document["run"]["env_steps"] == 40


def test_exact_functions_leave_a_file_that_pstats_opens(hotloop: Hotloop, tmp_path: Path) -> None:
    import pstats

    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(50)\n")
    hotloop("run", "-q", "-o", "cap", "--functions", "exact", str(script))
    stats = pstats.Stats(str(tmp_path / "cap" / "main.prof"))
    assert any(name == "busy" for _, _, name in stats.stats)
    document = report(hotloop)
    rows = {row["function"]: row for row in document["exact_functions"]}
    assert rows["busy"]["calls"] == 100
    assert rows["train"]["total_s"] >= rows["busy"]["total_s"] > 0
    assert "by cumulative time" in hotloop("report", "cap").stdout


def test_functions_off(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(100)\n")
    hotloop("run", "-q", "-o", "cap", "--functions", "off", str(script))
    document = report(hotloop)
    assert document["functions"] == []
    assert document["coverage"] > 0.97


def test_a_summary_while_it_runs(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(500)\n")
    done = hotloop("run", "-q", "--summary-every", "1s", str(script))
    assert done.stderr.count("region ") >= 2
    assert "  env.step" in done.stderr


def test_the_twin_says_that_it_is_one(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(50)\n")
    done = hotloop("run", "-o", "cap", str(script), env={"HOTLOOP_PURE": "1"})
    assert "pure-Python twin: HOTLOOP_PURE is set" in done.stderr
    document = report(hotloop)
    assert document["run"]["native"] is False
    assert document["coverage"] > 0.97


def test_captures_are_never_overwritten(hotloop: Hotloop, tmp_path: Path) -> None:
    for _ in range(3):
        assert hotloop("run", "-q", "--name", "same", "-c", "pass").returncode == 0
    assert len(list((tmp_path / "runs" / "hotloop").glob("same-*"))) == 3
    assert hotloop("report").returncode == 0


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["run", "nothing.py"], "no such file"),
            (["run"], "no program"),
            (["run", "--stop-after", "soon", "-c", "pass"], "60s"),
            (["run", "--stop-after", "0s", "-c", "pass"], "above 0"),
            (["run", "--bogus", "x.py"], "--bogus"),
            (["run", "-m"], "needs a module"),
            (["run", "-m", "no_such_module_here"], "No module named"),
            (["run", "-o", "/proc/nope/x", "-c", "pass"], "-o"),
            (["report", "nothing"], "no such capture"),
            (["report"], "hotloop run train.py"),
            (["repotr", "x"], "did you mean `hotloop report`"),
            (["train.py", "--lr", "1"], "did you mean `hotloop run train.py --lr 1`"),
            (["--bogus"], "--bogus"),
        ],
    )
    def test_one_or_two_clear_lines_and_exit_code_2(
        self, hotloop: Hotloop, arguments: list[str], words: str
    ) -> None:
        done = hotloop(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) <= 2
        assert "Traceback" not in done.stderr

    def test_a_close_name_is_offered(self, hotloop: Hotloop, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("")
        assert "did you mean train.py?" in hotloop("run", "trian.py").stderr

    def test_an_existing_folder_is_refused(self, hotloop: Hotloop, tmp_path: Path) -> None:
        (tmp_path / "cap").mkdir()
        done = hotloop("run", "-o", "cap", "-c", "print('never')")
        assert (done.returncode, done.stdout) == (2, "")
        assert "never overwritten" in done.stderr


def test_a_closed_pipe_is_silent(hotloop: Hotloop, tmp_path: Path) -> None:
    hotloop("run", "-q", "-o", "cap", "-c", "pass")
    command = f"{sys.executable} -m hotloop report cap --format json | head -c 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
