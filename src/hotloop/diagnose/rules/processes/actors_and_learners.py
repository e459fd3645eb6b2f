"""Actors and learners that feed each other: one of the two sides waits.

Actors play with their own copy of the policy and pass transitions to a learner, through a queue, a
pipe or shared memory. The slower side is the bottleneck; the other waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotloop import units
from hotloop.analyze.model import Analysis, RunRow
from hotloop.analyze.processes.awaited_threads import THREAD
from hotloop.analyze.processes.process_groups import group_of
from hotloop.analyze.processes.run_table import BETWEEN, SLOWEST, WAITS
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    calls_of,
    cores,
    finding,
    inner_lines,
    of_loop,
    phases_named,
    seconds_in,
    workers,
)
from hotloop.diagnose.finding import LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at
from hotloop.phases import names_of

LEARNING = ("learn", "learn.forward", "learn.loss", "learn.backward", "learn.optimizer",
            "learn.step")  # fmt: skip
_ACTS = ("policy.act", "inference")

#: Waiting below this share of the loop is the normal price of handing something over.
STARVED = 0.25
#: The actors' work is this part of what the learner waits.
THEIR_WORK = 0.5
#: Actors that are blocked outside of queues for this part of their time (a simulator, a network)
#: leave their cores to others.
BLOCKED_ELSEWHERE = 0.3
#: Actors that wait for a core for this part of their time have none to spare.
CORES_SHORT = 0.15
#: How close to its proportional gain one gets with more actors. An estimate.
MORE_ACTORS = 0.5
#: More than this many times the actors is no small change. A choice.
MOST_TIMES = 8
#: How much of the work that most of the waiting is for a change saves. An estimate.
FASTER_ACTORS = (0.2, 0.95)
#: How much of the actors' idle time a faster learner turns into steps. An estimate.
FASTER_LEARNER = (0.25, 1.0)


@dataclass(frozen=True)
class _Sides:
    """Who plays and who waits; shares of the loop, means over the actors."""

    actors: list[str]
    learner_waits: float
    actors_wait: float
    #: Blocked outside of queues: by a simulator, a network.
    blocked: float
    #: Running, or waiting for a core.
    computing: float
    short_of_cores: float
    in_threads: bool = False


def _sides(analysis: Analysis) -> _Sides | None:
    """Both sides of a program whose main process learns while others play and act."""
    if not any(phases_named(analysis, *LEARNING)):
        return None
    own = sum(
        phase.loop_s
        for phase in phases_named(analysis, "wait")
        if not any(name.startswith("env.") for name in names_of(phase.path))
    )
    waits = of_loop(analysis, own)
    actors = [name for name in workers(analysis) if name not in analysis.notes.trains_beside]
    return _processes(analysis, actors, waits) if actors else _threads(analysis, waits)


def _processes(analysis: Analysis, actors: list[str], waits: float) -> _Sides | None:
    bounds = [b for name, b in analysis.process_bounds.items() if name in actors]
    acting = {p.process for p in analysis.phases if p.name in _ACTS and p.process != "main"}
    if not acting or calls_of(analysis, "policy.act") or not bounds:
        return None  # environments that the main process drives
    idle = sum(seconds_in(analysis, "wait", process=name) for name in actors)
    busy = sum(bound.python + bound.native + bound.cores for bound in bounds)
    return _Sides(
        actors,
        waits,
        of_loop(analysis, idle / len(actors)),
        _blocked_elsewhere(analysis, actors),
        busy / len(bounds),
        sum(bound.cores for bound in bounds) / len(bounds),
    )


def _threads(analysis: Analysis, waits: float) -> _Sides | None:
    """Actors in threads; Python's code of all of them shares one core."""
    steps = [
        phase
        for phase in analysis.phases_of.get("main", ())
        if phase.thread != "main" and phase.name == "env.step"
    ]
    actors = sorted({phase.thread for phase in steps})
    if not actors:
        return None
    stepping = sum(of_loop(analysis, phase.total_s) for phase in steps) / len(actors)
    blocked = sum(
        of_loop(analysis, phase.self_s) * (phase.waiting_share or 0.0) for phase in steps
    ) / len(actors)  # fmt: skip
    return _Sides(actors, waits, 1 - stepping, blocked, 1 - blocked, 0.0, in_threads=True)


