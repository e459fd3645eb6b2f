"""Causes that show over episodes: steps that get slower, resets that take long."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.cpu_threads import fastest_s
from hotloop.diagnose.evidence import (
    calls_of,
    finding,
    inner_lines,
    lines_by_time,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    workers,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.inside import SMALLEST_PART, inside_steps, side_by_side
from hotloop.phases import names_of

#: A step has grown if it is this many times slower at the end than at the beginning.
GROWN = 1.4
#: The fix brings the cost back to that of the first second or below, with an allowance for noise
#: (true of the four programs of the scoreboard and the frozen sets whose fix was measured).
GROWTH_WINS = 0.9


def growing_step_cost(analysis: Analysis) -> list[Finding]:
    """Steps get slower over the run, and the environment is why."""
    trends = analysis.trends
    trend = trends.per_call.get("env.step") if trends else None
    if trends is None or trend is None or not trend.grows or trend.ratio < GROWN:
        return []
    seconds = seconds_in(analysis, "env.step")
    spent = [(p.total.get("env.step", 0.0), p.calls.get("env.step", 0)) for p in trends.learning]
    first = next((s / c for s, c in spent if c), trend.first)
    calls = sum(c for _, c in spent)
    mean = sum(s for s, _ in spent) / calls if calls else 0.0
    grown = 1 - min(first, trend.first or first) / mean if mean > 0 else 0.0
    if of_loop(analysis, seconds * grown) < SMALLEST_PART:
        return []
    leak, grower = _grower(analysis)
    lines = inner_lines(inside_steps(analysis).samples)
    evidence = {
        "step_first_s": trend.first,
        "step_last_s": trend.last,
        "times_slower": trend.ratio,
        "p": trend.p,
        "container": grower,
    }
    named = f" (`{grower}` grows)" if grower else ""
    if leak:
        return [
            finding(
                analysis,
                "reset-leak",
                title=f"Steps get {trend.ratio:.1f} times slower because state leaks across "
                f"resets{named}",
                phase="env.step",
                seconds=seconds,
                low=GROWTH_WINS * grown,
                high=_upper(analysis, grown),
                confidence=HIGH,
                where=lines,
                evidence=evidence,
                fix="Objects from earlier episodes are kept, and every step visits them. Clear "
                "or rebuild the container in `reset`, and close what the simulator holds.",
                before=f"def reset(self):\n    self.{grower or 'objects'}.extend(self.spawn())",
                after=f"def reset(self):\n    self.{grower or 'objects'} = self.spawn()",
            )
        ]
    return [
        finding(
            analysis,
            "growing-step-cost",
            title=f"Environment steps keep getting slower: {trend.ratio:.1f} times from start "
            f"to end{named}",
            phase="env.step",
            seconds=seconds,
            low=GROWTH_WINS * grown,
            high=_upper(analysis, grown),
            confidence=HIGH,
            where=lines,
            evidence=evidence,
            fix="Each step goes through something that keeps growing. If it belongs to one "
            "episode, clear it in `reset`. If it is a history, keep a running value (a sum, the "
            "last entry) or a window of fixed length instead.",
            before="self.history.append(x)\nmean = np.mean(self.history)",
            after="self.total += x; self.count += 1\nmean = self.total / self.count",
        )
    ]


def _upper(analysis: Analysis, grown: float) -> float:
    """An upper bound: the first second has grown as well, but its fastest steps have not."""
    named = phases_named(analysis, "env.step")
    phases = [(phase, fastest_s(analysis, phase, windows=1)) for phase in named]
    total = sum(phase.total_s for phase, _ in phases)
    beyond = sum(phase.total_s - phase.calls * fast for phase, fast in phases if fast is not None)
    return min(max(grown + 0.4 * (1 - grown), beyond / total if total else 0.0), 0.99)


def _grower(analysis: Analysis) -> tuple[bool, str]:
    """(does it grow by resets?, the environment's attribute that grows)."""
    best: tuple[float, bool, str] = (0.0, False, "")
    for notes in (analysis.notes, *analysis.worker_notes.values()):
        for name, growth in notes.env_growth.items():
            if growth.size is None or growth.size <= best[0]:
                continue
            if growth.in_steps is not None and growth.in_resets is not None:
                leak = growth.in_resets > max(growth.in_steps, 0)
            else:
                # Growing by about one per step is a history; by less, something of each episode.
                each, length = growth.each_episode, analysis.run.steps_per_episode
                leak = each is not None and each < 0.5 * (length or 0)
            best = (growth.size, leak, name)
    return best[1], best[2]


#: A reset that takes as long as this many steps does more than reset the state.
RESET_STEPS = 10
#: From this share on resets are a cost of their own.
RESET_SHARE = 0.08
#: Reloading is replaced by a copy of what was loaded.
RESET_WINS = (0.75, 0.985)


def _in_resets(samples: list[Sample]) -> list[SourceLine]:
    """The program's lines in `reset` itself: what they call is to be called less often."""

    def resetting(sample: Sample) -> Frame | None:
        own = (frame for frame in sample.frames if frame.of_program)
        return next((frame for frame in own if frame.function.endswith(".reset")), None)

    return lines_by_time(samples, resetting, most=2)


def slow_reset(analysis: Analysis) -> list[Finding]:
    """Resets load or build what could be kept."""
    processes = workers(analysis) or ["main"]
    seconds = seconds_in(analysis, "env.reset")
    if processes != ["main"]:
        busy = [seconds_in(analysis, "env.reset", process=name) for name in processes]
        seconds = max(seconds, side_by_side(analysis, busy))
    resets = sum(calls_of(analysis, "env.reset", process=name) for name in processes)
    steps = analysis.run.env_steps
    if not resets or not steps or of_loop(analysis, seconds) < RESET_SHARE:
        return []
    stepping = inside_steps(analysis, "env.step").seconds
    # Vectors reset inside of their steps, and workers while a step is waited for.
    inside = seconds if processes != ["main"] else _in_steps(analysis)
    step_s = max(stepping - inside, 0.0) / steps
    if seconds / resets < RESET_STEPS * step_s:
        return []
    samples = samples_under(analysis, "env.reset", processes=processes)
    return [
        finding(
            analysis,
            "slow-reset",
            title=f"Resets take {of_loop(analysis, seconds):.0%} of the loop: "
            f"{units.seconds(seconds / resets)} each",
            phase="env.reset",
            seconds=seconds,
            low=RESET_WINS[0],
            high=RESET_WINS[1],
            confidence=MEDIUM,
            where=_in_resets(samples) or inner_lines(samples),
            evidence={"resets": resets, "reset_s": seconds / resets, "step_s": step_s},
            fix="Load or build the level once and keep a snapshot; a reset then only copies "
            "it. If episodes end after a few steps, find out why.",
            before="def reset(self):\n    self.level = load_level(path)",
            after="self.start = load_level(path)      # once, in __init__\n"
            "def reset(self):\n    self.level = self.start.copy()",
        )
    ]


def _in_steps(analysis: Analysis) -> float:
    """Seconds of resets that are a part of a step."""
    resets = phases_named(analysis, "env.reset")
    return sum(phase.total_s for phase in resets if "env.step" in names_of(phase.path)[:-1])


RULES: tuple[Rule, ...] = (growing_step_cost, slow_reset)
