"""Splits the time of `env.step`: the simulator, each wrapper, the library around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.analyze.sums import summed
from hotloop.diagnose.evidence import (
    callers,
    finding,
    in_package,
    inner_lines,
    of_loop,
    seconds_in,
    uses,
    vector_size,
)
from hotloop.diagnose.finding import INFO, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import called_at
from hotloop.diagnose.rules.environments.environment_samples import (
    InsideSteps,
    inside_steps,
    part_of,
)

#: Libraries that step environments for a program, by the titles of their tables.
FRAMEWORKS = {
    "torchrl": "TorchRL",
    "tensordict": "TorchRL",
    "stable_baselines3": "Stable-Baselines3",
    "tianshou": "Tianshou",
    "ray": "RLlib",
    "skrl": "skrl",
    "acme": "Acme",
}
_OF_FRAMEWORK = {package: in_package(package) for package in FRAMEWORKS}
#: Wrappers and vectors that come with libraries of environments.
_WRAPPERS = in_package("wrappers", "atari_wrappers", "vec_env", "vector")
#: Names of a step.
_STEPS = frozenset(
    ["step", "_step", "step_wait", "step_async", "_step_and_maybe_reset", "step_and_maybe_reset",
     "observation", "reward", "action", "rollout"]
)  # fmt: skip

SIMULATOR, WRAPPER, LIBRARY = "simulator", "wrapper", "library"


@dataclass
class StepParts:
    """Seconds of the loop inside `env.step`, by kind and by class."""

    seconds: float = 0.0
    #: (kind, class or library) -> seconds.
    parts: dict[tuple[str, str], float] = field(default_factory=dict)

    def of(self, kind: str) -> float:
        return sum(seconds for (each, _), seconds in self.parts.items() if each == kind)

    def largest(self, kind: str) -> str:
        named = {name: s for (each, name), s in self.parts.items() if each == kind}
        return max(named, key=lambda name: named[name], default="")

    def shares(self) -> dict[str, float]:
        """For evidence: "wrapper TimeLimit" -> share of `env.step`, the largest first."""
        ordered = sorted(self.parts.items(), key=lambda item: -item[1])
        return {
            f"{kind} {name}".strip(): part_of(seconds, self.seconds)
            for (kind, name), seconds in ordered[:MOST_PARTS]
        }


#: Parts that evidence lists.
MOST_PARTS = 6


def step_parts(inside: InsideSteps) -> StepParts:
    """Split environment steps by the innermost `step` of each sampled stack."""
    parts = summed((_part_of(s), s.seconds * inside.scale) for s in inside.samples)
    return StepParts(inside.seconds, parts)


def _part_of(sample: Sample) -> tuple[str, str]:
    for frame in sample.frames:
        owner, _, name = frame.function.rpartition(".")
        if name not in _STEPS:
            continue
        library = _framework(frame)
        if library:
            return LIBRARY, library
        if name in ("observation", "reward", "action") or _is_wrapper(frame):
            return WRAPPER, owner
        return SIMULATOR, owner
    library = next((title for f in sample.frames if (title := _framework(f))), "")
    return (LIBRARY, library) if library else (SIMULATOR, "")


def _framework(frame: Frame) -> str:
    for package, match in _OF_FRAMEWORK.items():
        if match(frame):
            return FRAMEWORKS[package]
    return ""


def _is_wrapper(frame: Frame) -> bool:
    return not frame.of_program and _WRAPPERS(frame)


# -- the library around a cheap environment --

#: Above this share of the loop, a library's own work around steps is reported.
OVERHEAD_SHARE = 0.25
#: Below this many times the environment's own time, it is the normal cost of a library.
OVERHEAD_TIMES = 2.0
#: Several environments per call share the overhead: four to sixteen of them, or a leaner loop.
OVERHEAD_WINS = (0.4, 0.85)
SHARED = 4
#: TorchRL's collector calls everything once for all environments: the policy and its own work on
#: TensorDicts are shared as well. Sixteen CartPoles in one `SyncVectorEnv` took nine tenths off
#: collecting (2.4 times in a loop that spent 65% there).
COLLECTOR_WINS = (0.4, 0.95)


def framework_overhead(analysis: Analysis) -> list[Finding]:
    """A library's own code around `env.step` takes many times longer than the environment."""
    parts = step_parts(inside_steps(analysis))
    library = parts.of(LIBRARY)
    own = parts.of(SIMULATOR) + parts.of(WRAPPER)
    if of_loop(analysis, library) < OVERHEAD_SHARE or library < OVERHEAD_TIMES * own:
        return _costly_wrappers(analysis, parts)
    name = parts.largest(LIBRARY)
    before, after = _more_envs(analysis)
    shared, wins = library, OVERHEAD_WINS
    if uses(analysis, "TorchRL") and vector_size(analysis) < SHARED:
        shared = max(seconds_in(analysis, "collect") - own, library)
        wins = COLLECTOR_WINS
    return [
        finding(
            analysis,
            "framework-overhead",
            title=f"{name}'s own code around each step takes {of_loop(analysis, library):.0%} of "
            f"the loop, the environment itself {of_loop(analysis, own):.0%}",
            phase="collect" if shared > library else "env.step",
            seconds=shared,
            saves=wins,
            confidence=MEDIUM,
            # If several environments share a call, the overhead is inherent in the library.
            severity=INFO if vector_size(analysis) >= SHARED else None,
            where=callers(analysis, "env.step"),
            evidence={"parts": parts.shares(), "envs": vector_size(analysis)},
            fix=f"The environment is cheap, and {name} is called for each of its steps. Step "
            "many environments per call to share that cost, and remove transforms and "
            "wrappers whose output nothing uses.",
            before=before,
            after=after,
            learning="More parallel environments change the order of the data: shorten the "
            "rollout per environment to keep the number of steps between updates.",
        )
    ]


