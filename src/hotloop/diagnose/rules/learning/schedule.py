"""How often the loop learns and evaluates, and slowdowns that are healthy."""

from __future__ import annotations

import itertools

from hotloop import units
from hotloop.analyze.kind import learns_from_data
from hotloop.analyze.model import Analysis, Sample
from hotloop.capture import schema
from hotloop.diagnose.evidence import (
    Use,
    callers,
    calls_of,
    finding,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    uses,
    vector_size,
)
from hotloop.diagnose.finding import HEALTHY, HIGH, Finding, Gain, Rule
from hotloop.diagnose.rules.learning.evaluating import evaluated_by, evaluated_inline, played_apart
from hotloop.phases import names_of

LEARN = ("learn", "learn.forward", "learn.loss", "learn.backward", "learn.optimizer",
         "learn.step", "learn.fit", "learn.target", "buffer.sample")  # fmt: skip

# -- gradient steps --

#: Gradient steps for each step of all environments together. Published recipes make one (SAC, TD3)
#: or less (DQN, 0.25); four are far above all but those designed for it (REDQ, DroQ: 20).
UPDATES_A_ROUND = 4.0
#: The share of the loop from which fewer updates matter.
LEARN_SHARE = 0.3
#: The rate that the gain is computed for: one gradient step per round costs 1/n of n, with larger
#: batches up to twice that.
FEWER = (1.0, 2.0)
#: Advantages below this fraction of the time spent drawing batches were inferred by mistake.
STRAY_ADVANTAGE = 0.1


def update_ratio(analysis: Analysis) -> list[Finding]:
    """Many gradient steps for each environment step of an off-policy method."""
    run = analysis.run
    envs = vector_size(analysis)
    rounds = run.env_steps / envs if envs else 0.0
    updates = run.counters.get(schema.GRADIENT_STEPS, 0.0)
    if not rounds or not updates or not _is_off_policy(analysis):
        return []
    if learns_from_data(analysis):
        return []
    each = updates / rounds
    seconds = seconds_in(analysis, *LEARN)
    if each < UPDATES_A_ROUND or of_loop(analysis, seconds) < LEARN_SHARE:
        return []
    return [
        finding(
            analysis,
            "update-ratio",
            title=f"{units.plural(each, 'gradient step')} per step of "
            f"{'the environment' if envs == 1 else f'{envs} environments'}: learning is "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="learn",
            seconds=seconds,
            saves=(1 - min(FEWER[1] / each, 0.6), 1 - FEWER[0] / each),
            confidence=HIGH,
            where=callers(analysis, "learn.backward", "learn.step", "learn", above=1),
            evidence={
                "gradient_steps_per_env_step": run.updates_per_step,
                "gradient_steps_per_vector_step": each,
                "batch_size": run.batch_size,
            },
            fix="Make fewer gradient steps with larger batches: one step with four times the "
            "batch size costs little more. Start with one update per vector step and "
            "increase it while the return per hour still rises.",
            before=_many(analysis, each),
            after=_few(analysis),
            learning="This changes the algorithm: the agent learns less from each step, though "
            "more steps fit into an hour. Compare the return, not only the speed.",
        )
    ]


def _is_off_policy(analysis: Analysis) -> bool:
    """Batches are drawn from a replay buffer, and almost no advantages are computed.

    What a program does before its first update may be mistaken for an advantage once.
    """
    drawing = seconds_in(analysis, "buffer.sample")
    return drawing > 0 and seconds_in(analysis, "advantage") < STRAY_ADVANTAGE * drawing


def _many(analysis: Analysis, each: float) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return f"model = SAC(…, train_freq=1, gradient_steps={each:.0f}, batch_size=64)"
    return f"for _ in range({each:.0f}):\n    train_step(batch_size=128)"


def _few(analysis: Analysis) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return "model = SAC(…, train_freq=1, gradient_steps=1, batch_size=256)"
    return "train_step(batch_size=512)"


