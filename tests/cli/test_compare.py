"""`hotloop compare`, as users meet it: real programs, real captures, real interruptions."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_runs import Hotloop, check_refused
from written_shards import write_run

pytest.importorskip("scipy")

pytestmark = pytest.mark.programs

PressCtrlC = Callable[..., tuple[str, str]]

QUICK = ("--pairs", "4", "--warm-up", "0")


def compare(hotloop: Hotloop, *arguments: str) -> dict[str, Any]:
    result = hotloop("compare", *arguments, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_the_second_is_faster_and_so_is_its_phase(hotloop: Hotloop, program: Path) -> None:
    document = compare(hotloop, "train.py --env-ms 12", "train.py --env-ms 2", *QUICK)
    assert document["schema"] == "hotloop.compare/1"
    assert document["verdict"] == "faster"
    assert document["pairs"] == 4
    ratio = document["ratio"]
    assert 2 < ratio["estimate"] < 5
    assert 1 < ratio["low"] <= ratio["estimate"] <= ratio["high"]
    phases = {phase["name"]: phase for phase in document["phases"]}
    assert phases["env.step"]["ratio"]["estimate"] > 3
    assert phases["env.step"]["verdict"] == "faster"
    assert phases["learn"]["verdict"] != "slower"
    assert document["responsible"] == "env.step"
    assert document["unit"] == "env_steps"
    assert document["work"] == []
    assert len(document["samples"]["first_s"]) == 4


OWN_PART = """
import sys, time

class Simulator:
    def advance(self, seconds):
        time.sleep(seconds)
"""

USES_IT = """
import sys
from hotloop import count, profile
from simulation import Simulator

simulator = Simulator()
for _ in range(12):
    with profile("env.step"):
        simulator.advance(float(sys.argv[1]))
        count("env_steps")