#: From merging half of the wrappers into one, to removing all of them.
WRAPPER_WINS = (0.45, 1.0)
#: Wrappers that a title names.
NAMED_WRAPPERS = 3


def _costly_wrappers(analysis: Analysis, parts: StepParts) -> list[Finding]:
    """A library's wrappers take many times longer than the environment inside them."""
    wrapped = parts.of(WRAPPER)
    own = parts.of(SIMULATOR) + parts.of(LIBRARY)
    if of_loop(analysis, wrapped) < OVERHEAD_SHARE or wrapped < OVERHEAD_TIMES * own:
        return []
    by_size = sorted(parts.parts.items(), key=lambda item: -item[1])
    names = [name for (kind, name), _ in by_size if kind == WRAPPER and name][:NAMED_WRAPPERS]
    called = f" ({', '.join(names)})" if names else ""  # Python 3.10 has no names of classes
    return [
        finding(
            analysis,
            "framework-overhead",
            title=f"Wrappers around the environment{called} take "
            f"{of_loop(analysis, wrapped):.0%} of the loop, the environment itself "
            f"{of_loop(analysis, own):.0%}",
            phase="env.step",
            seconds=wrapped,
            saves=WRAPPER_WINS,
            confidence=MEDIUM,
            where=callers(analysis, "env.step"),
            evidence={"parts": parts.shares(), "envs": vector_size(analysis)},
            fix="A wrapper often makes several NumPy calls on a few numbers in every step. Remove "
            "those that the agent does not need, compute the rest in one function of your own, "
            "or step a vector of environments and wrap that (`gymnasium.wrappers.vector`).",
            before="env = NormalizeObservation(gym.make(name))",
            after="envs = gymnasium.wrappers.vector.NormalizeObservation(gym.make_vec(name, 16))",
            learning="Removing a wrapper changes the observations or rewards that the agent sees.",
        )
    ]


def _more_envs(analysis: Analysis) -> tuple[str, str]:
    if uses(analysis, "TorchRL"):
        # `GymEnv(…, num_envs=16)` starts a process for each of them.
        return (
            'env = GymEnv("CartPole-v1")',
            'envs = gym.make_vec("CartPole-v1", 16, vectorization_mode="sync")\n'
            "env = GymWrapper(envs)   # the policy's specs: env.action_spec_unbatched",
        )
    if uses(analysis, "Stable-Baselines3"):
        return "make_vec_env(make, n_envs=1)", "make_vec_env(make, n_envs=16)"
    return "env = make()", "envs = gym.vector.SyncVectorEnv([make] * 16)"


# -- pictures --

#: Grayscale first leaves a third of the values to resize: published 883 to 733 microseconds per
#: step, of which resizing was about half.
ORDER_WINS = (0.2, 0.65)
ORDER_SHARE = 0.05
_RESIZES = frozenset({"resize", "interpolate", "imresize", "rescale"})
_GRAYS = frozenset({"cvtColor", "convert", "rgb2gray", "rgb_to_grayscale", "to_grayscale"})


def preprocessing_order(analysis: Analysis) -> list[Finding]:
    """Frames are resized in color and converted to grayscale afterwards."""
    inside = inside_steps(analysis, "env.step", "env.reset", "env.render")
    wrong = [s for s in inside.samples if _resizes_colour(analysis, s)]
    seconds = seconds_of(wrong) * inside.scale
    if of_loop(analysis, seconds) < ORDER_SHARE:
        return []
    return [
        finding(
            analysis,
            "preprocessing-order",
            title=f"Frames are resized before they are converted to grayscale: resizing is "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            saves=ORDER_WINS,
            confidence=MEDIUM,
            where=inner_lines(wrong),
            fix="Convert frames to grayscale first, which leaves a third of the values to "
            "resize. Emulators can often return grayscale frames directly.",
            before="env = GrayscaleObservation(ResizeObservation(env, (84, 84)))",
            after="env = ResizeObservation(GrayscaleObservation(env), (84, 84))",
            learning="Pixel values differ by rounding.",
        )
    ]


def _resizes_colour(analysis: Analysis, sample: Sample) -> bool:
    """Whether a sample resizes a frame that a later wrapper or line converts to grayscale."""
    if "evaluate" in sample.phases:
        return False
    owners = [frame.function.partition(".")[0].lower() for frame in sample.frames]
    resizes = next((i for i, owner in enumerate(owners) if owner.startswith("resizeobs")), None)
    if resizes is not None:
        return any(owner.startswith("grayscaleobs") for owner in owners[resizes + 1 :])
    own = next(iter(sample.own), None)
    if own is None or not _RESIZES & called_at(analysis, own).short:
        return False
    return any(
        own.line < int(number) <= own.line + NEAR and _GRAYS & calls.short
        for number, calls in analysis.notes.lines.get(own.file, {}).items()
    )


#: Lines after a resize that belong to the same preprocessing.
NEAR = 6


RULES: tuple[Rule, ...] = (framework_overhead, preprocessing_order)
