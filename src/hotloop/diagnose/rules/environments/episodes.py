"""Causes that show over episodes: steps that get slower, slow resets."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.analyze.over_time.trends import PART, Trends
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    calls_of,
    finding,
    in_package,
    inner_lines,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    use_by,
    use_of,
    workers,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at, called_at, is_named
from hotloop.diagnose.rules.environments.environment_samples import (
    SMALLEST_PART,
    inside_steps,
    side_by_side,
    step_functions,
)
from hotloop.diagnose.rules.processes.cpu_threads import fastest_s
from hotloop.phases import LOOP_PHASES, names_of

#: A step has grown if it is this many times slower at the end than at the beginning.
GROWN = 1.4
#: The fix brings the cost back to that of the first second or below, with an allowance for noise
#: (true of the four programs of the scoreboard and the frozen sets whose fix was measured).
GROWTH_WINS = 0.9
#: A step right after a network call finds its caches cold, and the less a training explores, the
#: more of its steps do: a step of Gymnasium's CartPole went from 26 to 40 us (DQN in PyTorch).
COLD_S = 50e-6


def growing_step_cost(analysis: Analysis) -> list[Finding]:
    """Steps get slower over the run because of the environment."""
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
    if not grower and (
        trend.last - trend.first < COLD_S * _more_between_steps(trends)
        or _workers_lack_cores(analysis)  # other programs come and go
    ):
        return []
    lines = [*_grows_at(analysis, grower), *inner_lines(inside_steps(analysis).samples)]
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
                saves=(GROWTH_WINS * grown, _upper(analysis, grown)),
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
            title=f"Environment steps keep getting slower: {trend.ratio:.1f} times slower at "
            f"the end than at the start{named}",
            phase="env.step",
            seconds=seconds,
            saves=(GROWTH_WINS * grown, _upper(analysis, grown)),
            confidence=HIGH,
            where=lines,
            evidence=evidence,
            fix="Each step goes through something that keeps growing. If it belongs to one "
            "episode, clear it in `reset`. If it is a history, keep a running value (a "
            "sum, the last entry) or a window of fixed length instead.",
            before="self.history.append(x)\nmean = np.mean(self.history)",
            after="self.total += x; self.count += 1\nmean = self.total / self.count",
        )
    ]


def _more_between_steps(trends: Trends) -> float:
    """How many more calls of other phases a step has at the end than at the beginning."""

    def between(points: list[SeriesPoint]) -> float:
        others = sum(
            calls
            for point in points
            for name, calls in point.calls.items()
            if name in LOOP_PHASES and not name.startswith("env.")
        )
        return others / max(sum(point.steps for point in points), 1)

    part = max(int(len(trends.learning) * PART), 1)
    return max(between(trends.learning[-part:]) - between(trends.learning[:part]), 0.0)


#: Workers that wait for a core for this part of their time take as long as other programs let them.
LACK_CORES = 0.1


def _workers_lack_cores(analysis: Analysis) -> bool:
    """Whether workers waited for cores, for which no trend is corrected."""
    bounds = (analysis.process_bounds.get(name) for name in workers(analysis))
    return any(bound is not None and bound.cores > LACK_CORES for bound in bounds)


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
    for notes in analysis.all_notes:
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


_GROWS_BY = ("append", "extend", "add", "insert", "appendleft", "update", "setdefault")


def _grows_at(analysis: Analysis, container: str) -> list[SourceLine]:
    """The sampled lines that add to this container, which makes other lines slow."""
    names = frozenset(f"{container}.{method}" for method in _GROWS_BY if container)
    own = {frame.source_line for sample in analysis.samples for frame in sample.own}
    found = [at for at in own if any(is_named(c, names) for c in called_at(analysis, at).names)]
    return sorted(found, key=lambda line: (line.file, line.line))[:1]


#: A reset that takes as long as this many steps does more than reset the state.
RESET_STEPS = 10
#: Above this share, resets are reported separately.
RESET_SHARE = 0.08
#: Reloading is replaced by a copy of what was loaded: with three programs whose fix was measured,
#: all of the share went away.
RESET_WINS = (0.85, 0.985)


def _in_resets(samples: list[Sample]) -> list[SourceLine]:
    """The program's lines in `reset` itself, whose calls should be made less often."""

    def resetting(sample: Sample) -> Frame | None:
        own = sample.own
        return next((frame for frame in own if frame.function.endswith(".reset")), None)

    return use_by(samples, resetting).where(most=2)


def slow_reset(analysis: Analysis) -> list[Finding]:
    """Resets load or build something that could be kept."""
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
    # Vectors reset inside their steps, and workers while the main process waits for a step.
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
            saves=RESET_WINS,
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


#: Creating environments must take this share of the loop to be worth a finding.
MAKING_SHARE = 0.05
#: Environments that are created once cost nothing; a reset remains.
MAKING_WINS = (0.6, 0.97)
_MAKES = in_package("gymnasium/envs/registration", "gym/envs/registration")


def rebuilt_env(analysis: Analysis) -> list[Finding]:
    """Environments are recreated for each episode or task."""
    own = {f"{name}.__init__" for name in _environment_classes(analysis)}

    def makes(frame: Frame) -> bool:
        return frame.function in own or (frame.function == "make" and _MAKES(frame))

    uses = {
        process: use_of(samples_under(analysis, processes=[process]), makes)
        for process in ("main", *workers(analysis))
    }
    here = uses.pop("main")
    elsewhere = [use.seconds for use in uses.values()]
    waits = seconds_in(analysis, "wait")
    seconds = here.seconds + (min(side_by_side(analysis, elsewhere), waits) if elsewhere else 0.0)
    if of_loop(analysis, seconds) < MAKING_SHARE:
        return []
    lines = max([here, *uses.values()], key=lambda use: use.seconds).where()
    return [
        finding(
            analysis,
            "rebuilt-env",
            title=f"Creating environments takes {of_loop(analysis, seconds):.0%} of the "
            f"loop{at(lines)}",
            phase="env.reset",
            seconds=seconds,
            saves=MAKING_WINS,
            confidence=MEDIUM,
            where=lines,
            fix="Create each environment once per process, and `reset` it for the next episode "
            "or task.",
            before="def evaluate(weights):\n    env = Env()                # loads its level again",
            after="env = None                    # one per process\n\ndef evaluate(weights):\n"
            "    global env\n    env = env or Env()",
        )
    ]


def _environment_classes(analysis: Analysis) -> set[str]:
    """Classes whose methods run in steps, or were recognized as steps."""
    steps = samples_under(analysis, "env.step", processes=("main", *workers(analysis)))
    inner = (sample.line for sample in steps)
    functions = {line.function for line in inner if line is not None} | step_functions(analysis)
    return {name.rpartition(".")[0] for name in functions if not name.endswith(">")} - {""}


RULES: tuple[Rule, ...] = (growing_step_cost, slow_reset, rebuilt_env)