# -- what is not training --

#: Evaluating below this share of the loop is the price of knowing.
EVALUATE_SHARE = 0.10
#: Fewer evaluations than this in a run are not many, unless they take this share of it.
OFTEN = 4
EVALUATE_MOST = 0.4
#: From a fifth as often to almost never.
EVALUATE_WINS = (0.78, 0.97)


def evaluation(analysis: Analysis) -> list[Finding]:
    """Evaluations take a large part of the run."""
    seconds = seconds_in(analysis, "evaluate")
    times: int | None = calls_of(analysis, "evaluate")
    inline = evaluated_inline(analysis)
    if inline.seconds > seconds:
        seconds, times = inline.seconds, None  # these were not counted
    apart = played_apart(analysis)
    if apart.seconds > seconds:
        seconds, times, inline = apart.seconds, None, apart
    within = _played_in_callbacks(analysis)
    if within > seconds:
        seconds, times, inline = within, None, _called_back(analysis)
    if of_loop(analysis, seconds) < EVALUATE_SHARE:
        return []
    if times is not None and times < OFTEN and of_loop(analysis, seconds) < EVALUATE_MOST:
        return []
    frames = (frame for sample in analysis.samples for frame in sample.frames)
    by_library = any(frame.function.startswith("EvalCallback.") for frame in frames)
    return [
        finding(
            analysis,
            "evaluation",
            title=f"{'Evaluations' if times is None else f'{times} evaluations'} take "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="evaluate",
            seconds=seconds,
            saves=EVALUATE_WINS,
            confidence=HIGH,
            where=inline.where()
            if times is None
            else evaluated_by(analysis) or callers(analysis, "evaluate"),
            evidence={
                "evaluations": times,
                "steps_between": analysis.run.env_steps / times if times else None,
                "each_s": seconds / times if times else None,
            },
            fix="Evaluate a fifth as often, with fewer episodes and a cap on their length, in "
            "several environments at once. The agent learns nothing from evaluations.",
            before="EvalCallback(env, eval_freq=1_000, n_eval_episodes=20)"
            if by_library
            else "if step % 1_000 == 0:\n    evaluate(agent, episodes=20)",
            after="EvalCallback(env, eval_freq=20_000, n_eval_episodes=5)"
            if by_library
            else "if step % 20_000 == 0:\n    evaluate(agent, episodes=5)",
            learning="No change, except that the curve has fewer points and the best model is "
            "chosen from fewer candidates.",
        )
    ]


#: Phases of an evaluation.
_PLAYS = ("env.step", "env.reset", "policy.act")


def _played_in_callbacks(analysis: Analysis) -> float:
    """Seconds in which a library's callback plays: training steps are the library's own."""
    played = [p for p in phases_named(analysis, *_PLAYS) if "callback" in names_of(p.path)]
    return sum(p.total_s for p in played) if any(p.name == "env.step" for p in played) else 0.0


def _callback_samples(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis, "callback") if set(_PLAYS) & set(s.phases)]


def _called_back(analysis: Analysis) -> Use:
    """These samples by the program's line: the outermost one that a library calls."""
    use = Use()
    for sample in _callback_samples(analysis):
        inward = sample.frames[::-1]
        below = itertools.dropwhile(lambda frame: frame.of_program, inward)
        frame = next(
            (frame for part in (below, inward) for frame in part if frame.of_program), None
        )
        use.add(frame.source_line if frame else None, sample.seconds)
    return use


# -- healthy --

#: Steps per second must fall by this much to need an explanation.
WONDER = 1.3
#: With this many windows before the first update, the beginning is a separate part.
BEFORE_UPDATES = 1
#: How much longer episodes must get, and how little slower the steps may.
LONGER = 1.5
FLAT = 1.25


