"""`prove` decides from pairs of runs: what helps is confirmed, what does nothing is refuted."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from findings_made import found
from written_shards import write_run

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.contention import Contention
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.proofs import (
    CEILING,
    CONFIRMED,
    FAILED,
    NO_DIFFERENCE,
    NOT_TRIED,
    REFUTED,
    UNSAFE,
    Proof,
    TriedFix,
    read_proof,
    write_proof,
)
from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter
from hotloop.diagnose.finding import Gain
from hotloop.errors import HotloopError
from hotloop.experiment.command import parse_command
from hotloop.experiment.fixes import CHANGES, Fix
from hotloop.experiment.here import Job
from hotloop.experiment.launch import Launch, Outcome
from hotloop.experiment.prover import Prover, steps_before_learning

pytest.importorskip("scipy")

NOISE = 0.02
SAME = {"tensors": 2, "digest": "a", "norm": 1.0, "sketch": [1.0, 2.0]}


def lengths_ns(step_ms: float, chance: random.Random) -> list[int]:
    """Ten windows of a hundred steps."""
    return [int(step_ms * 1e8 * chance.gauss(1, NOISE))] * 10


class WrittenRuns:
    """A place whose runs take what their command says, and no time at all."""

    does_many = False

    def __init__(self, seed: int = 0, run_s: float = 5.0) -> None:
        self.run_s = run_s
        self.chance = random.Random(seed)
        self.now = 0.0
        self.folders: list[list[str]] = []
        self.stops: list[str | None] = []

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        for job in jobs:
            yield job, [self.run(launch) for launch in job.launches]

    def run(self, launch: Launch) -> Outcome:
        environment = launch.command.environment
        self.now += self.run_s
        self.stops.append(launch.stop_after)
        folder = Path(launch.command.folder or "")
        self.folders.append(sorted(path.name for path in folder.iterdir()))
        (folder / "checkpoint.pt").write_text("written by the program")
        if "BROKEN" in environment:
            return Outcome(launch.name, launch.capture, 1, 5.0, "failed", ["ValueError: no"])
        notes: dict[str, Any] = {"weights": {**SAME, "digest": environment.get("DIGEST", "a")}}
        options = launch.command.options
        if "--skip" in options:
            notes["altered"] = {"skip": {"env.step": {"calls": 9}}, "slow": {}}
        if "--fix" in options:
            notes["fixes"] = {"threads=1": 0}
        step_ms = 0.5 if "--skip" in options else float(environment.get("STEP_MS", "1.0"))
        write_run(Path(launch.capture), lengths_ns(step_ms, self.chance), notes, functions="off")
        return Outcome(launch.name, launch.capture, 0, 5.0)

    def close(self) -> None: ...


def change(name: str, learning: str = "", **environment: str) -> Fix:
    return Fix(name, f"how {name}", environment=environment, learning=learning)


def prove(
    folder: Path,
    fixes: dict[str, list[Fix]],
    allow: bool = False,
    seed: int = 0,
    budget_s: float = 600.0,
    place: WrittenRuns | None = None,
    run_gain: Gain | None = None,
    **environment: str,
) -> tuple[Proof, WrittenRuns]:
    program = folder / "program"
    program.mkdir(exist_ok=True)
    (program / "train.py").write_text("print('training')")
    (program / "checkpoint.pt").write_text("the user's")
    write_run(folder / "capture", lengths_ns(1.0, random.Random(1)), functions="off")
    analysis = analyze(read_capture(folder / "capture"))
    place = place or WrittenRuns(seed)
    findings = [found(id, 1.5, 2.0, phase="env.step", run_gain=run_gain) for id in fixes]
    prover = Prover(
        replace(parse_command("train.py"), folder=str(program), environment=environment),
        analysis,
        findings,
        lambda finding: fixes[finding.id],
        folder / "runs",
        place,
        lambda text: None,
        budget_s=budget_s,
        allow_learning_changes=allow,
        clock=lambda: place.now,
    )
    proof = prover.go()
    assert (program / "checkpoint.pt").read_text() == "the user's"
    assert sorted(path.name for path in program.iterdir()) == ["checkpoint.pt", "train.py"]
    return proof, place


def test_a_fix_that_helps_is_confirmed_with_its_gain(tmp_path: Path) -> None:
    proof, place = prove(tmp_path, {"logging": [change("faster", STEP_MS="0.5")]})
    tried = proof.tried[0]
    assert tried.verdict == CONFIRMED
    assert tried.gain is not None
    assert tried.low is not None
    assert 1.8 < tried.gain < 2.2
    assert 1.0 < tried.low <= tried.gain
    assert tried.weights == "same weights"
    # Each run starts from the program's own files, whatever the one before it has written.
    assert all(names == ["checkpoint.pt", "train.py"] for names in place.folders)
    assert not (tmp_path / "runs" / "scratch").exists()


def test_a_fix_that_does_nothing_is_refuted(tmp_path: Path) -> None:
    proof, _ = prove(tmp_path, {"logging": [change("nothing", OTHER="1")]})
    assert proof.tried[0].verdict == REFUTED
    assert proof.tried[0].why == "it makes no difference"


def test_of_many_that_do_nothing_few_are_confirmed(tmp_path: Path) -> None:
    confirmed = 0
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        proof, _ = prove(folder, {"logging": [change("nothing", OTHER="1")]}, seed=seed)
        confirmed += proof.tried[0].verdict == CONFIRMED
    assert confirmed <= 2


def test_a_gain_beyond_its_ceiling_is_measured_in_plain_time(tmp_path: Path) -> None:
    """Where nearly all time was waiting for a core, what is left of it says little."""

    class BusyRuns(WrittenRuns):
        def run(self, launch: Launch) -> Outcome:
            outcome = super().run(launch)
            if "OTHER" not in launch.command.environment:
                return outcome
            began = read_capture(launch.capture).main.header.started or 0.0
            marks = [(began, 0.0), (began + 1.0, 0.9)]
            return replace(outcome, contention=Contention(marks, 1.0))

    busy = {"logging": [change("nothing", OTHER="1")]}
    proof, _ = prove(tmp_path, busy, place=BusyRuns())
    assert proof.tried[0].verdict == REFUTED
    (tmp_path / "b").mkdir()
    proof, _ = prove(tmp_path / "b", {"logging": [change("faster", STEP_MS="0.1")]})
    assert proof.tried[0].verdict == CONFIRMED
    assert proof.tried[0].gain == pytest.approx(10.0, rel=0.1)


def test_the_program_runs_once_more_only_to_explain_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    _, place = prove(tmp_path / "a", {"logging": [change("faster", STEP_MS="0.5")]})
    assert len(place.folders) % 2 == 0
    _, place = prove(tmp_path, {"logging": [change("broken", BROKEN="1")]})
    assert len(place.folders) in (2, 3)


def test_the_likeliest_fix_gets_enough_pairs_of_a_small_budget(tmp_path: Path) -> None:
    fixes = {id: [change("faster", STEP_MS="0.5")] for id in ("logging", "evaluation", "retracing")}
    proof, _ = prove(tmp_path, fixes, budget_s=19.0, place=WrittenRuns(run_s=2.0))
    assert [each.verdict for each in proof.tried] == [CONFIRMED, NOT_TRIED, NOT_TRIED]
    assert proof.tried[0].pairs == 4


def test_runs_reach_well_into_learning(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main", "functions": "off"})
    for number in range(4):
        begin, counters = number * 10**9, {"env_steps": 100}
        if number >= 2:
            counters["gradient_steps"] = 50
        phases = {"env.step": PhaseDelta(100, 10**9, 10**9, 1, 10**9)}
        window = Window(number, number, begin, begin + 10**9, phases, counters)
        window.loop_last_ns = begin + 10**9
        writer.window(window)
    writer.end({"reason": "exit", "code": 0})
    assert steps_before_learning(analyze(read_capture(tmp_path))) == 300


def test_the_next_fix_is_tried_where_one_fails(tmp_path: Path) -> None:
    fixes = [change("broken", BROKEN="1"), change("faster", STEP_MS="0.5")]
    proof, _ = prove(tmp_path, {"logging": fixes})
    assert [each.verdict for each in proof.tried] == [FAILED, CONFIRMED]
    assert proof.tried[0].why == "failed: ValueError: no"


def test_a_program_that_does_not_run_again_is_no_fault_of_a_fix(tmp_path: Path) -> None:
    fixes = {"logging": [change("faster", STEP_MS="0.5")]}
    with pytest.raises(HotloopError, match="the program does not run a second time"):
        prove(tmp_path, fixes, BROKEN="1")


def test_confirmed_fixes_are_tried_together(tmp_path: Path) -> None:
    fixes = {
        "logging": [change("one", STEP_MS="0.7")],
        "evaluation": [change("two", STEP_MS="0.5", DIGEST="b")],
    }
    proof, _ = prove(tmp_path, fixes)
    assert proof.together is not None
    assert proof.together.fix == "one + two"
    assert proof.together.verdict == CONFIRMED
    assert proof.tried[1].weights == "same to rounding"


def test_fixes_of_whole_runs_are_tried_together_on_whole_runs(tmp_path: Path) -> None:
    fixes = {
        "data-loading": [change("one", STEP_MS="0.7")],
        "slow-start": [change("two", STEP_MS="0.5")],
    }
    proof, place = prove(tmp_path, fixes, run_gain=Gain(3.0, 4.0))
    assert proof.together is not None
    assert proof.together.verdict == CONFIRMED
    assert set(place.stops) == {None}


def test_what_changes_learning_is_tried_only_when_allowed(tmp_path: Path) -> None:
    fixes = {"update-ratio": [change("fewer", CHANGES, STEP_MS="0.5")]}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    proof, _ = prove(tmp_path / "a", fixes)
    assert [each.verdict for each in proof.tried] == [NOT_TRIED]
    assert "--allow-learning-changes" in proof.tried[0].why
    proof, _ = prove(tmp_path / "b", fixes, allow=True)
    assert [each.verdict for each in proof.tried] == [CONFIRMED]


def test_a_finding_without_a_fix_gets_a_measured_ceiling(tmp_path: Path) -> None:
    proof, _ = prove(tmp_path, {"env-bound": []})
    assert proof.tried[0].verdict == CEILING
    assert proof.tried[0].gain == pytest.approx(2.0, rel=0.1)


def test_a_fix_that_never_took_effect_proves_nothing(tmp_path: Path) -> None:
    proof, _ = prove(tmp_path, {"cpu-quota": [Fix("threads", "", fixes=("threads=1",))]})
    assert proof.tried[0].verdict == FAILED
    assert "never took effect" in proof.tried[0].why


def test_a_proof_is_read_as_it_was_written(tmp_path: Path) -> None:
    proof, _ = prove(tmp_path, {"logging": [change("faster", STEP_MS="0.5")]})
    write_proof(tmp_path / "capture", proof)
    assert read_proof(tmp_path / "capture") == proof
    analysis = analyze(read_capture(tmp_path / "capture"))
    assert analysis.proof == proof


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tried": [{}], "together": null}'])
def test_a_damaged_proof_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "proof.json").write_text(text)
    assert read_proof(tmp_path) is None


def test_a_fix_without_time_was_not_tried(tmp_path: Path) -> None:
    proof, _ = prove(tmp_path, {"logging": [change("faster", STEP_MS="0.5")]}, budget_s=3.0)
    assert [each.verdict for each in proof.tried] == [NOT_TRIED]
    assert proof.tried[0].why.startswith("no time left")


def result(verdict: str, fix: str = "a", why: str = "") -> TriedFix:
    return TriedFix("logging", fix, verdict, 1.0, 0.99, 1.01, 8, why=why)


def test_a_finding_is_refuted_only_if_all_of_its_fixes_are() -> None:
    proof = Proof("train.py", "runs", 300.0)

    def verdict(*tried: TriedFix) -> str:
        proof.tried = list(tried)
        best = proof.of("logging")
        return f"{best.verdict}: {best.why}" if best is not None else ""

    refuted = result(REFUTED, why=NO_DIFFERENCE)
    assert verdict(refuted, result(UNSAFE)) == "refuted: it makes no difference"
    assert verdict(refuted, result(CONFIRMED)) == "confirmed: "
    left = verdict(refuted, result(NOT_TRIED, "b"))
    assert left == "unclear: it makes no difference, but b was not tried"
    assert verdict(result(FAILED, "b"), refuted).endswith("but b failed")
