"""Loops that wait for other processes: ranks, environment runners, actors.

Rules here read the run table (`analysis.run_table`), where waiting is replaced by the work waited
for.
"""

from __future__ import annotations

from collections.abc import Callable

from hotloop import units
from hotloop.analyze.model import Analysis, RunRow
from hotloop.analyze.processes.process_groups import group_of
from hotloop.analyze.processes.run_table import BETWEEN, COMMUNICATION, SLOWEST, WAITS
from hotloop.analyze.sums import summed
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    cores,
    finding,
    of_loop,
    phases_named,
    seconds_in,
    uses,
    where,
    workers,
)
from hotloop.diagnose.finding import HIGH, LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at
from hotloop.phases import names_of

_LEARNING = ("learn.forward", "learn.loss", "learn.backward", "learn.optimizer", "learn.step")


def _rows(analysis: Analysis, wanted: Callable[[RunRow], bool]) -> list[RunRow]:
    return [row for row in analysis.run_table if wanted(row)]


def _seconds(rows: list[RunRow]) -> float:
    return sum(row.seconds for row in rows)


def _lines(rows: list[RunRow]) -> list[SourceLine]:
    ordered = sorted(rows, key=lambda row: -row.seconds)
    return [line for row in ordered if (line := row.source_line)][:3]


# -- ranks --

#: Communication below this share of the loop is the normal price of data parallelism.
COMM_SHARE = 0.15
#: A gradient step that computes for less than this has little to divide between processes.
SMALL_UPDATE_S = 0.02
#: One process with the batch of all ranks saves the communication. An estimate.
COMM_WINS = (0.4, 1.0)


def data_parallel_overhead(analysis: Analysis) -> list[Finding]:
    """Ranks that share gradients of a network too small for that."""
    ranks = len(analysis.notes.trains_beside) + 1
    updates = analysis.run.gradient_steps
    comm = _rows(analysis, lambda row: row.kind == COMMUNICATION and row.name == "comm")
    waiting = _rows(analysis, lambda row: row.kind == SLOWEST and row.process != "main")
    # Ranks are never in step: some waiting for each other comes with every collective.
    seconds = _seconds(comm) + min(_seconds(waiting), _seconds(comm))
    if ranks < 2 or not updates or of_loop(analysis, seconds) < COMM_SHARE:
        return []
    computing = sum(seconds_in(analysis, name) for name in _LEARNING)
    inside = [p for p in phases_named(analysis, "comm") if "learn.backward" in names_of(p.path)]
    computing = max(computing - sum(phase.total_s for phase in inside), 0.0)
    if computing / updates > SMALL_UPDATE_S:
        return []
    return [
        finding(
            analysis,
            "data-parallel-overhead",
            title=f"Reducing gradients between {ranks} ranks takes "
            f"{of_loop(analysis, seconds):.0%} of the loop ({units.seconds(seconds / updates)} per "
            f"update, which computes for {units.seconds(computing / updates)}): the network is too "
            "small for data parallelism",
            phase="comm",
            seconds=seconds,
            saves=COMM_WINS,
            confidence=MEDIUM,
            where=callers(analysis, "comm") or callers(analysis, "learn.backward"),
            evidence={
                "ranks": ranks,
                "comm_s_per_update": seconds / updates,
                "computing_s_per_update": computing / updates,
                "waiting_for_the_slowest_s": _seconds(waiting),
            },
            fix="Communication takes longer than one process would need to learn from the "
            "batch of all ranks. Train in one process with that batch, or reduce gradients "
            "less often (`no_sync()` with gradient accumulation, all parameters in one "
            "all-reduce).",
            before=f"torchrun --nproc-per-node {ranks} train.py    # {_batch(analysis, 1 / ranks)}",
            after=f"python train.py    # {_batch(analysis)}",
        )
    ]


def _batch(analysis: Analysis, part: float = 1.0) -> str:
    """The batch of all ranks, or of one of them, in words."""
    rows = analysis.run.batch_size
    if rows is None:
        return "the batch of all ranks" if part == 1.0 else "its part of the batch"
    return f"batch size {rows * part:.0f}" + (" per rank" if part < 1.0 else "")


#: Waiting for the slowest rank below this share of the loop is noise.
SLOW_RANK_SHARE = 0.10
#: The part of that waiting that balancing the ranks may save. An estimate.
SLOW_RANK_WINS = (0.4, 1.0)
#: The extra time of the slowest rank must be this part of the others' waiting.
EXCESS = 0.6