def few_actors(analysis: Analysis) -> list[Finding]:
    """The learner waits for actors, and there is room for more of them."""
    sides = _starved_learner(analysis)
    if sides is None:
        return []
    count, share = len(sides.actors), sides.learner_waits
    more = _more_actors(analysis, sides)
    if more <= count:
        return []
    # The learner is the limit once it no longer waits.
    gained = min(more / count, 1 / max(1 - share, 1 / more))
    least = 1 + MORE_ACTORS * (gained - 1)
    blocked, kind = sides.blocked, "thread" if sides.in_threads else "process"
    lines = _lines(_work_of(analysis, sides)[:1])
    meanwhile = (
        f"blocked {blocked:.0%} of their own time{at(lines[:1])}"
        if blocked >= BLOCKED_ELSEWHERE
        else "while cores are idle"
    )
    return [
        finding(
            analysis,
            "few-actors",
            title=f"The learner waits {share:.0%} of the loop for "
            f"{units.plural(count, 'actor')}, {meanwhile}: about {more} would keep it "
            "busy",
            phase="wait",
            seconds=share * analysis.run.steady_s,
            saves=((1 - 1 / least) / share, (1 - 1 / gained) / share),
            confidence=MEDIUM,
            where=callers(analysis, "wait") + lines[:1],
            evidence={
                "actors": count,
                "actors_blocked_share": blocked,
                "cores": cores(analysis),
            },
            fix="Start more actors: one that waits for its environment needs no core. Or step "
            "several environments in each actor at once.",
            before=f"actors = [{kind.title()}(target=play) for _ in range({count})]",
            after=f"actors = [{kind.title()}(target=play) for _ in range({more})]",
            learning="Transitions come from more environments at a time.",
        )
    ]


def _starved_learner(analysis: Analysis) -> _Sides | None:
    sides = _sides(analysis)
    if sides is None or sides.learner_waits < max(STARVED, sides.actors_wait):
        return None
    worked = sum(row.seconds for row in _work_of(analysis, sides))
    # It may wait for another process: a replay buffer, or an answer to its weights.
    return sides if of_loop(analysis, worked) >= THEIR_WORK * sides.learner_waits else None


def slow_actors(analysis: Analysis) -> list[Finding]:
    """The learner waits for actors that keep the cores busy."""
    sides = _starved_learner(analysis)
    if sides is None or sides.in_threads or _more_actors(analysis, sides) > len(sides.actors):
        return []
    rows = _work_of(analysis, sides)
    if not rows:
        return []
    largest, count, lines = rows[0], len(sides.actors), _lines(rows)
    return [
        finding(
            analysis,
            "slow-actors",
            title=f"The learner waits {sides.learner_waits:.0%} of the loop for "
            f"{units.plural(count, 'actor')}; their `{largest.name}`{at(lines)} is "
            f"{largest.share:.0%} of the loop",
            phase=largest.name,
            seconds=largest.seconds,
            saves=FASTER_ACTORS,
            confidence=LOW,
            where=lines,
            evidence={"actors": count, "cores": cores(analysis)}
            | {f"{row.name}_share": row.share for row in rows[:3]},
            fix="The actors keep all cores busy, so more actors would not help. Make each of "
            "their steps cheaper, or choose actions for several environments in one call.",
            before="action = policy(torch.as_tensor(obs)[None])          # one environment",
            after="actions = policy(torch.as_tensor(observations))      # 16 environments",
        )
    ]


def _work_of(analysis: Analysis, sides: _Sides) -> list[RunRow]:
    """The work of the actors while the learner waited, largest first."""
    groups = {THREAD} if sides.in_threads else {group_of(name) for name in sides.actors}
    return [
        row
        for row in analysis.run_table
        if row.process in groups and row.name not in WAITS and row.kind not in (SLOWEST, BETWEEN)
    ]


def _lines(rows: list[RunRow]) -> list[SourceLine]:
    return [line for row in rows[:3] if (line := row.source_line)]


def _more_actors(analysis: Analysis, sides: _Sides) -> int:
    """How many actors keep the learner busy, as far as cores allow."""
    count = len(sides.actors)
    have = 1 if sides.in_threads else cores(analysis)
    if have is None or sides.short_of_cores > CORES_SHORT:
        return count
    # With more actors, the learner has more to do, too.
    each = max(sides.computing + (1 - sides.learner_waits) / count, 1e-3)
    wanted = round(count / max(1 - sides.learner_waits, 0.02))
    return max(min(wanted, int(have / each), MOST_TIMES * count), count)