def learning_starts(analysis: Analysis) -> list[Finding]:
    """The run slowed down once, where its gradient steps began."""
    trends = analysis.trends
    # The first rollout of an on-policy method comes before any update too.
    if trends is None or not trends.points or not _is_off_policy(analysis):
        return []
    if learns_from_data(analysis):
        return []
    before = trends.points[: len(trends.points) - len(trends.learning)]
    # The point in which updates begin is half and half.
    after = trends.learning[1:] or trends.learning
    steps_before, steps_after = sum(p.steps for p in before), sum(p.steps for p in after)
    if len(before) < BEFORE_UPDATES or not steps_before or not steps_after:
        return []
    fast = sum(p.wall_s for p in before) / steps_before
    slow = sum(p.wall_s for p in after) / steps_after
    if slow < WONDER * fast:
        return []
    more = {n: 0.0 for p in after for n in p.own}
    for name in more:
        more[name] = sum(p.own.get(name, 0.0) for p in after) / steps_after
        more[name] -= sum(p.own.get(name, 0.0) for p in before) / steps_before
    learning = sum(s for n, s in more.items() if n in LEARN or n == "buffer.sample")
    if learning < 0.6 * (slow - fast):
        return []
    return [
        _explanation(
            "learning-starts",
            f"Steps get {slow / fast:.1f} times slower once gradient steps begin, as expected: "
            "before that, nothing was learned",
            "learn",
            "Nothing to change. Judge the speed of this run after its first updates.",
            {"step_before_s": fast, "step_after_s": slow, "learning_s": learning},
        )
    ]


def longer_episodes(analysis: Analysis) -> list[Finding]:
    """Episodes take longer because the agent survives, not because the code is slower."""
    trends = analysis.trends
    if trends is None or trends.slowdown is None or trends.steps_per_episode is None:
        return []
    slowdown, steps = trends.slowdown, trends.steps_per_episode
    if not steps.grows or min(slowdown.episodes_longer, slowdown.episode) < LONGER:
        return []
    # Other load on the machine slows every phase alike; that is not the program's fault.
    if slowdown.steps_slower / slowdown.everything_slower > FLAT:
        return []
    if slowdown.steps_slower > slowdown.episodes_longer:
        return []  # that is the smaller part of it, whatever the other one is
    return [
        _explanation(
            "longer-episodes",
            f"Episodes have {slowdown.episodes_longer:.1f} times as many steps at the end as at "
            f"the start{_as_the_return_rose(analysis)}, so each takes {slowdown.episode:.1f} "
            f"times as long; {_pace(slowdown.steps_slower)}",
            "collect",
            "Nothing to change: the agent survives longer. Measure progress and set the budget "
            "in environment steps, not in episodes.",
            {
                "episodes_longer": slowdown.episodes_longer,
                "steps_slower": slowdown.steps_slower,
                "everything_slower": slowdown.everything_slower,
                "predicted_from_first_part_s": slowdown.predicted_s,
                "actual_s": slowdown.actual_s,
            },
        )
    ]


def _pace(slower: float) -> str:
    return "steps got no slower" if slower <= 1 else f"a step takes {slower:.2f} times as long"


def _as_the_return_rose(analysis: Analysis) -> str:
    """How the return changed with longer episodes, if it is known and rose."""
    points, last = analysis.returns.points, analysis.returns.last
    if len(points) < 2 or last is None or last <= points[0].mean:
        return ""
    return f" (the return rose from {points[0].mean:.3g} to {last:.3g})"


def _explanation(id: str, title: str, phase: str, fix: str, evidence: dict[str, object]) -> Finding:
    return Finding(
        id=id,
        severity=HEALTHY,
        title=title,
        phase=phase,
        gain=Gain(1.0, 1.0),
        confidence=HIGH,
        fix=fix,
        verify="",
        evidence=evidence,
    )


RULES: tuple[Rule, ...] = (
    update_ratio,
    evaluation,
    learning_starts,
    longer_episodes,
)