def slow_rank(analysis: Analysis) -> list[Finding]:
    """All ranks wait for one that does more than they do."""
    ranks = ["main", *analysis.notes.trains_beside]
    if len(ranks) < 2:
        return []
    comm = {rank: seconds_in(analysis, "comm", process=rank) for rank in ranks}
    slowest = min(comm, key=lambda rank: comm[rank])
    waited = sum(comm[r] for r in ranks if r != slowest) / (len(ranks) - 1) - comm[slowest]
    if of_loop(analysis, waited) < SLOW_RANK_SHARE:
        return []
    name, more = _does_more(analysis, slowest, [rank for rank in ranks if rank != slowest])
    # How DDP's backward pass splits into computing and waiting is an estimate.
    if more < EXCESS * waited or name == "learn.backward":
        return []
    shown = analysis.name_of(slowest)
    functions = [
        f
        for f in analysis.functions
        if f.process == slowest and (names_of(f.phase) or [""])[-1] == name
    ]
    functions.sort(key=lambda function: -function.self_s)
    return [
        finding(
            analysis,
            "slow-rank",
            title=f"{len(ranks) - 1} of {len(ranks)} ranks wait for {shown} "
            f"{of_loop(analysis, waited):.0%} of the loop: it spends more time in `{name}`",
            phase=name,
            seconds=waited,
            saves=SLOW_RANK_WINS,
            confidence=MEDIUM,
            where=[function.source_line for function in functions[:3]],
            evidence={"slowest": shown, "comm_s": comm, "excess_s": more},
            fix="A collective ends when the last rank joins it. Give every rank the same work: "
            "move work that only one rank does (logging, evaluation, checkpoints) out of "
            "the step or rotate it over all ranks, and shard data and environments evenly.",
            before="if rank == 0:\n    evaluate(model)          # the others wait",
            after="evaluate(model.module, episodes[rank::world_size])   # each its part",
        )
    ]


def _does_more(analysis: Analysis, rank: str, others: list[str]) -> tuple[str, float]:
    """(phase, seconds): what a rank does for longer than the others do on average."""
    own = _self_times(analysis, rank)
    rest = summed(
        (name, seconds / len(others))
        for other in others
        for name, seconds in _self_times(analysis, other).items()
    )
    excess = {name: seconds - rest.get(name, 0.0) for name, seconds in own.items()}
    name = max(excess, key=lambda each: excess[each], default="")
    return name, excess.get(name, 0.0)


def _self_times(analysis: Analysis, process: str) -> dict[str, float]:
    return summed(
        (phase.name, phase.self_s)
        for phase in analysis.phases_of.get(process, ())
        if phase.thread == "main" and phase.name not in WAITS and phase.name != "comm"
    )


# -- environment runners and actors --

#: The loop waits for runners from this share on.
RUNNERS_SHARE = 0.2
#: Environments of a runner below which each of its calls serves too few of them.
FEW_ENVS = 8
#: How much 16 environments save of what a runner does once per vector step. An estimate.
RUNNER_WINS = (0.5, 0.9)
#: The part that a shorter pipeline may save with the same number of environments. An estimate.
CONNECTOR_WINS = (0.2, 0.7)
#: Work around the environment that takes this many times its steps is worth a finding.
DEARER = 2.0

_PER_CALL = {"connectors", "policy.act", "collect", "log", "metrics", "buffer.add", "tensordict"}


