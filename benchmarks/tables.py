"""The tables of the proof, as Markdown: figures from the results, goals beside them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.figures import (
    Figure,
    Measure,
    added_memory,
    added_start,
    cpu_ratio,
    figure,
    loop_ratio,
)
from benchmarks.peers import HAND_TIMERS, HOTLOOP, HOTLOOP_LATER, HOTLOOP_TIMED, PEERS, Peer
from benchmarks.runs import NAMES, Run

TITLES = {
    "sb3_ppo": "PPO (SB3)",
    "sb3_dqn": "DQN (SB3)",
    "torchrl_ppo": "PPO (TorchRL)",
    "keras_dqn": "DQN (Keras)",
    "cleanrl_ppo": "PPO (CleanRL style)",
    "subproc_ppo": "PPO (SB3, 4 workers)",
}

#: Loop time over plain: of every program while every call is measured, and after that.
FIRST_GOAL = 1.02
LATER_MEDIAN_GOAL, LATER_WORST_GOAL = 1.005, 1.01
START_GOAL_S = 0.2
MEMORY_GOAL_MB = 15.0
SHARE_GOAL = 0.01
ATTRIBUTED_GOAL = 0.98


@dataclass(frozen=True)
class Goal:
    """A row of the table of goals."""

    what: str
    reach: str
    measured: str
    reached: bool | None = None

    def row(self) -> list[str]:
        mark = {True: "yes", False: "**no**", None: "not measured"}[self.reached]
        return [self.what, self.reach, self.measured, mark]


def markdown(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def goals_table(goals: Iterable[Goal]) -> str:
    return markdown(["what", "goal", "measured", "reached"], [goal.row() for goal in goals])


# -- cost --


def cost_tables(runs: list[Run]) -> list[str]:
    """Loop time, CPU time, start and memory of every peer on every program."""
    return [
        loop_table(runs),
        cpu_table(runs),
        start_table(runs),
        memory_table(runs),
        rounds_text(runs),
        failures_text(runs),
    ]


def loop_table(runs: list[Run]) -> str:
    return _by_peer(runs, loop_ratio, _ratio, "loop time, times plain")


def cpu_table(runs: list[Run]) -> str:
    return _by_peer(runs, cpu_ratio, _ratio, "CPU time in the loop, times plain")


def start_table(runs: list[Run]) -> str:
    return _by_peer(runs, added_start, _seconds, "first step, s later")


def memory_table(runs: list[Run]) -> str:
    return _by_peer(runs, added_memory, _megabytes, "resident, MB more")


def _by_peer(runs: list[Run], measure: Measure, show: Callable[[Figure], str], title: str) -> str:
    programs = _programs(runs)
    rows = []
    for peer in PEERS:
        figures = [figure(runs, program, peer.name, measure) for program in programs]
        if all(each.missing == "not measured" for each in figures):
            continue
        rows.append([peer.name, *("-" if each.missing else show(each) for each in figures)])
    return markdown([title, *(TITLES[program] for program in programs)], rows)


def _programs(runs: list[Run]) -> list[str]:
    return [name for name in NAMES if any(run.program == name for run in runs)]


def _ratio(each: Figure) -> str:
    return _with_range(each, ".3f")


def _seconds(each: Figure) -> str:
    return _with_range(each, "+.2f")


def _megabytes(each: Figure) -> str:
    return _with_range(each, "+.0f")


def _with_range(each: Figure, digits: str) -> str:
    """One round has no range."""
    middle, low, high = (format(value, digits) for value in (each.middle, each.low, each.high))
    return middle if low == middle == high else f"{middle} ({low} to {high})"


def rounds_text(runs: list[Run]) -> str:
    """How many rounds each program had, and how many of them others disturbed."""
    parts = []
    for program in _programs(runs):
        each = figure(runs, program, HOTLOOP.name, loop_ratio)
        if each.missing:
            continue
        total = each.rounds if each.all_rounds else each.rounds + each.disturbed
        used = "used all the same" if each.all_rounds else "left out"
        left_out = f", {each.disturbed} disturbed and {used}" if each.disturbed else ""
        seconds = statistics.median(
            run.loop_s for run in runs if run.program == program and run.beside == HOTLOOP.name
        )
        parts.append(f"{TITLES[program]}: {total} ({seconds:.1f} s plain{left_out})")
    return "Rounds of plain and hotloop: " + "; ".join(parts) + "."


def failures_text(runs: list[Run]) -> str:
    """Why some places of the tables are empty, and who had to be ended after the loop."""
    failed: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        why = run.failed or (f"ended, {run.ended}" if run.ended and run.round == 0 else "")
        if why and TITLES[run.program] not in failed.setdefault((run.peer, why), []):
            failed[run.peer, why].append(TITLES[run.program])
    lines = [f"- {peer}, {', '.join(on)}: {why}" for (peer, why), on in sorted(failed.items())]
    return "\n".join(lines) or "No peer failed."


def cost_goals(runs: list[Run]) -> list[Goal]:
    """Hotloop's own goals, and whether it is below every peer."""
    programs = _programs(runs)
    own = _ratios(runs, HOTLOOP.name, programs)
    if not own:
        return [Goal("loop time with hotloop's defaults", "", "")]
    peers = [peer for peer in PEERS if peer not in (HOTLOOP, HOTLOOP_LATER)]
    below, cheaper_ones = True, []
    for peer in peers:
        theirs = _ratios(runs, peer.name, programs)
        cheaper = [TITLES[name] for name, ratio in theirs.items() if ratio <= own.get(name, 0.0)]
        if cheaper:
            below = False
            cheaper_ones.append(f"{peer.name} is cheaper on {', '.join(cheaper)}")
    starts = _middles(runs, added_start, programs)
    memory = _middles(runs, added_memory, programs)
    slowest = max(starts, key=lambda name: starts[name])
    largest = max(memory, key=lambda name: memory[name])
    return [
        *loop_goals(runs, HOTLOOP, "in the first half minute", FIRST_GOAL, FIRST_GOAL),
        Goal(
            "the same, against the peers",
            "below every peer",
            "; ".join(cheaper_ones) or "below all",
            below,
        ),
        *loop_goals(
            runs, HOTLOOP_LATER, "after the first minute", LATER_MEDIAN_GOAL, LATER_WORST_GOAL
        ),
        Goal(
            "time from start to the first step, added",
            f"at most {START_GOAL_S} s",
            f"{starts[slowest]:+.2f} s at most ({TITLES[slowest]})",
            starts[slowest] <= START_GOAL_S,
        ),
        Goal(
            "resident memory added",
            f"at most {MEMORY_GOAL_MB:.0f} MB",
            f"{memory[largest]:+.1f} MB at most ({TITLES[largest]})",
            memory[largest] <= MEMORY_GOAL_MB,
        ),
    ]


