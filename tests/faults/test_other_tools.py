"""Other tools at the same time: the program, and what they say of it, are as without hotloop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_runs import Hotloop, report

#: A loop with a known number of calls; what each program adds stands where TOOL does.
PROGRAM = """
import os, sys, time
from hotloop import count, profile

def simulate(number):
    return sum(range(number))

def train(steps):
    for number in range(steps):
        with profile("collect"), profile("env.step"):
            simulate(number)
        count("env_steps")
    return steps

TOOL
"""

TOOLS = {
    "cProfile inside the program": """
import cProfile, pstats
profile_of_mine = cProfile.Profile()
profile_of_mine.enable()
train(500)
profile_of_mine.disable()
stats = pstats.Stats(profile_of_mine).stats
print(sorted((name, row[0]) for (_, _, name), row in stats.items() if name in ("simulate", "train")))
""",
    "another profiler's sys.setprofile": """
calls = {}
def other(frame, event, argument):
    if event == "call" and frame.f_code.co_filename == __file__:
        calls[frame.f_code.co_name] = calls.get(frame.f_code.co_name, 0) + 1
sys.setprofile(other)
train(500)
print(sys.getprofile() is other)
sys.setprofile(None)
print(calls)
""",
    "a tracer's sys.settrace": """
lines = {}
def trace(frame, event, argument):
    if frame.f_code.co_filename != __file__:
        return None
    if event == "line":
        lines[frame.f_lineno] = lines.get(frame.f_lineno, 0) + 1
    return trace
sys.settrace(trace)
train(500)
print(sys.gettrace() is trace)
sys.settrace(None)
print(sorted(lines.values()))
""",
    "a program that replaces sys.stdout and sys.stderr": """
import io
train(500)
print("before")
kept, sys.stdout = sys.stdout, io.StringIO()
sys.stderr = None
print("swallowed")
train(10)
kept.write("after\\n")
kept.flush()
""",
    "a program that closes standard output": """
train(500)
print("said")
sys.stdout.close()
os.close(2)
""",
    "a program that calls os._exit in a forked child": """
with profile("outer"):
    child = os.fork()
    if child == 0:
        with profile("inner"):
            train(10)
            os._exit(7)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