"""


def test_the_programs_own_functions_are_compared_as_phases(hotloop: Hotloop, program: Path) -> None:
    (program / "simulation.py").write_text(OWN_PART)
    (program / "uses.py").write_text(USES_IT)
    document = compare(
        hotloop,
        *("uses.py 0.03", "uses.py 0.002", *QUICK),
        *("--phase", "simulator=simulation:Simulator.*"),
    )
    phases = {phase["name"]: phase for phase in document["phases"]}
    assert phases["simulator"]["ratio"]["estimate"] > 3
    assert document["responsible"] == "simulator"


def test_text_for_people_and_progress_for_the_patient(hotloop: Hotloop, program: Path) -> None:
    result = hotloop(
        "compare",
        "train.py --env-ms 10",
        "train.py --env-ms 2",
        *("--names", "slow,fast", "--pairs", "3", "--steps", "15"),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("hotloop compare  3 interleaved pairs\n")
    assert "  slow: train.py --env-ms 10\n  fast: train.py --env-ms 2\n" in result.stdout
    assert "times faster" in result.stdout
    assert "\x1b" not in result.stdout
    assert "warm-up done" in result.stderr
    assert "pair 3 of 3: slow" in result.stderr


def test_a_regression_fails_and_doubt_does_not(hotloop: Hotloop, program: Path) -> None:
    slower = ("train.py --env-ms 2", "train.py --env-ms 12")
    fail = ("--fail-on-regression", "5%")
    result = hotloop("compare", *slower, *QUICK, *fail)
    assert result.returncode == 1, result.stdout
    assert "slower" in result.stdout
    assert hotloop("compare", *reversed(slower), *QUICK, *fail).returncode == 0
    # One pair is never enough to tell.
    doubt = hotloop("compare", *slower, "--pairs", "1", "--warm-up", "0", *fail)
    assert (doubt.returncode, "cannot tell" in doubt.stdout) == (0, True)


def test_less_work_is_not_comparable_unless_it_is_meant(hotloop: Hotloop, program: Path) -> None:
    commands = ("train.py --updates 4 --steps 20", "train.py --updates 1 --steps 20")
    document = compare(hotloop, *commands, *QUICK)
    assert document["verdict"] == "not comparable"
    assert "0.25 times the gradient steps per environment step" in document["why"]
    (change,) = document["work"]
    assert (change["counter"], change["ratio"]) == ("gradient_steps", pytest.approx(0.25))
    meant = compare(hotloop, *commands, *QUICK, "--any-work")
    assert meant["verdict"] == "faster"
    assert meant["work"] == document["work"]


# -- bad input --


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train.py", "missing.py"), "missing.py: no such program"),
        (("train.py", ""), "no program to run"),
        (("train.py", "train.py", "--names", "a"), "two different names"),
        (("train.py", "train.py", "--until", "0.02"), "write a percentage"),
        (("train.py", "train.py", "--margin", "much"), "not a percentage"),
        (("train.py", "train.py", "--pairs", "0"), "must be at least 1"),
        (("train.py", "train.py", "--steps", "5", "--stop-after", "5s"), "give one of them"),
        (("train.py", "train.py", "--stop-after", "soon"), "not understood"),
        (("train.py", "train.py", "--cpus", "2"), "--cpus needs --on ray"),
        (("train.py", "train.py", "--phase", "simulator"), "needs phase=module:function"),
        (
            ("train.py", "train.py", "-o", "result.xyz"),
            "unknown file ending; use one of .txt, .json, .html",
        ),
        (("train.py", "train.py", "-o", "train.py.json"), "already exists"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    hotloop: Hotloop, program: Path, arguments: tuple[str, ...], says: str
) -> None:
    (program / "train.py.json").touch()
    result = hotloop("compare", *arguments)
    check_refused(result, says)
    assert not (program / "runs").exists()


FAILS_LATER = """
import pathlib, runpy, sys
counter = pathlib.Path("counter")
count = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(count + 1))
sys.argv = ["train.py", "--steps", "12"] + (["--fail"] if count >= 2 else [])
runpy.run_path("train.py", run_name="__main__")
"""


def test_a_command_that_fails_is_named_and_finished_pairs_are_kept(
    hotloop: Hotloop, program: Path
) -> None:
    (program / "later.py").write_text(FAILS_LATER)
    result = hotloop(
        "compare", "train.py --steps 12", "later.py", "--warm-up", "0", "--format", "json"
    )
    assert result.returncode == 2
    document = json.loads(result.stdout)
    assert document["pairs"] == 2
    assert document["failure"]["name"] == "later.py"
    assert document["failure"]["last_lines"][-1] == "RuntimeError: loss is nan"
    assert "later.py failed with exit code 1" in result.stderr
    assert "loss is nan" in result.stderr
    assert "kept 2 finished pairs in" in result.stderr
    kept = Path(document["folder"])
    assert (kept / "pair-02" / "b" / "main.jsonl").is_file()


def test_a_command_that_never_reaches_a_step(hotloop: Hotloop, program: Path) -> None:
    (program / "idle.py").write_text("print('nothing to learn')")
    result = hotloop("compare", "train.py --steps 5", "idle.py")
    check_refused(result, "idle.py never reached a step")
    assert "nothing to learn" in result.stderr


def test_without_scipy_one_line_says_what_to_install(hotloop: Hotloop, program: Path) -> None:
    (program / "scipy.py").write_text("raise ImportError('no scipy', name='scipy')")
    path = os.pathsep.join([str(program), os.environ.get("PYTHONPATH", "")])
    result = hotloop("compare", "train.py", "train.py", env={"PYTHONPATH": path})
    check_refused(result, "pip install 'hotloop[compare]'")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_program_and_prints_the_verdict_so_far(press_ctrl_c: PressCtrlC) -> None:
    commands = ("train.py --env-ms 10 --steps 30", "train.py --env-ms 1 --steps 30")
    options = ("--warm-up", "0", "--pairs", "50")
    output, errors = press_ctrl_c("compare", *commands, *options, when="pair 3 of 50")
    assert "hotloop compare  3 interleaved pairs" in output
    assert "times faster" in output
    assert "Interrupted" in output
    assert "Traceback" not in errors


def test_a_result_goes_to_a_file(hotloop: Hotloop, program: Path) -> None:
    commands = ("train.py --steps 8", "train.py --steps 8")
    options = ("--pairs", "1", "--warm-up", "0", "--folder", "captures", "-o", "result.json")
    result = hotloop("compare", *commands, *options)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("hotloop compare  1 interleaved pair\n")  # the verdict too
    document = json.loads((program / "result.json").read_text())
    assert document["pairs"] == 1
    assert document["ratio"]["low"] is None
    assert (program / "captures" / "pair-01" / "a" / "main.jsonl").is_file()


# -- captures --


def write_capture(folder: Path, step_ms: float, seed: int, **header: Any) -> Path:
    chance = random.Random(seed)
    notes = {"device": header.pop("device", "cpu")}
    facts = {"host": "here", "python": "3.11", "functions": "samples", **header}
    lengths_ns = (int(step_ms * 1e8 * chance.gauss(1, 0.02)) for _ in range(40))
    return write_run(folder, lengths_ns, notes, **facts)


def test_two_captures_are_compared_with_a_warning(hotloop: Hotloop, tmp_path: Path) -> None:
    write_capture(tmp_path / "before", 10.0, 1)
    write_capture(tmp_path / "after", 5.0, 2, python="3.12")
    document = compare(hotloop, "before", "after")
    assert document["verdict"] == "faster"
    assert document["ratio"]["estimate"] == pytest.approx(2.0, rel=0.05)
    assert document["names"] == ["before", "after"]
    assert document["interleaved"] is False
    assert any("not interleaved" in note for note in document["notes"])
    assert any("different Python: 3.11 and 3.12" in note for note in document["notes"])
    text = " ".join(hotloop("compare", "before", "after").stdout.split())
    assert "two captures, not interleaved" in text
    assert "not interleaved, so the difference includes whatever else changed" in text


def test_two_captures_as_a_page_and_as_pictures(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_capture(tmp_path / "before", 10.0, 1)
    write_capture(tmp_path / "after", 5.0, 2)
    begins = {"compare.html": b"<!doctype html>", "c.PNG": b"\x89PNG", "c.svg": b"<?xml"}
    for name, begin in begins.items():
        done = hotloop("compare", "before", "after", "-o", name)
        assert done.returncode == 0, done.stderr
        assert "times faster" in done.stdout
        assert done.stderr.endswith(f"wrote {name}\n")
        assert (tmp_path / name).read_bytes().startswith(begin)
    again = hotloop("compare", "before", "after", "-o", "compare.html")
    assert (again.returncode, "already exists; use -f to overwrite" in again.stderr) == (2, True)
    assert hotloop("compare", "before", "after", "-o", "compare.html", "-f").returncode == 0
    printed = hotloop("compare", "before", "after", "--format", "html")
    assert printed.stdout == (tmp_path / "compare.html").read_text()


def test_a_missing_matplotlib_is_told_before_anything_runs(hotloop: Hotloop, program: Path) -> None:
    (program / "matplotlib.py").write_text("raise ImportError('no matplotlib')")
    path = os.pathsep.join([str(program), os.environ.get("PYTHONPATH", "")])
    done = hotloop("compare", "train.py", "train.py", "-o", "c.png", env={"PYTHONPATH": path})
    assert (done.returncode, "pip install 'hotloop[pictures]'" in done.stderr) == (2, True)
    assert not (program / "runs").exists()


def test_captures_from_different_devices_are_refused(hotloop: Hotloop, tmp_path: Path) -> None:
    write_capture(tmp_path / "before", 10.0, 1)
    write_capture(tmp_path / "after", 5.0, 2, device="cuda")
    document = compare(hotloop, "before", "after")
    assert document["verdict"] == "not comparable"
    assert document["why"] == "different device: cpu and cuda"


def test_a_capture_gets_no_further_phases(hotloop: Hotloop, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert hotloop("run", "-q", "-o", name, "-c", "pass").returncode == 0
    result = hotloop("compare", "a", "b", "--phase", "sim=net:Simulator.*")
    check_refused(result, "phases they were recorded with")


def test_a_capture_and_a_command_are_not_two_of_a_kind(hotloop: Hotloop, program: Path) -> None:
    write_capture(program / "before", 10.0, 1)
    result = hotloop("compare", "before", "train.py")
    check_refused(result, "before is a capture and train.py is not")
