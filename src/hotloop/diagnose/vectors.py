"""Causes in how many rows a network sees when it acts."""

from __future__ import annotations

from dataclasses import replace

from hotloop.analyze.model import Analysis
from hotloop.diagnose.evidence import (
    callers,
    finding,
    gauge,
    of_loop,
    phases_named,
    seconds_in,
    uses,
    vector_size,
    workers,
)
from hotloop.diagnose.finding import CRITICAL, HIGH, MEDIUM, WARNING, Finding, Rule
from hotloop.words import names_of

#: Choosing actions one at a time is worth a word from this share on: below it, more environments
#: win less than they cost in changed data.
SINGLE_SHARE = 0.40
#: Updates per step from which a run is about learning: more environments do not help it.
LEARNS_EVERY_STEP = 0.5
#: Eight environments a call: a forward pass of eight rows takes about as long as of one.
SINGLE_WINS = (0.6, 0.88)


def single_env(analysis: Analysis) -> list[Finding]:
    """One environment, so that the network sees one row at a time."""
    envs = max(vector_size(analysis), int(gauge(analysis, "envs_in_turn") or 1))
    acting = seconds_in(analysis, "policy.act")
    if envs != 1 or not analysis.run.env_steps or workers(analysis):
        return []
    if of_loop(analysis, acting) < SINGLE_SHARE or not _has_networks(analysis):
        return []
    if (analysis.run.updates_per_step or 0.0) >= LEARNS_EVERY_STEP:
        return []
    found = finding(
        analysis,
        "single-env",
        title=f"One environment, one row a forward pass: choosing actions is "
        f"{of_loop(analysis, acting):.0%} of the loop",
        phase="policy.act",
        seconds=acting,
        low=SINGLE_WINS[0],
        high=SINGLE_WINS[1],
        confidence=MEDIUM,
        where=callers(analysis, "policy.act"),
        evidence={"envs": 1, "act_s": acting / analysis.run.env_steps},
        fix="A forward pass for one observation takes about as long as one for eight or more. "
        "Step several environments together and let the network see all of them at once.",
        before=_one_env(analysis),
        after=_many_envs(analysis),
        learning="A rollout of n steps holds n times as many rows: shorten it to keep the "
        "number of steps between updates.",
    )
    # However much it wins, one environment is what most algorithms are published with.
    return [replace(found, severity=WARNING) if found.severity == CRITICAL else found]


#: Libraries that networks are made with; a table's rows are looked up one by one in any case.
_OF_NETWORKS = frozenset({"PyTorch", "TensorFlow", "Keras", "JAX"})


def _has_networks(analysis: Analysis) -> bool:
    """Whether actions are chosen by a network, as far as is known."""
    libraries = analysis.notes.get("libraries")
    return not isinstance(libraries, dict) or bool(_OF_NETWORKS & set(libraries))


def _one_env(analysis: Analysis) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return 'model = PPO("MlpPolicy", "CartPole-v1")'
    return "env = gym.make(name)\naction = policy(obs[None])[0]"


def _many_envs(analysis: Analysis) -> str:
    if uses(analysis, "Stable-Baselines3"):
        return 'envs = make_vec_env("CartPole-v1", n_envs=8)\nmodel = PPO("MlpPolicy", envs)'
    return "envs = gym.make_vec(name, num_envs=8)\nactions = policy(obs)     # (8, …) at once"


#: Fewer environments than this are no batch to speak of.
BATCH = 4
#: Calls a vector step, as a part of the number of environments, that mean "one each".
ONE_EACH = 0.75


def unbatched_policy(analysis: Analysis) -> list[Finding]:
    """Several environments, and a forward pass for each."""
    in_turn = int(gauge(analysis, "envs_in_turn") or 1)
    envs = max(vector_size(analysis), in_turn)
    rounds = analysis.run.env_steps / envs if envs else 0.0
    # What a library's callback plays is no part of the training.
    own = [p for p in phases_named(analysis, "policy.act") if "callback" not in names_of(p.path)]
    acts, acting = sum(p.calls for p in own), sum(p.total_s for p in own)
    if envs < BATCH or not rounds or acts / rounds < ONE_EACH * envs:
        return []
    if of_loop(analysis, acting) < 0.03:
        return []
    # One pass of n rows for n passes of one: it takes as long as one, or up to a few.
    return [
        finding(
            analysis,
            "unbatched-policy",
            title=f"{envs} environments, and the network is called for each of them: "
            f"{of_loop(analysis, acting):.0%} of the loop",
            phase="policy.act",
            seconds=acting,
            low=1 - min(2.5 / envs + 0.08, 0.9),
            high=1 - 1 / envs,
            confidence=HIGH,
            where=callers(analysis, "policy.act"),
            evidence={"envs": envs, "forward_calls_per_round": acts / rounds},
            fix="Stack the observations of all environments and call the network once a round; a "
            "batch of sixteen takes hardly longer than a single row.",
            before="actions = [policy(o) for o in observations]",
            after="actions = policy(torch.as_tensor(np.stack(observations)))",
        )
    ]


RULES: tuple[Rule, ...] = (single_env, unbatched_policy)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    return [each for rule in RULES for each in rule(analysis)]