def few_envs_per_runner(analysis: Analysis) -> list[Finding]:
    """Runners whose policy and connectors serve one or a few environments per call."""
    runners = _runners(analysis)
    # What makes an environment serves a whole episode; what no evidence identifies may be done for
    # each environment, however many there are.
    around = [
        row for row in runners if row.name in _PER_CALL and not row.function.endswith("__init__")
    ]
    steps = [row for row in runners if row.name == "env.step"]
    seconds = _seconds(around)
    envs = _envs_per_call(analysis, {row.process for row in runners})
    if envs is None or envs >= FEW_ENVS or of_loop(analysis, seconds) < RUNNERS_SHARE:
        return []
    if seconds < DEARER * _seconds(steps):
        return []
    count = max(row.processes for row in around)
    largest = max(around, key=lambda row: row.seconds)
    rllib = uses(analysis, "RLlib")
    return [
        finding(
            analysis,
            "few-envs-per-runner",
            title=f"The loop waits for {_several(largest.process, count)} with "
            f"{units.plural(round(envs), 'environment')} each: the work they do once per "
            f"step (`{largest.name}` {largest.share:.0%}) takes "
            f"{of_loop(analysis, seconds):.0%} of the loop, stepping environments "
            f"{of_loop(analysis, _seconds(steps)):.0%}",
            phase=largest.name,
            seconds=seconds,
            saves=RUNNER_WINS,
            confidence=HIGH if rllib else MEDIUM,
            where=callers(analysis, "wait", "collect") or _lines(around),
            evidence={row.name: row.seconds for row in runners} | {"envs_per_runner": envs},
            fix=f"{'Connectors and the policy cost' if rllib else 'The policy costs'} about the "
            "same per call for 16 environments as for one. Give every runner more environments.",
            before=".env_runners(num_env_runners=2)" if rllib else "env = gym.make(id)",
            after=".env_runners(num_env_runners=2, num_envs_per_env_runner=16)"
            if rllib
            else "envs = gym.make_vec(id, num_envs=16)",
            learning="In a rollout of the same size, each environment makes fewer steps.",
        )
    ]


def _several(name: str, count: int) -> str:
    return f"{count} {name}{'' if count < 2 else 'es' if name.endswith('s') else 's'}"


def dear_connectors(analysis: Analysis) -> list[Finding]:
    """Connectors that cost more than the environment, with enough environments per runner."""
    runners = _runners(analysis)
    rows = [row for row in runners if row.name == "connectors"]
    steps = _seconds([row for row in runners if row.name == "env.step"])
    seconds = _seconds(rows)
    envs = _envs_per_call(analysis, {row.process for row in runners})
    small = of_loop(analysis, seconds) < COMM_SHARE or seconds < DEARER * steps
    if small or envs is None or envs < FEW_ENVS:
        return []
    return [
        finding(
            analysis,
            "dear-connectors",
            title=f"Connectors take {of_loop(analysis, seconds):.0%} of the loop, "
            f"{seconds / max(steps, 1e-9):.0f} times the environments' steps",
            phase="connectors",
            seconds=seconds,
            saves=CONNECTOR_WINS,
            confidence=LOW,
            where=callers(analysis, "wait", "collect") or _lines(rows),
            evidence={"env_step_s": steps, "envs_per_runner": envs},
            fix="Remove connectors that the module does not need (`add_default_connectors_to_"
            "env_to_module_pipeline=False` and your own list), and do per-observation work in the "
            "environment, once, on arrays.",
        )
    ]


def _runners(analysis: Analysis) -> list[RunRow]:
    """Rows of the processes that step environments and were waited for."""
    ranks = {"main", *map(group_of, analysis.notes.trains_beside)}
    groups = {row.process for row in analysis.run_table if row.name == "env.step"} - ranks
    acting = {row.process for row in analysis.run_table if row.name == "policy.act"}
    return _rows(analysis, lambda row: row.process in groups & acting)


def _envs_per_call(analysis: Analysis, groups: set[str]) -> float | None:
    """Environments that a runner steps at once; None if nothing was counted."""
    calls = sum(
        phase.calls
        for phase in analysis.phases
        if phase.name == "env.step" and group_of(phase.process) in groups and phase.thread == "main"
        and "evaluate" not in names_of(phase.path)
    )  # fmt: skip
    return analysis.run.env_steps / calls if calls and analysis.run.env_steps else None


# -- too many processes --

#: Busy processes for each core from which they only take turns.
CROWDED = 1.5
#: And the part of their time that they wait for a core.
WAITS_FOR_CORES = 0.3
#: The part of that waiting that fewer processes may save. An estimate.
CROWD_WINS = (0.05, 0.5)
#: The loop must wait for them: a share of it.
CROWD_SHARE = 0.3