train(490)
os.write(1, b"leaves\\n")
sys.stdout.flush()
os._exit(5)
""",
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs of Unix")


def plain(folder: Path, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        input=stdin,
        timeout=60,
    )


@pytest.mark.parametrize("name", TOOLS)
def test_it_is_as_without_hotloop(name: str, hotloop: Hotloop, tmp_path: Path, say) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("TOOL", TOOLS[name]))
    alone = plain(tmp_path, "train.py")
    under = hotloop("run", "-o", "cap", "train.py")
    assert (under.returncode, under.stdout) == (alone.returncode, alone.stdout), under.stderr
    assert alone.stdout
    assert "Traceback" not in under.stderr
    document = report(hotloop)
    calls = [p["calls"] for p in document["phases"] if p["name"] == "env.step"]
    assert sum(calls) >= 500
    say(f"{name}: same output and exit code, {sum(calls)} calls counted")


PDB = "b simulate\nc\np number\nc\np number\ncl 1\nc\n"


@pytest.mark.parametrize("how", ["breakpoint()", "-m pdb"])
def test_a_debugger(how: str, hotloop: Hotloop, tmp_path: Path, say) -> None:
    tool = "train(3)\nbreakpoint()\ntrain(500)\nprint('done')\n"
    if how == "-m pdb":
        tool = "train(503)\nprint('done')\n"
    (tmp_path / "train.py").write_text(PROGRAM.replace("TOOL", tool))
    words = ["train.py"] if how == "breakpoint()" else ["-m", "pdb", "train.py"]
    alone = plain(tmp_path, *words, stdin=PDB)
    under = hotloop("run", "-q", "-o", "cap", *words, input=PDB)
    assert "done" in alone.stdout
    said, expected = (
        [line for line in text.splitlines() if line.startswith("(Pdb)")]
        for text in (under.stdout, alone.stdout)
    )
    assert said == expected
    assert under.returncode == alone.returncode
    say(f"pdb ({how}): {len(said)} answers the same")


def test_coverage_sees_the_same_lines(hotloop: Hotloop, tmp_path: Path, say) -> None:
    pytest.importorskip("coverage", reason="coverage is not installed")
    (tmp_path / "train.py").write_text(PROGRAM.replace("TOOL", "print(train(500))\n"))
    lines = []
    for run in (lambda *w: plain(tmp_path, *w), lambda *w: hotloop("run", "-q", "-o", "cap", *w)):
        done = run("-m", "coverage", "run", "--branch", "--data-file=.mine", "train.py")
        assert (done.returncode, done.stdout) == (0, "500\n"), done.stderr
        plain(tmp_path, "-m", "coverage", "json", "--data-file=.mine", "-o", "lines.json")
        told = json.loads((tmp_path / "lines.json").read_text())["files"]["train.py"]
        lines.append((told["executed_lines"], told["executed_branches"]))
        (tmp_path / ".mine").unlink()
    assert lines[0] == lines[1]
    assert report(hotloop)["run"]["env_steps"] == 500
    say(f"coverage: the same {len(lines[0][0])} lines and {len(lines[0][1])} branches")


def test_pytest_under_hotloop(hotloop: Hotloop, tmp_path: Path, say) -> None:
    (tmp_path / "test_training.py").write_text(
        PROGRAM.replace("TOOL", "def test_passes():\n    assert train(500) == 500\n\n"
                        "def test_fails():\n    assert train(3) == 4\n")
    )  # fmt: skip
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "test_training.py"]
    alone = plain(tmp_path, *words)
    under = hotloop("run", "-q", "-o", "cap", *words)

    def told(text: str) -> list[str]:
        return [line for line in text.splitlines() if " in " not in line]

    assert (under.returncode, told(under.stdout)) == (alone.returncode, told(alone.stdout))
    assert alone.returncode == 1
    assert report(hotloop)["run"]["env_steps"] == 503
    say("pytest: the same two outcomes and the same report of the failure")


DAEMON = """
train(100)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    for number in range(3):
        os.close(number)
    train(50)
    time.sleep(1.5)
    train(50)
    open(sys.argv[1], "w").close()
    os._exit(0)
os.wait()
print("left")
"""


@pytest.mark.real_time
def test_a_program_that_forks_a_daemon(hotloop: Hotloop, tmp_path: Path, say) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("TOOL", DAEMON))
    done = tmp_path / "done"
    under = hotloop("run", "-q", "-o", "cap", "train.py", str(done))
    assert (under.returncode, under.stdout) == (0, "left\n"), under.stderr
    assert not done.exists(), "hotloop waited for the daemon"
    end = time.monotonic() + 30
    while not done.exists() and time.monotonic() < end:
        time.sleep(0.05)
    while time.monotonic() < end:
        document = report(hotloop)
        if all(process["ended"] for process in document["processes"]):
            break
        time.sleep(0.1)
    calls = {p["process"]: p["calls"] for p in document["phases"] if p["path"].endswith("env.step")}
    assert sorted(calls.values()) == [100, 100]
    say("a daemon that outlives the program: not waited for, its 100 steps in a shard of its own")


CWD = """
import multiprocessing, subprocess
train(100)
os.mkdir("elsewhere")
os.chdir("elsewhere")
child = multiprocessing.get_context("fork").Process(target=train, args=(50,))
child.start()
child.join()
subprocess.run([sys.executable, "-c", "from hotloop import profile\\nfor _ in range(30):\\n"
                "    with profile('env.step'): pass"], check=True)
train(100)
print(os.path.basename(os.getcwd()))
"""


def test_a_program_that_changes_the_working_directory(
    hotloop: Hotloop, tmp_path: Path, say
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("TOOL", CWD))
    under = hotloop("run", "-o", "cap", "--trace", "train.py")
    assert (under.returncode, under.stdout) == (0, "elsewhere\n"), under.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []
    document = report(hotloop)
    calls = [p["calls"] for p in document["phases"] if p["name"] == "env.step"]
    assert sorted(calls) == [30, 50, 200]
    say("a program that changes its directory: three shards, all in the capture")