def loop_goals(
    runs: list[Run], peer: Peer, when: str, median_goal: float, worst_goal: float
) -> list[Goal]:
    """Loop time over plain of the median program and of the worst one."""
    own = _ratios(runs, peer.name, _programs(runs))
    what = f"loop time {when}, times plain: "
    rows = [(f"{what}median program", median_goal), (f"{what}worst program", worst_goal)]
    if not own:
        return [Goal(name, f"at most {goal}", "") for name, goal in rows]
    worst = max(own, key=lambda name: own[name])
    figures = [statistics.median(own.values()), own[worst]]
    told = [f"{figures[0]:.3f}", f"{figures[1]:.3f} ({TITLES[worst]})"]
    return [
        Goal(name, f"at most {goal}", text, figure <= goal)
        for (name, goal), figure, text in zip(rows, figures, told, strict=True)
    ]


def _ratios(runs: list[Run], peer: str, programs: list[str]) -> dict[str, float]:
    figures = {name: figure(runs, name, peer, loop_ratio) for name in programs}
    return {name: each.middle for name, each in figures.items() if not each.missing}


def _middles(runs: list[Run], measure: Measure, programs: list[str]) -> dict[str, float]:
    figures = {name: figure(runs, name, HOTLOOP.name, measure) for name in programs}
    return {name: each.middle for name, each in figures.items() if not each.missing}


# -- accuracy --


def by_hand(run: Run) -> dict[str, float]:
    """Phase -> share of the loop, as the timers say."""
    return {name: each / run.timers["loop"] for name, each in run.timers["phases"].items()}


def by_hotloop(run: Run) -> dict[str, float]:
    """The same, as hotloop's report says."""
    return {name: each / run.report["loop_s"] for name, each in run.report["phases"].items()}