def _blocked_elsewhere(analysis: Analysis, actors: list[str]) -> float:
    """The part of the actors' time in which they are blocked outside of queues."""
    blocked = whole = 0.0
    for sample in analysis.samples:
        if sample.process in actors:
            whole += sample.seconds
            blocked += sample.seconds * (sample.waiting and sample.phase not in WAITS)
    return blocked / whole if whole else 0.0


def slow_learner(analysis: Analysis) -> list[Finding]:
    """Actors wait because the learner does not take what they made."""
    sides = _sides(analysis)
    if sides is None or sides.in_threads:
        return []
    if sides.actors_wait < STARVED or sides.learner_waits >= STARVED:
        return []
    lines = _where_they_wait(analysis, sides.actors)
    updates, steps = analysis.run.gradient_steps, analysis.run.env_steps
    per_step = f", {units.rate(updates / steps)} updates for each step" if steps else ""
    return [
        finding(
            analysis,
            "slow-learner",
            title=f"{units.plural(len(sides.actors), 'actor')} wait {sides.actors_wait:.0%} of "
            f"the loop{at(lines)} for the learner, which rarely waits{per_step}",
            phase="learn",
            seconds=sides.actors_wait * analysis.run.steady_s,
            saves=FASTER_LEARNER,
            confidence=LOW,
            where=callers(analysis, *LEARNING) + lines[:1],
            evidence={
                "actors": len(sides.actors),
                "actors_wait_share": sides.actors_wait,
                "learner_waits_share": sides.learner_waits,
                "updates_per_step": updates / steps if steps else None,
            },
            fix="The learner is the bottleneck, so more or faster actors do not help. Learn "
            "from larger batches with fewer updates, move preprocessing from the learner "
            "into the actors, or run fewer actors.",
            before="for transition in queue.get():\n    update([transition])",
            after="update(queue.get())                 # the whole chunk as one batch",
            learning="With fewer updates, the agent learns less from each step.",
        )
    ]


def _where_they_wait(analysis: Analysis, actors: list[str]) -> list[SourceLine]:
    waiting = [
        sample for sample in analysis.samples if sample.process in actors and sample.phase == "wait"
    ]
    return inner_lines(waiting)


#: A policy server that answers fewer requests at a time has room for more.
FEW_REQUESTS = 4.0
#: Its work must be this share of what the loop waits for.
SERVER_SHARE = 0.2
#: The part that goes away if all waiting requests are answered at once. An estimate.
SERVER_WINS = (0.3, 0.9)


def unbatched_inference(analysis: Analysis) -> list[Finding]:
    """A process that chooses actions for others answers one request at a time."""
    playing = {group_of(name) for name in workers(analysis)}
    servers = {
        row.process
        for row in analysis.run_table
        if row.name in _ACTS and row.process not in {"main", THREAD, *playing}
    }
    rows = [
        row
        for row in analysis.run_table
        if row.process in servers and row.kind not in (SLOWEST, BETWEEN) and row.name not in WAITS
    ]
    seconds = sum(row.seconds for row in rows)
    calls = sum(
        phase.calls
        for phase in analysis.phases
        if phase.name in _ACTS and group_of(phase.process) in servers
    )
    each = analysis.run.env_steps / calls if calls else FEW_REQUESTS
    if of_loop(analysis, seconds) < SERVER_SHARE or each >= FEW_REQUESTS:
        return []
    lines = _lines(sorted(rows, key=lambda row: -row.seconds))
    return [
        finding(
            analysis,
            "unbatched-inference",
            title=f"{rows[0].process} chooses actions for {each:.1f} environments per call of its "
            f"network: {of_loop(analysis, seconds):.0%} of the loop",
            phase="inference",
            seconds=seconds,
            saves=SERVER_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={"calls": calls, "environments_per_call": each},
            fix="A network call costs about the same for 16 rows as for one. Take all pending "
            "requests from the queue and answer them with one call, and let each worker "
            "send the observations of all its environments in one request.",
            before="request = requests.get()\naction = policy(observations[request][None])",
            after="waiting = [requests.get()]\nwhile not requests.empty():\n"
            "    waiting.append(requests.get())\nactions = policy(observations[waiting])",
        )
    ]


RULES: tuple[Rule, ...] = (few_actors, slow_actors, slow_learner, unbatched_inference)
