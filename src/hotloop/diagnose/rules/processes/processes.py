"""Where environments run: in this process, or in workers behind pipes."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.workers import BARE_STEP, split_steps
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    cores,
    finding,
    gauge,
    of_loop,
    phases_named,
    seconds_in,
    uses,
    vector_size,
    where,
    workers,
)
from hotloop.diagnose.finding import HIGH, LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import gauge_rise

#: Stepping all environments in one process must be this much cheaper than what the pipes cost.
CHEAPER_INSIDE = 0.6
#: Observations from this size on are a cost by themselves: pickling 16 KB takes longer than a
#: message through a pipe.
LARGE_OBSERVATION = 16_384


def subprocess_overhead(analysis: Analysis) -> list[Finding]:
    """Environments in worker processes whose steps are cheaper than the messages."""
    split = split_steps(analysis.phases)
    if split is None or split.step_s <= 0:
        return []
    if _message_bytes(analysis) >= LARGE_OBSERVATION:
        return []
    computing = sum(
        seconds_in(analysis, "env.step", "env.reset", process=name) for name in workers(analysis)
    )
    # Waiting for a CPU core is not the cost of messages.
    stepping = split.step_s * (1 - min(_waited_for_a_core(analysis), 0.9))
    if computing >= CHEAPER_INSIDE * stepping:
        return []
    if of_loop(analysis, split.step_s - computing) < 0.03:
        return []
    left = computing / split.step_s
    # The workers' own clocks also count waiting for a core, so that in one process the same
    # steps take less; the loop over them takes a little.
    result = finding(
        analysis,
        "subprocess-overhead",
        title=f"Messages to {split.workers} environment processes cost "
        f"{split.step_s / max(computing, 1e-09):.1f} times as much as the steps "
        "themselves",
        phase="env.step",
        seconds=split.step_s,
        saves=(max(0.75 * (1 - left), 0.05), min(1 - 0.4 * left, 0.97)),
        confidence=HIGH,
        where=_stepping_lines(analysis),
        evidence={
            "parent_env_step_s": split.step_s,
            "workers_computing_s": computing,
            "moving_s": split.moving_s,
            "workers": split.workers,
        },
        fix="The environments are so cheap that sending an action and receiving the result costs "
        "more than the step itself. Keep them in this process.",
        before=_in_processes(analysis),
        after=_in_process(analysis),
    )
    return [result]


def _stepping_lines(analysis: Analysis) -> list[SourceLine]:
    """The code that steps the environments; without a known vector, the code using the pipes."""
    return callers(analysis, "env.step") or callers(analysis, *BARE_STEP)


#: How a vector of environments is made in one process and in several, by library; the first that a
#: program uses counts.
_VECTORS = (
    (
        "Stable-Baselines3",
        "env = make_vec_env(make, n_envs=8, vec_env_cls=DummyVecEnv)",
        "env = make_vec_env(make, n_envs=8, vec_env_cls=SubprocVecEnv)",
    ),
    ("TorchRL", "env = SerialEnv(8, make)", "env = ParallelEnv(8, make)"),
    ("Tianshou", "envs = DummyVectorEnv([make] * 8)", "envs = SubprocVectorEnv([make] * 8)"),
    (
        "Gymnasium",
        "envs = gym.vector.SyncVectorEnv([make] * 8)",
        "envs = gym.vector.AsyncVectorEnv([make] * 8)",
    ),
    (
        "",
        "results = [env.step(action) for env, action in zip(envs, actions)]",
        "for pipe, action in zip(pipes, actions):     # a process behind each pipe\n"
        "    pipe.send(action)\nresults = [pipe.recv() for pipe in pipes]",
    ),
)


def _in_process(analysis: Analysis) -> str:
    return next(one for title, one, _ in _VECTORS if not title or uses(analysis, title))


def _in_processes(analysis: Analysis) -> str:
    return next(several for title, _, several in _VECTORS if not title or uses(analysis, title))


def _message_bytes(analysis: Analysis) -> float:
    """Bytes of a worker's message, or of an observation; 0 where neither is known.

    With shared memory the messages are small whatever the observations are.
    """
    messages = analysis.run.counters.get(schema.PIPE_MESSAGES, 0.0)
    if messages:
        return analysis.run.counters.get(schema.PIPE_BYTES, 0.0) / messages
    return gauge(analysis, schema.OBSERVATION_BYTES) or 0.0


#: A shared block of memory leaves one copy in place of packing, sending, reading and unpacking:
#: 2.87x in public reports.
SHARED_WINS = (0.45, 0.9)


def pickled_observations(analysis: Analysis) -> list[Finding]:
    """Large observations go through pipes."""
    size = _message_bytes(analysis)
    split = split_steps(analysis.phases)
    if split is None or size < LARGE_OBSERVATION:
        return []
    # The worker's packing and sending keeps the parent waiting as well.
    sending = [seconds_in(analysis, "transfer", process=name) for name in workers(analysis)]
    at_once = min(len(sending), cores(analysis) or len(sending)) or 1
    seconds = split.moving_s + min(sum(sending) / at_once, split.waiting_s)
    if of_loop(analysis, seconds) < 0.05:
        return []
    before, after = _sharing(analysis)
    return [
        finding(
            analysis,
            "pickled-observations",
            title=f"Observations of {units.size(size)} are pickled through pipes: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            saves=SHARED_WINS,
            confidence=MEDIUM,
            where=_stepping_lines(analysis),
            evidence={"bytes_per_message": size, "workers": split.workers},
            fix="Use shared memory for observations, and keep their dtype (uint8 frames, not "
            "floats)."
            + (
                " `SubprocVecEnv` cannot use it; `DummyVecEnv` sends nothing."
                if uses(analysis, "Stable-Baselines3")
                else ""
            ),
            before=before,
            after=after,
        )
    ]


def _sharing(analysis: Analysis) -> tuple[str, str]:
    """Observations through pipes and without them, in the terms of the library in use."""
    if uses(analysis, "Stable-Baselines3"):
        return "env = SubprocVecEnv(makes)", "env = DummyVecEnv(makes)"
    made = "gym.vector.AsyncVectorEnv(makes, shared_memory="
    if uses(analysis, "Gymnasium") and not analysis.run.counters.get(schema.PIPE_MESSAGES):
        return f"envs = {made}False)", f"envs = {made}True)"
    return (
        "pipe.send(observation)",
        "shared[index] = observation      # an array in multiprocessing.shared_memory\n"
        "pipe.send(index)",
    )


#: From this time per step on, environments gain from processes: a message costs a fifth of it.
HEAVY_ENV_S = 0.5e-3
#: The share of the loop from which that matters.
SERIAL_SHARE = 0.4
#: Parallel efficiency of environment processes on the cores that there are.
EFFICIENCY = (0.65, 1.0)


def serial_heavy_env(analysis: Analysis) -> list[Finding]:
    """Several heavy environments in one process, whether stepped in turn or computed at once."""
    envs = max(vector_size(analysis), int(gauge(analysis, schema.ENVS_IN_TURN) or 1))
    steps = analysis.run.env_steps
    at_once = min(envs, cores(analysis) or 1)
    seconds = seconds_in(analysis, "env.step")
    if workers(analysis) or envs < 2 or at_once < 2 or not steps:
        return []
    # On a busy machine, a part of each step is waiting for a core.
    step_s = seconds / steps * (1 - min(_waited_for_a_core(analysis), 0.9))
    if step_s < HEAVY_ENV_S or of_loop(analysis, seconds) < SERIAL_SHARE:
        return []
    # An environment that computes in many threads by itself has no cores to gain.
    if (analysis.run.cpu_share or 0.0) > 0.8 * (cores(analysis) or 1):
        return []
    low, high = (1 - 1 / max(at_once * part, 1.05) for part in EFFICIENCY)
    return [
        finding(
            analysis,
            "serial-heavy-env",
            title=f"{envs} environments of {units.seconds(step_s)} per step take turns in one "
            f"process on {cores(analysis)} cores: {of_loop(analysis, seconds):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM,
            where=where(analysis, "env.step"),
            evidence={"envs": envs, "step_s": step_s, "cores": cores(analysis)},
            fix="A message to another process costs about a tenth of a millisecond, less than "
            "one of these steps. In separate processes, the environments run in parallel.",
            before=_in_process(analysis),
            after=_in_processes(analysis),
        )
    ]


#: Workers for each core from which they only take turns.
CROWDED = 2.0
#: How much of the waiting fewer processes save: switches, caches, messages.
CROWD_WINS = (0.1, 0.5)


def _vector_class(analysis: Analysis) -> str:
    """The class of environments in processes, as the library in use calls it."""
    if uses(analysis, "Stable-Baselines3"):
        return "SubprocVecEnv"
    return "SubprocVectorEnv" if uses(analysis, "Tianshou") else "gym.vector.AsyncVectorEnv"


def too_many_envs(analysis: Analysis) -> list[Finding]:
    """Many more environment processes than cores."""
    split = split_steps(analysis.phases)
    have = cores(analysis)
    if split is None or have is None or split.workers <= CROWDED * have:
        return []
    if _wait_elsewhere(analysis, split.step_s):
        return []
    # Work that does not fit on the cores waits for one, and a worker's clock counts that too.
    overhead = split.waiting_s + split.moving_s
    if of_loop(analysis, overhead) < 0.1:
        return []
    return [
        finding(
            analysis,
            "too-many-envs",
            title=f"{split.workers} environment processes share {have} cores",
            phase="env.step",
            seconds=split.step_s,
            saves=CROWD_WINS,
            confidence=LOW,
            where=_stepping_lines(analysis),
            evidence={"workers": split.workers, "cores": have, "waiting_s": split.waiting_s},
            fix="More processes than cores only take turns, and every switch costs time. Use "
            "about as many as there are cores, each with several environments if you want "
            "the same batch size.",
            before=f"envs = {_vector_class(analysis)}([make] * {split.workers})",
            after=f"envs = {_vector_class(analysis)}([make] * {have})",
            learning="Fewer environments mean smaller rollouts: raise the steps per rollout to "
            "keep the batch size.",
        )
    ]


#: How much longer than the workers' computing the parent's waiting must be.
WAITS_FOR_SLOWEST = 1.3
#: A worker's 99th percentile over its median, or the slowest worker over the mean, that makes
#: steps uneven.
UNEVEN = 3.0
UNEVEN_WORKERS = 1.5
#: A mean this far above the median shows that rare steps make up most of the time: others that
#: occasionally take a core do not.
HEAVY_TAIL = 1.8
#: How much of the waiting asynchronous sampling saves.
#: More than the waiting where the long steps themselves get shorter.
STRAGGLER_WINS = (0.4, 1.4)


def stragglers(analysis: Analysis) -> list[Finding]:
    """All environments wait for the slowest in every step."""
    split = split_steps(analysis.phases)
    if split is None or split.workers < 2:
        return []
    names = workers(analysis)
    busy = {name: seconds_in(analysis, "env.step", "env.reset", process=name) for name in names}
    mean = sum(busy.values()) / len(busy)
    have = cores(analysis) or len(names)
    # Only computing needs cores: workers that wait for something else do so side by side.
    fair = sum(_on_core_s(analysis, name) for name in names) / min(len(names), have)
    waiting = split.step_s - split.moving_s
    if waiting < WAITS_FOR_SLOWEST * max(fair, mean) or mean <= 0:
        return []
    crowded = len(names) > CROWDED * have and not _wait_elsewhere(analysis, split.step_s)
    if crowded or _waited_for_a_core(analysis) > TOO_BUSY:
        return []  # they wait for cores, not for each other
    spread = max(_spread(analysis, name) for name in names)
    slowest = max(busy.values()) / mean
    if spread < UNEVEN * (1 + BUSY_MACHINE * _waited_for_a_core(analysis)) and (
        slowest < UNEVEN_WORKERS
    ):
        return []
    # The wait is at most the sum of all steps.
    seconds = min(waiting, sum(busy.values())) - max(fair, mean)
    if of_loop(analysis, seconds) < 0.03:
        return []
    return [
        finding(
            analysis,
            "stragglers",
            title=f"Every step waits for the slowest of {split.workers} environments: "
            f"{of_loop(analysis, seconds):.0%} of the loop is waiting",
            phase="env.step",
            seconds=seconds,
            saves=STRAGGLER_WINS,
            confidence=MEDIUM,
            where=_stepping_lines(analysis),
            evidence={
                "worker_mean_s": mean,
                "slowest": split.slowest,
                "slowest_s": split.slowest_s,
                "p99_over_median": spread,
            },
            fix="Do not wait for all of them (asynchronous sampling, several environments per "
            "worker, or EnvPool's asynchronous mode), or make the rare long step or reset "
            "shorter.",
            before="obs, rewards, *rest = envs.step(actions)      # waits for all",
            after="ready = multiprocessing.connection.wait(pipes)   # step those that are ready",
            learning="Faster environments contribute more steps to a rollout.",
        )
    ]


#: Other programs on the same cores make any steps uneven: rare steps of up to 15 times the median
#: were seen where the main thread had waited for a core for 0.24 to 0.38 of the loop.
BUSY_MACHINE = 20.0
#: From here on noise is too large: light steps were 180 times the median now and then.
TOO_BUSY = 0.3


def _waited_for_a_core(analysis: Analysis) -> float:
    rise = gauge_rise(analysis, schema.MAIN_DELAY_S)
    return of_loop(analysis, rise) if rise is not None else 0.0


#: Workers that are in their steps for most of the parent's time and use this little of one core
#: wait for something else (measured: 0.06 where they slept, 0.33 where they computed on two cores
#: that others kept busy).
IN_STEPS = 0.5
HARDLY_COMPUTE = 0.15


def _wait_elsewhere(analysis: Analysis, step_s: float) -> bool:
    names = workers(analysis)
    busy = sum(seconds_in(analysis, "env.step", process=name) for name in names)
    computing = sum(_on_core_s(analysis, name) for name in names)
    return busy >= IN_STEPS * step_s and computing < HARDLY_COMPUTE * step_s


def _on_core_s(analysis: Analysis, process: str) -> float:
    phases = phases_named(analysis, "env.step", "env.reset", process=process)
    return sum(phase.total_s * (1 - (phase.waiting_share or 0.0)) for phase in phases)


def _spread(analysis: Analysis, process: str) -> float:
    """How much longer rare steps take, where they make up most of the time; 1 otherwise."""
    phases = phases_named(analysis, "env.step", process=process)
    uneven = [p for p in phases if p.p50_s > 0 and p.mean_s >= HEAVY_TAIL * p.p50_s]
    return max((p.p99_s / p.p50_s for p in uneven), default=1.0)


RULES: tuple[Rule, ...] = (
    subprocess_overhead,
    pickled_observations,
    serial_heavy_env,
    too_many_envs,
    stragglers,
)
