"""The benchmark's own arithmetic, and one real run of it in little."""

from __future__ import annotations

import itertools
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import cost, proof, runs, scale, stretch, tables
from benchmarks.figures import added_start, figure, interval, load, loop_ratio
from benchmarks.peers import HAND_TIMERS, HOTLOOP, HOTLOOP_TIMED, PEERS, PLAIN, Peer
from benchmarks.runs import NAMES, PROGRAMS, Run, from_line, outermost, with_variant
from hotloop.analyze.processes.training import read_capture

SEEN = sys.platform == "linux"


def made(peer: str, round: int, loop_s: float, **more: object) -> Run:
    """A run of ten equal stretches; plain ones took turns with hotloop where nothing is said."""
    beside = "hotloop" if peer == "plain" else "plain"
    run = Run("sb3_ppo", peer, round, beside, loop_s=loop_s, cpu_s=loop_s)
    run.stretches = run.cpu_stretches = [loop_s / 10] * 10
    return replace(run, **more)


# -- figures --


def test_a_ratio_is_within_its_round() -> None:
    # The machine is twice as slow in the second round: the ratio does not notice.
    found = [
        *(made("plain", n, 5.0 * (1 + n)) for n in range(3)),
        *(made("hotloop", n, 5.1 * (1 + n)) for n in range(3)),
    ]
    each = figure(found, "sb3_ppo", "hotloop", loop_ratio)
    assert (each.middle, each.low, each.high) == (pytest.approx(1.02),) * 3
    assert (each.rounds, each.disturbed) == (3, 0)


def test_a_stall_does_not_decide_and_what_comes_now_and_then_counts() -> None:
    plain = made("plain", 0, 10.0)
    stalled = made("hotloop", 0, 10.0, stretches=[1.0] * 9 + [1.5])
    assert loop_ratio(stalled, plain) == pytest.approx(1.0, abs=0.02)
    # Every other stretch is a tenth longer.
    often = made("hotloop", 0, 10.0, stretches=[1.0, 1.1] * 5)
    assert loop_ratio(often, plain) == pytest.approx(1.05, abs=0.002)
    # A long stretch weighs more than a short one.
    plain.stretches = [1.0] * 5 + [3.0] * 5
    often.stretches = [1.0] * 5 + [3.3] * 5
    assert loop_ratio(often, plain) > 1.07


def test_a_run_is_compared_with_the_one_it_took_turns_with() -> None:
    found = [made("plain", 0, 5.0), made("plain", 0, 8.0, beside="py-spy")]
    found += [made("hotloop", 0, 5.0), made("py-spy", 0, 8.0)]
    assert figure(found, "sb3_ppo", "hotloop", loop_ratio).middle == 1.0
    assert figure(found, "sb3_ppo", "py-spy", loop_ratio).middle == 1.0


def test_disturbed_rounds_are_left_out_and_counted() -> None:
    found = [made("plain", n, 5.0) for n in range(5)]
    found += [made("hotloop", n, 5.0) for n in range(4)]
    found.append(made("hotloop", 4, 50.0, foreign_cores=0.5))
    each = figure(found, "sb3_ppo", "hotloop", loop_ratio)
    assert (each.middle, each.high, each.rounds, each.disturbed) == (1.0, 1.0, 4, 1)
    assert "1 disturbed and left out" in tables.rounds_text(found)


def test_where_all_is_disturbed_all_is_used_and_told() -> None:
    found = [made(peer, 0, 5.0, foreign_cores=1.0) for peer in ("plain", "hotloop")]
    each = figure(found, "sb3_ppo", "hotloop", loop_ratio)
    assert (each.rounds, each.disturbed, each.all_rounds) == (1, 1, True)
    assert "used all the same" in tables.rounds_text(found)


def test_a_peer_that_failed_is_told_with_its_reason() -> None:
    found = [made("plain", 0, 5.0), made("memray", 0, 0.0, failed="no room")]
    assert figure(found, "sb3_ppo", "memray", loop_ratio).missing == "no room"
    assert tables.failures_text(found) == "- memray, PPO (SB3): no room"
    assert "| memray | - |" in tables.loop_table(found)


