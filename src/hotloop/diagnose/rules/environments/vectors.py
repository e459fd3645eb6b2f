"""Acting with too small a batch: too few environments, or one forward pass for each."""

from __future__ import annotations

from dataclasses import replace

from hotloop.analyze.kind import learns_from_data
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import Notes, SourceLine
from hotloop.diagnose.evidence import (
    STRAY_SAMPLES,
    Use,
    callers,
    calls_of,
    finding,
    gauge,
    in_package,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    use_by,
    uses,
    vector_size,
    workers,
)
from hotloop.diagnose.finding import CRITICAL, HIGH, MEDIUM, WARNING, Finding, Rule
from hotloop.diagnose.proving import base_name
from hotloop.diagnose.recorded import called_at, loop_key
from hotloop.diagnose.rules.environments.simulating import lines_at, recurrences
from hotloop.phases import names_of

#: Choosing actions one at a time is reported from this share on: below it, more environments
#: save less than they cost in changed data.
SINGLE_SHARE = 0.40
#: With this many updates per step, a run is about learning: more environments do not help.
LEARNS_EVERY_STEP = 0.5
#: An agent makes a few passes per step: actor, critic, a recurrent cell, a target.
MOST_PASSES = 6
#: Eight to sixteen environments per call: a pass of eight rows takes about as long as one of
#: one, so seven of eight go away. Making batches costs a little.
SINGLE_WINS = (0.7, 0.92)
#: Phases that are also done once per call, however many environments there are.
_PER_VECTOR_STEP = ("buffer.add", "advantage")


def single_env(analysis: Analysis) -> list[Finding]:
    """One environment, so that the network acts with batch size 1."""
    envs = max(vector_size(analysis), int(gauge(analysis, schema.ENVS_IN_TURN) or 1))
    acting = seconds_in(analysis, "policy.act")
    if envs != 1 or not analysis.run.env_steps or workers(analysis):
        return []
    if learns_from_data(analysis):
        return []
    # Without gradients, each member of a population plays with its own weights.
    if not analysis.run.gradient_steps:
        return []
    if of_loop(analysis, acting) < SINGLE_SHARE or not _has_networks(analysis):
        return []
    if (analysis.run.updates_per_step or 0.0) >= LEARNS_EVERY_STEP:
        return []
    if calls_of(analysis, "policy.act") > MOST_PASSES * analysis.run.env_steps:
        return []  # a planner or a search, whose passes have their own rows
    # Agents of one environment that share a pass are rows of it.
    if calls_of(analysis, "policy.act") < analysis.run.agent_steps:
        return []
    found = finding(
        analysis,
        "single-env",
        title=f"One environment, so every forward pass has batch size 1: choosing actions is "
        f"{of_loop(analysis, acting):.0%} of the loop",
        phase="policy.act",
        seconds=acting + seconds_in(analysis, *_PER_VECTOR_STEP),
        saves=SINGLE_WINS,
        confidence=MEDIUM,
        where=callers(analysis, "policy.act"),
        evidence={"envs": 1, "act_s": acting / analysis.run.env_steps},
        fix="A forward pass for one observation takes about as long as one for eight or more. "
        "Step several environments at once and batch their observations.",
        before=_one_env(analysis),
        after=_many_envs(analysis),
        learning="With n environments a rollout of the same length holds n times as many "
        "transitions: shorten it to keep the number of steps between updates.",
    )
    # However large the gain, most algorithms are published with one environment.
    return [replace(found, severity=WARNING) if found.severity == CRITICAL else found]


#: More environments than this share a forward pass well enough to leave them alone.
FEW_ENVS = 3
#: Sixteen environments per call: the calls become a fifth to an eighth.
FEW_WINS = (0.5, 0.88)