def too_many_processes(analysis: Analysis) -> list[Finding]:
    """Collectors and their environments in more processes than there are cores."""
    have = cores(analysis)
    rows = _rows(analysis, lambda row: row.process != "main" or row.kind == BETWEEN)
    seconds = _seconds(rows)
    busy = [
        name
        for name, bound in analysis.process_bounds.items()
        if bound.cores >= WAITS_FOR_CORES and bound.python + bound.native + bound.cores >= 0.5
    ]
    if have is None or len(busy) <= CROWDED * have or analysis.notes.trains_beside:
        return []
    if of_loop(analysis, seconds) < CROWD_SHARE or _own_cores_share(analysis) < OWN_DOING:
        return []
    waited = sum(analysis.process_bounds[name].cores for name in busy) / len(busy)
    return [
        finding(
            analysis,
            "too-many-processes",
            title=f"{len(busy)} busy processes share {have} cores and wait for a core "
            f"{waited:.0%} of the time",
            phase="wait",
            seconds=seconds,
            saves=CROWD_WINS,
            confidence=LOW,
            where=callers(analysis, "wait", "collect"),
            evidence={"busy_processes": len(busy), "cores": have, "waiting_for_a_core": waited},
            fix="More processes than cores only take turns. Use as many as there are cores, each "
            "with several environments that it steps itself (in TorchRL, `SerialEnv` rather than "
            "`ParallelEnv` in every collector).",
            before=f"processes = {len(busy)}",
            after=f"processes = {have}",
        )
    ]


#: The run itself must keep the cores busy, not other programs.
OWN_DOING = 0.6


def _own_cores_share(analysis: Analysis) -> float:
    """The part of the machine's cores that this run's processes used."""
    used = sum(process.cpu_s for process in analysis.processes)
    wall = analysis.run.loop_s * (cores(analysis) or 1)
    return used / wall if wall > 0 else 0.0


# -- workers that wait for each other --

#: Workers that wait this much longer for work than the main process takes to hand it out wait for
#: the slowest of them.
IDLE_BEYOND = 0.25
#: The main process must wait for them most of the time.
MAIN_WAITS = 0.5
#: If any process waited longer than this for a CPU core, others wait for that reason.
CORES_SHORT = 0.15
#: The part of that waiting that goes away if no process waits for all. An estimate.
BARRIER_WINS = (0.5, 1.0)
TAKE_WHAT_IS_READY = (
    "Do not wait for all of them: handle each answer as it arrives and give that worker its "
    "next task right away. If answers are collected one worker at a time, send all requests "
    "first. Otherwise make the rare long call shorter."
)


def workers_in_step(analysis: Analysis) -> list[Finding]:
    """The main process waits for all workers, and each of them waits for the slowest.

    Whoever steps the environments: this is read from who waits for whom alone.
    """
    loop_s = analysis.run.loop_s
    names = sorted({p.process for p in analysis.phases if p.process != "main"})
    idle = [seconds_in(analysis, "wait", process=name) / loop_s for name in names if loop_s]
    main_waits = of_loop(analysis, seconds_in(analysis, "wait"))
    if len(idle) < 2 or main_waits < MAIN_WAITS or workers(analysis):
        return []
    bounds = [*analysis.process_bounds.values(), *([analysis.bound] if analysis.bound else [])]
    if any(bound.cores > CORES_SHORT for bound in bounds):
        return []
    share = sum(idle) / len(idle)
    beyond = share - (1 - main_waits)
    if beyond < IDLE_BEYOND:
        return []
    lines = where(analysis, "wait")[:1]
    return [
        finding(
            analysis,
            "stragglers",
            title=f"{len(idle)} worker processes are idle {share:.0%} of the loop while the main "
            f"process waits for the slowest of them{at(lines)}",
            phase="wait",
            seconds=share * loop_s,
            saves=(BARRIER_WINS[0] * beyond / share, BARRIER_WINS[1]),
            confidence=MEDIUM,
            where=lines,
            evidence={"workers_idle": idle, "main_waits": main_waits},
            fix=TAKE_WHAT_IS_READY,
            before="answers = [pipe.recv() for pipe in pipes]      # waits for the slowest",
            after="for pipe in multiprocessing.connection.wait(pipes):   # those that answered\n"
            "    answer = pipe.recv()",
            learning="Faster workers contribute more steps, and actions may come from slightly "
            "older weights.",
        )
    ]


RULES: tuple[Rule, ...] = (
    data_parallel_overhead,
    workers_in_step,
    slow_rank,
    few_envs_per_runner,
    dear_connectors,
    too_many_processes,
)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    if not analysis.run_table:
        return []
    return [each for rule in RULES for each in rule(analysis)]