def test_an_interval_holds_the_median_and_is_inside_the_values() -> None:
    low, high = interval([1.0, 1.1, 1.2, 1.3, 9.0])
    assert 1.0 <= low <= 1.2 <= high <= 9.0


def test_start_and_memory_are_differences() -> None:
    plain = made("plain", 0, 5.0, first_step_s=2.0)
    assert added_start(made("x", 0, 5.0, first_step_s=2.25), plain) == 0.25


# -- the plan --


@pytest.mark.parametrize(("pairs", "with_peers"), [(10, 4), (5, 5), (3, 1), (7, 0)])
def test_the_peers_have_as_many_rounds_as_asked_for(pairs: int, with_peers: int) -> None:
    assert sum(cost.has_peers(n, pairs, with_peers) for n in range(pairs)) == with_peers


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    results = tmp_path / "cost.jsonl"
    started: list[tuple[str, int]] = []

    def run(program: str, peer: Peer, round: int, *_: object) -> list[Run]:
        started.append((peer.name, round))
        failed = "does not start" if peer.name == "py-spy" else ""
        return [Run(program, peer.name, round, failed=failed, loop_s=1.0)]

    cost.keep(results, Run("sb3_ppo", "hotloop", 0, "plain", loop_s=1.0).line())  # of a duel

    peers = [each for each in PEERS if each.name in ("hotloop", "py-spy")]

    def measure(rounds: int, budget_s: float) -> None:
        planned = cost.plan(["sb3_ppo"], peers, rounds, rounds)
        cost.measure(planned, results, budget_s, run=run)

    measure(2, budget_s=-1.0)
    assert started == []
    measure(1, budget_s=100.0)
    with open(results, "a") as file:
        file.write('{"program": "sb3_p')  # cut short
    measure(2, budget_s=100.0)
    assert started == [("hotloop", 0), ("py-spy", 0), ("hotloop", 1)]
    assert len(load(results)) == 4


def test_a_run_survives_its_line() -> None:
    run = made("hotloop", 3, 5.5, report={"coverage": 0.99}, timers={"loop": 1.0})
    assert from_line(run.line()) == run


# -- programs and reports --


@pytest.mark.parametrize("name", NAMES)
def test_programs_are_plain_until_a_variant_is_asked_for(name: str) -> None:
    source = (PROGRAMS / f"{name}.py").read_text()
    timed = with_variant(source, "timers")
    compile(timed, name, "exec")
    compile(with_variant(source, "torch.profiler"), name, "exec")
    assert not re.search(r"^\s*(import )?hand_timers", source, re.MULTILINE)
    assert "hand_timers.show()" in timed
    assert not re.search(r"^\s*# timers\|", timed, re.MULTILINE)


def test_a_phase_counts_once_where_it_is_inside_itself() -> None:
    def phase(path: str, total_s: float, **more: str) -> dict[str, object]:
        return {"path": path, "total_s": total_s, "process": "main", "thread": "main", **more}

    phases = [phase("collect", 3.0), phase("collect/env.step", 1.0), phase("env.step", 0.5)]
    phases += [phase("env.step/env.step", 0.4), phase("env.step", 9.0, process="EnvWorker-1")]
    assert outermost(phases) == {"collect": 3.0, "env.step": 1.5}


def accurate(peer: str, by_hand: float, by_hotloop: float) -> Run:
    timers = {"loop": 10.0, "phases": {"env.step": by_hand}}
    report = {"loop_s": 10.0, "phases": {"env.step": by_hotloop}, "coverage": 1, "unexplained": 0}
    return made(peer, 0, 10.0, timers=timers, report=report)


def test_shares_are_compared_in_the_same_run_and_apart() -> None:
    found = [accurate(HOTLOOP_TIMED.name, 4.0, 4.2)]
    found += [accurate(HOTLOOP.name, 0.0, 4.05), accurate(HAND_TIMERS.name, 4.0, 0.0)]
    assert tables.same_run(found, "sb3_ppo") == {"env.step": pytest.approx(0.02)}
    assert tables.apart(found, "sb3_ppo") == {"env.step": pytest.approx(0.005)}
    together, apart = tables.accuracy_goals(found)
    assert (together.reached, apart.reached) == (False, True)
    assert "2.00 points off at most (PPO (SB3), env.step)" in together.measured