def too_few_envs(analysis: Analysis) -> list[Finding]:
    """Two or three environments feed a batch that is hundreds of times larger."""
    envs, acting = vector_size(analysis), seconds_in(analysis, "policy.act")
    batch = analysis.run.batch_size or 0.0
    if not 2 <= envs <= FEW_ENVS or workers(analysis) or batch < LARGE_BATCH * envs:
        return []
    if of_loop(analysis, acting) < SINGLE_SHARE or not _has_networks(analysis):
        return []
    found = finding(
        analysis,
        "too-few-envs",
        title=f"{envs} environments per step feed batches of {batch:.0f}: choosing actions is "
        f"{of_loop(analysis, acting):.0%} of the loop",
        phase="policy.act",
        seconds=acting,
        saves=FEW_WINS,
        confidence=MEDIUM,
        where=callers(analysis, "policy.act"),
        evidence={"envs": envs, "batch_size": batch},
        fix=f"A forward pass for {envs} observations takes about as long as one for 16. Step more "
        "environments at once, each for fewer steps per rollout.",
        before=_vector(analysis, envs),
        after=_vector(analysis, 16),
        learning="Shorter rollouts per environment bootstrap more often: keep the number of steps "
        "between updates and watch the return.",
    )
    return [replace(found, severity=WARNING) if found.severity == CRITICAL else found]


def _vector(analysis: Analysis, envs: int) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return f"envs = make_vec_env(name, n_envs={envs})"
    return f"envs = gym.make_vec(name, num_envs={envs})"


#: A gradient step's batch is large from this multiple of the environments on.
LARGE_BATCH = 16

#: Libraries for networks; a table's rows are always looked up one by one.
_OF_NETWORKS = frozenset({"PyTorch", "TensorFlow", "Keras", "JAX"})


def _has_networks(analysis: Analysis) -> bool:
    """Whether actions are chosen by a network, as far as is known."""
    notes = analysis.notes
    return Notes.libraries not in notes or bool(_OF_NETWORKS & notes.libraries.keys())


def _one_env(analysis: Analysis) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return 'model = PPO("MlpPolicy", "CartPole-v1")'
    return "env = gym.make(name)\naction = policy(obs[None])[0]"


def _many_envs(analysis: Analysis) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return 'envs = make_vec_env("CartPole-v1", n_envs=8)\nmodel = PPO("MlpPolicy", envs)'
    return "envs = gym.make_vec(name, num_envs=8)\nactions = policy(obs)     # (8, …) at once"


#: Fewer environments than this are not a batch.
BATCH = 4
#: Calls per vector step, relative to the number of environments, that mean "one each".
ONE_EACH = 0.75


def unbatched_policy(analysis: Analysis) -> list[Finding]:
    """Several environments or agents, with a forward pass for each."""
    in_turn = int(gauge(analysis, schema.ENVS_IN_TURN) or 1)
    envs = max(vector_size(analysis), in_turn)
    rounds = analysis.run.env_steps / envs if envs else 0.0
    # Episodes played by a library's callback are not part of the training.
    own = [p for p in phases_named(analysis, "policy.act") if "callback" not in names_of(p.path)]
    acts, acting = sum(p.calls for p in own), sum(p.total_s for p in own)
    agents = _agents(analysis)
    rows = envs * agents
    if rows < BATCH or not rounds or acts / rounds < ONE_EACH * rows:
        return _acting_loop(analysis)
    if of_loop(analysis, acting) < 0.03:
        return []
    # One pass of n rows for n passes of one: it takes as long as one, or up to a few.
    return [
        finding(
            analysis,
            "unbatched-policy",
            title=f"The network is called separately for each of {_whose(envs, agents)}: "
            f"{of_loop(analysis, acting):.0%} of the loop",
            phase="policy.act",
            seconds=acting,
            saves=(1 - min(2.5 / rows + 0.08, 0.9), 1 - 1 / rows),
            confidence=HIGH,
            where=_asking_lines(analysis) or callers(analysis, "policy.act"),
            evidence={"envs": envs, "agents": agents, "forward_calls_per_round": acts / rounds},
            fix="Stack all observations of a step and call the network once per step. A batch "
            "of 16 takes barely longer than a single observation.",
            before="actions = [policy(o) for o in observations]",
            after=_all_at_once(analysis),
        )
    ]


def _all_at_once(analysis: Analysis) -> str:
    """One pass for all observations, in the terms of the library in use."""
    stacked = "np.stack(observations)"
    if uses(analysis, "PyTorch") or not uses(analysis, "Keras", "JAX", "TensorFlow"):
        stacked = f"torch.as_tensor({stacked})"
    return f"actions = policy({stacked})"