def same_run(runs: list[Run], program: str) -> dict[str, float]:
    """Phase -> hotloop's share less the timers' of the same run, the median over the runs."""
    rounds = [
        (by_hotloop(run), by_hand(run))
        for run in runs
        if run.program == program and run.peer == HOTLOOP_TIMED.name and not run.failed
    ]
    names = {name for _, hand in rounds for name in hand}
    return {
        name: statistics.median(own.get(name, 0.0) - hand.get(name, 0.0) for own, hand in rounds)
        for name in names
    }


def apart(runs: list[Run], program: str) -> dict[str, float]:
    """Phase -> hotloop's median share less that of the timers in runs without hotloop."""
    own = [run for run in runs if run.program == program and not run.failed]
    reports = [by_hotloop(run) for run in own if run.peer == HOTLOOP.name]
    timed = [by_hand(run) for run in own if run.peer == HAND_TIMERS.name]
    if not reports or not timed:
        return {}
    return {
        name: _median_share(reports, name) - _median_share(timed, name)
        for name in {name for each in timed for name in each}
    }


def _median_share(shares: list[dict[str, float]], name: str) -> float:
    return statistics.median(each.get(name, 0.0) for each in shares)


def accuracy_table(runs: list[Run]) -> str:
    """Each program's phases that were timed by hand, and how far hotloop's shares are off."""
    rows = []
    for program in _programs(runs):
        found = same_run(runs, program)
        if not found:
            continue
        own = [run for run in runs if run.program == program and run.peer == HOTLOOP_TIMED.name]
        hand = [by_hand(run) for run in own if not run.failed]
        shares = {name: _median_share(hand, name) for name in found}
        listed = ", ".join(
            f"{name} {shares[name]:.1%} ({found[name] * 100:+.2f})"
            for name in sorted(found, key=lambda name: -shares[name])
        )
        row = [TITLES[program], str(len(hand)), _largest(found), _largest(apart(runs, program))]
        rows.append([*row, listed])
    by = "shares by hand (hotloop's difference in the same run, points)"
    return markdown(["program", "runs", "same run, largest", "apart, largest", by], rows)


def _largest(found: dict[str, float]) -> str:
    if not found:
        return "-"
    worst = max(found, key=lambda name: abs(found[name]))
    return f"{found[worst] * 100:+.2f} ({worst})"


def accuracy_goals(runs: list[Run]) -> list[Goal]:
    """The largest difference of any phase of any program, in the same run and apart."""
    whats = {
        "each phase's share against a reference timed by hand inside the library": same_run,
        "the same, the reference in runs without hotloop": apart,
    }
    goals = []
    for what, compare in whats.items():
        found = [
            (abs(points), TITLES[program], name)
            for program in _programs(runs)
            for name, points in compare(runs, program).items()
        ]
        reach = f"within {SHARE_GOAL * 100:.0f} percentage point"
        if not found:
            goals.append(Goal(what, reach, ""))
            continue
        worst, title, name = max(found)
        measured = f"{worst * 100:.2f} points off at most ({title}, {name})"
        goals.append(Goal(what, reach, measured, worst <= SHARE_GOAL))
    return goals


# -- attributed --


def attributed(runs: list[Run]) -> dict[str, tuple[float, float]]:
    """Program -> (share of the loop in any phase, share in one finer than collect and learn)."""
    found = {}
    for program in _programs(runs):
        own = [run for run in runs if run.program == program and run.peer == HOTLOOP.name]
        reports = [run.report for run in own if run.report]
        if reports:
            found[program] = (
                statistics.median(report["coverage"] for report in reports),
                1 - statistics.median(report["unexplained"] for report in reports),
            )
    return found


def attributed_table(runs: list[Run]) -> str:
    rows = [
        [TITLES[program], f"{named:.1%}", f"{finer:.1%}"]
        for program, (named, finer) in attributed(runs).items()
    ]
    head = ["program", "in a phase", "in a phase finer than `collect` and `learn`"]
    return markdown(head, rows)


def attributed_goal(runs: list[Run]) -> Goal:
    what, reach = "share of loop time attributed, median program", f"at least {ATTRIBUTED_GOAL:.0%}"
    found = attributed(runs)
    if not found:
        return Goal(what, reach, "")
    named = statistics.median(each[0] for each in found.values())
    finer = statistics.median(each[1] for each in found.values())
    measured = f"{named:.1%} (finer than `collect` and `learn`: {finer:.1%})"
    return Goal(what, reach, measured, named >= ATTRIBUTED_GOAL)