def test_goals_that_are_missed_say_so() -> None:
    found = [made("plain", n, 5.0) for n in range(3)]
    found += [made("hotloop", n, 5.2, first_step_s=1.0, loop_mb=30.0) for n in range(3)]
    found += [made("plain", n, 5.0, beside="py-spy") for n in range(3)]
    found += [made("py-spy", n, 5.1) for n in range(3)]
    found += [made("plain", n, 5.0, beside="hotloop later") for n in range(3)]
    found += [made("hotloop later", n, 5.04) for n in range(3)]
    goals = {goal.what: goal for goal in tables.cost_goals(found)}
    later = "loop time after the first minute, times plain: "
    missed = [what for what, goal in goals.items() if not goal.reached]
    assert len(missed) == 6
    assert missed[3] == f"{later}median program"
    assert goals[f"{later}worst program"].measured == "1.008 (PPO (SB3))"
    assert "py-spy is cheaper on PPO (SB3)" in goals["the same, against the peers"].measured


def test_loop_time_after_the_first_minute_may_be_missing() -> None:
    goals = tables.cost_goals([made("plain", 0, 5.0), made("hotloop", 0, 5.0)])
    assert [goal.reached for goal in goals if "after the first minute" in goal.what] == [None, None]


# -- the page --


def test_the_page_is_filled_between_its_marks_only() -> None:
    page = "before\n<!-- measured: loop -->\nold\n<!-- end -->\nafter <!-- end -->\n"
    filled = proof.fill(page, {"loop": "| new |"})
    assert filled == "before\n<!-- measured: loop -->\n| new |\n<!-- end -->\nafter <!-- end -->\n"
    assert proof.fill(filled, {"loop": "old"}) == page


def test_every_part_of_the_page_is_known_and_used(tmp_path: Path) -> None:
    page = proof.PAGE.read_text(encoding="utf-8")
    found = proof.parts(tmp_path)
    assert set(re.findall(r"<!-- measured: (\w+) -->", page)) == set(found)
    assert "not measured" in found["goals"]
    proof.fill(page, found)