def _agents(analysis: Analysis) -> int:
    """Agents that act in one environment; 1 if they are not counted."""
    run = analysis.run
    return max(round(run.agent_steps / run.env_steps), 1) if run.env_steps else 1


def _whose(envs: int, agents: int) -> str:
    """The environments and agents that wait for an action in one step."""
    if agents == 1:
        return f"{envs} environments"
    return f"{agents} agents" if envs == 1 else f"{agents} agents in {envs} environments"


def _asking_lines(analysis: Analysis) -> list[SourceLine]:
    """The lines that choose one action after another: the innermost that are in a loop."""

    def asking(sample: Sample) -> Frame | None:
        own = sample.own
        return next((frame for frame in own if called_at(analysis, frame).loop_line), None)

    return use_by(samples_under(analysis, "policy.act"), asking).where(least=STRAY_SAMPLES)


#: A loop that only acts, over uncounted agents or games, is reported from this share on.
ACTING_LOOP_SHARE = 0.1
#: Five to twenty calls become one; each of their rows still has to be converted.
ACTING_LOOP_WINS = (0.6, 0.95)
#: Calls besides the network in a loop that only acts: converting, choosing, keeping.
_CHOOSES = frozenset(
    ["range", "enumerate", "zip", "len", "int", "float", "list", "tuple", "append", "items",
     "from_numpy", "tensor", "as_tensor", "FloatTensor", "asarray", "array", "stack", "reshape",
     "view", "unsqueeze", "squeeze", "argmax", "max", "softmax", "multinomial", "Categorical",
     "sample", "item", "numpy", "cpu", "to", "detach", "tolist", "no_grad", "inference_mode",
     "expand_dims", "convert_to_tensor", "forward", "act", "predict", "choose_action", "random"]
)  # fmt: skip


def _acting_loop(analysis: Analysis) -> list[Finding]:
    """A loop of the program that only calls the network for one action after another."""
    uses: dict[tuple[str, int], Use] = {}
    known = recurrences(analysis)
    for sample in samples_under(analysis, "policy.act", "inference"):
        at, loop = sample.line, loop_key(analysis, sample.line)
        if at is None or loop is None or {"evaluate", "env.step"} & set(sample.phases):
            continue
        if lines_at(at.file, at.line, known):
            continue  # text, a recurrent cell: each pass gets the result of the previous one
        if any(_IN_NETWORK(frame) for frame in sample.frames):
            uses.setdefault(loop, Use()).add(at, sample.seconds)
    acting = {loop: use for loop, use in uses.items() if _only_acts(analysis, *loop, use.lines)}
    loop = max(acting, key=lambda each: acting[each].seconds, default=None)
    if loop is None:
        return []
    there = [s for s in samples_under(analysis) if loop_key(analysis, s.line) == loop]
    seconds = seconds_of(there)
    if of_loop(analysis, seconds) < ACTING_LOOP_SHARE:
        return []
    if any(name.startswith(("learn", "env.")) for s in there for name in s.phases):
        return []  # `algorithm.train()` in a loop: a library does all the work in one line
    acted = acting[loop].where()
    return [
        finding(
            analysis,
            "unbatched-policy",
            title=f"A loop calls the network for one action at a time ({base_name(acted[0].file)}:"
            f"{acted[0].line}): {of_loop(analysis, seconds):.0%} of the loop",
            phase="policy.act",
            seconds=seconds,
            saves=ACTING_LOOP_WINS,
            confidence=MEDIUM,
            where=acted,
            fix="Stack the observations and call the network once. A batch of 16 takes barely "
            "longer than a single observation.",
            before="actions = [policy(o) for o in observations]",
            after=_all_at_once(analysis),
        )
    ]


_IN_NETWORK = in_package("torch/nn", "keras", "flax", "haiku", "equinox")


def _only_acts(analysis: Analysis, file: str, loop: int, asks: dict[SourceLine, float]) -> bool:
    """Whether every sampled line of a loop acts, converts or stores."""
    acting = {line.line for line in asks}
    for number, calls in analysis.notes.lines.get(file, {}).items():
        if calls.loop_line != loop or int(number) in acting:
            continue
        if not calls.short <= _CHOOSES:
            return False
    return True


RULES: tuple[Rule, ...] = (single_env, too_few_envs, unbatched_policy)