# -- for real --


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_a_real_run_of_a_program_under_hotloop(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    results = tmp_path / "accuracy.jsonl"
    planned = [(0, "sb3_ppo", HOTLOOP_TIMED)]
    cost.measure(iter(planned), results, 60.0, ("512",), run=runs.alone)
    (run,) = load(results)
    assert run.failed == ""
    assert 0 < run.loop_s < run.wall_s
    assert 0 < run.first_step_s < run.wall_s
    assert 50 < run.loop_mb <= run.peak_mb
    assert 0 < run.left_mb < 5
    assert run.report["coverage"] > 0.9
    # Shares themselves are for the benchmark: here, that both name the same things.
    assert {"collect", "env.step", "policy.act", "learn.loss"} <= set(tables.by_hand(run))
    assert set(tables.by_hand(run)) <= set(run.report["phases"])


#: Twenty steps in turns of five; each tells when it was made, in a file of its process.
TURNING = """
import measured, os, sys, time
steps = open(f"{os.environ['STEPS']}/{os.getpid()}", "w")
class Env:
    def step(self):
        time.sleep(0.001)
        print(time.monotonic(), file=steps, flush=True)
env = Env()
measured.turns(5, step=env)
measured.first_step(env)
with measured.loop():
    for at in range(20):
        env.step()
"""


@pytest.fixture
def steps(programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output of a program that takes turns, with its steps."""
    (programs / "measured.py").write_text((PROGRAMS / "measured.py").read_text())
    folder = programs / "steps"
    folder.mkdir()
    monkeypatch.setenv("STEPS", str(folder))
    return folder


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_two_runs_take_turns(programs: Path, steps: Path) -> None:
    (programs / "turning.py").write_text(TURNING)
    plain, own = runs.duel("turning", Peer("other", before=("-u",)))
    assert (plain.failed, own.failed) == ("", "")
    assert (plain.peer, plain.beside) == (own.beside, own.peer) == ("plain", "other")
    for run in (plain, own):
        assert len(run.stretches) == len(run.cpu_stretches) == 5
        assert run.loop_s >= sum(run.stretches) >= 0.02
        assert 0 < run.first_step_s < run.wall_s
    # Never a step of the one between two of a stretch of the other.
    said = {path.name: path.read_text().split() for path in steps.iterdir()}
    times = sorted((float(each), name) for name, all_of in said.items() for each in all_of)
    turns = [len(list(group)) for _, group in itertools.groupby(times, lambda each: each[1])]
    assert sum(turns) == 40
    assert len(turns) <= 10


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_the_beginning_of_two_that_take_turns_can_be_left_out(programs: Path, steps: Path) -> None:
    (programs / "turning.py").write_text(TURNING)
    none = runs.duel("turning", Peer("other", before=("-u",), settles_s=60.0))
    assert (
        [len(run.stretches) for run in none] == [len(run.cpu_stretches) for run in none] == [0, 0]
    )
    assert all(run.loop_s > 0 for run in none)


def test_a_program_trains_for_several_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.programs import measured

    for arguments, expected in (([], 500), (["x3"], 1500), (["64"], 64)):
        monkeypatch.setattr(sys, "argv", ["program.py", *arguments])
        assert measured.steps(500) == expected


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
@pytest.mark.parametrize(("who", "when"), [("other", "in"), ("plain", "not in")])
def test_of_two_that_take_turns_one_fails(programs: Path, steps: Path, who: str, when: str) -> None:
    ends = f"if at == 12 and '-X' {when} sys.orig_argv: sys.exit('not like this')"
    source = TURNING.replace("        env.step()\n", f"        {ends}\n        env.step()\n")
    (programs / "failing.py").write_text(source)
    (run,) = runs.duel("failing", Peer("other", before=("-X", "utf8")))
    assert (run.peer, run.failed) == (who, "exit code 1: not like this")


def _alone(program: str, peer: Peer, **options: float) -> Run:
    (run,) = runs.alone(program, peer, **options)
    return run


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs of the test's own."""
    monkeypatch.setattr(runs, "PROGRAMS", tmp_path)
    for helper in runs.HELPERS:
        (tmp_path / helper).write_text("")
    return tmp_path


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_a_program_that_fails_is_a_row_and_not_a_crash(programs: Path) -> None:
    (programs / "broken.py").write_text("raise SystemExit('no such thing')")
    assert _alone("broken", PLAIN).failed == "exit code 1: no such thing"


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_one_that_goes_on_after_its_loop_is_ended_and_keeps_its_figures(programs: Path) -> None:
    said = "cpu 1.5\\nloop 2.5"
    (programs / "endless.py").write_text(
        f"import time\nprint('{said}', flush=True)\ntime.sleep(600)\n"
    )
    run = _alone("endless", PLAIN, longest_after_s=0.1)
    assert (run.failed, run.loop_s, run.cpu_s) == ("", 2.5, 1.5)
    assert run.ended == "not done 0 s after the loop"
    assert run.wall_s < 300


@pytest.mark.skipif(not SEEN, reason="memory and load are read from /proc")
def test_one_that_needs_too_much_memory_is_ended(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_MB", 200.0)
    (programs / "large.py").write_text(
        "import time\nheld = bytearray(300_000_000)\nheld[::4096] = b'x' * len(held[::4096])\n"
        "time.sleep(600)\n"
    )
    run = _alone("large", PLAIN)
    assert run.failed == "needs more than 0 GB of memory"
    assert run.wall_s < 300


def test_a_short_run_is_stretched_to_hours(tmp_path: Path) -> None:
    program = "import time\nfrom hotloop import profile\n" + (
        "for _ in range(30):\n    with profile('env.step'):\n        time.sleep(0.05)\n"
    )
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(tmp_path / "short")]
    scale.make([*command, "-c", program])
    short = read_capture(tmp_path / "short")
    stretch.stretch(short, tmp_path / "long", 3, 3)
    long = read_capture(tmp_path / "long")
    assert len(long.shards) == 4
    assert long.main.windows[-1].end_ns == pytest.approx(3 * 3600e9, rel=0.03)
    sizes = [path.stat().st_size for path in (tmp_path / "long").iterdir()]
    assert sum(sizes) < 5_000_000
    assert json.loads((tmp_path / "long" / "main.jsonl").read_text().splitlines()[-1])["e"]
