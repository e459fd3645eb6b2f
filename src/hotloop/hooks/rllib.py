"""RLlib's new API stack: environment runners, connectors, learners, weight synchronisation.

Environment runners and learners are in this process or in Ray actors; the places are the same. The
process that trains waits for the actors, and counts what they sampled from the episodes that they
send. Between the environment and the network stand connectors, a large part of every step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.batch import batch as optimized
from hotloop.hooks.ray_workers import name_this_process
from hotloop.hooks.table import Library, Note, Place, Wrapper

_profiler = get_profiler()
_core = _profiler.core

#: Phases that only this library has, and where they belong.
_CATEGORIES = {"buffer.update": "Buffer", "connectors": "Policy", "sync_weights": "Transfer"}


# -- what is counted --


class _Sampled:
    """Environment steps counted since the last iteration ended."""

    steps = 0
    episodes = 0


def _count(steps: int, episodes: int) -> None:
    if steps:
        _profiler.count(words.ENV_STEPS, steps)
    if episodes:
        _profiler.count(words.EPISODES, episodes)
    _Sampled.steps += steps
    _Sampled.episodes += episodes


def _after_sample(result: Any, *_: Any, **__: Any) -> None:
    """Episodes, or (episodes, metrics); of one runner or of each."""
    if _core.is_open("evaluate"):
        return
    steps = ended = 0
    for episode in _flat(result[0] if isinstance(result, tuple) else result):
        if hasattr(episode, "env_steps"):
            steps += episode.env_steps()
            ended += bool(getattr(episode, "is_done", False))
    _count(steps, ended)


def _flat(episodes: Any) -> Iterator[Any]:
    for item in episodes if isinstance(episodes, list) else ():
        if isinstance(item, list):
            yield from item
        else:
            yield item


def _count_iteration(result: Any) -> None:
    """What was sampled without passing through this process (IMPALA, APPO) is in the results."""
    _profiler.count(words.ITERATIONS, 1)
    sampled = result.get("env_runners") or {}
    steps = int(sampled.get("num_env_steps_sampled", 0)) - _Sampled.steps
    episodes = int(sampled.get("num_episodes", 0)) - _Sampled.episodes
    _count(max(steps, 0), max(episodes, 0))
    _Sampled.steps = _Sampled.episodes = 0


def _after_losses(result: Any, learner: Any, *_: Any, batch: Any = None, **__: Any) -> None:
    """How many rows the gradient step to come has seen."""
    if batch is not None:
        optimized.told = sum(_rows(one) for one in batch.values())


def _rows(batch: Any) -> int:
    count = getattr(batch, "count", None)  # a SampleBatch knows
    if isinstance(count, int):
        return count
    shapes = [value.shape for value in batch.values() if hasattr(value, "shape")]
    return int(shapes[0][0]) if shapes and len(shapes[0]) else 0


def _after_apply(result: Any, learner: Any, *_: Any, **__: Any) -> None:
    optimized.optimizer(id(learner))


def _class_name(thing: Any) -> str:
    """The class that people know, not what Ray made of it."""
    names = [cls.__name__ for cls in type(thing).__mro__ if not cls.__name__.startswith("_")]
    return names[0]


def _name_by(argument: str) -> Wrapper:
    """Runners and learners are told their number; their process is named before it does more."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def numbered(self: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get(argument) is not None:
                name_this_process(f"{_class_name(self)}-{kwargs[argument]}")
            return original(self, *args, **kwargs)

        return numbered

    return wrapper


# -- places --


def _iteration(original: Callable[..., Any]) -> Callable[..., Any]:
    """No phase of its own: it holds the others."""

    @functools.wraps(original)
    def step(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        try:
            _count_iteration(result)
        except Exception as error:
            _core.failures["RLlib: an iteration's results"] = repr(error)
        return result

    return step


def _minibatches(original: Callable[..., Any]) -> Callable[..., Any]:
    """A generator: counts while it makes a batch, not while the learner has it."""
    return _profiler.profile_function("buffer.sample")(original)


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    """A method that subclasses override and call again: timed once, on the outside."""
    return Place(f"ray.rllib.{module}", name, phase, after, outermost=True, overrides=True)


def _only(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(f"ray.rllib.{module}", name, phase, after, outermost=True)


def _setup() -> None:
    _profiler.categories.update(_CATEGORIES)


_RUNNER = "env.env_runner"
_GROUP = "env.env_runner_group"
_LEARNER = "core.learner.learner"
_METRICS = "utils.metrics.metrics_logger"
_ALGORITHM = "algorithms.algorithm"
_EPISODE = "env.single_agent_episode"
_BUFFER = "utils.replay_buffers.episode_replay_buffer"
_MODULE = "core.rl_module.rl_module"

LIBRARY = Library(
    "RLlib",
    "ray",
    places=(
        # Rollouts, here or in actors.
        _only("execution.rollout_ops", "synchronous_parallel_sample", "collect", _after_sample),
        _every(_RUNNER, "EnvRunner.sample", "collect", _after_sample),
        Place(
            "ray.rllib.env.env_runner",
            "EnvRunner.__init__",
            "",
            overrides=True,
            wrapper=_name_by("worker_index"),
        ),
        _every(_RUNNER, "EnvRunner._try_env_step", "env.step"),
        _every(_RUNNER, "EnvRunner._try_env_reset", "env.reset"),
        _every(_MODULE, "RLModule.forward_exploration", "policy.act"),
        _every(_MODULE, "RLModule.forward_inference", "policy.act"),
        _every("connectors.connector_pipeline_v2", "ConnectorPipelineV2.__call__", "connectors"),
        # Episodes are what transitions are stored in.
        _every(_EPISODE, "SingleAgentEpisode.add_env_reset", "buffer.add"),
        _every(_EPISODE, "SingleAgentEpisode.add_env_step", "buffer.add"),
        _every(_EPISODE, "SingleAgentEpisode.to_numpy", "buffer.add"),
        _every(_EPISODE, "SingleAgentEpisode.cut", "buffer.add"),
        _every("env.multi_agent_episode", "MultiAgentEpisode.add_env_reset", "buffer.add"),
        _every("env.multi_agent_episode", "MultiAgentEpisode.add_env_step", "buffer.add"),
        _every("env.multi_agent_episode", "MultiAgentEpisode.to_numpy", "buffer.add"),
        _every(_BUFFER, "EpisodeReplayBuffer.add", "buffer.add"),
        _every(_BUFFER, "EpisodeReplayBuffer.sample", "buffer.sample"),
        _every(
            "utils.replay_buffers.prioritized_episode_buffer",
            "PrioritizedEpisodeReplayBuffer.update_priorities",
            "buffer.update",
        ),
        # Learning.
        _every("core.learner.learner_group", "LearnerGroup.update", "learn"),
        _every(_LEARNER, "Learner.update", "learn"),
        _only(
            "connectors.learner.general_advantage_estimation",
            "GeneralAdvantageEstimation.__call__",
            "advantage",
        ),
        Place(
            "ray.rllib.utils.minibatch_utils",
            "MiniBatchCyclicIterator.__iter__",
            "buffer.sample",
            wrapper=_minibatches,
        ),
        _every(_LEARNER, "Learner._convert_batch_type", "transfer"),
        _every(_MODULE, "RLModule.forward_train", "learn.forward"),
        _every(_LEARNER, "Learner.compute_losses", "learn.loss", _after_losses),
        _every(_LEARNER, "Learner.compute_gradients", "learn.backward"),
        _every(_LEARNER, "Learner.postprocess_gradients", "learn.optimizer"),
        _every(_LEARNER, "Learner.apply_gradients", "learn.optimizer", _after_apply),
        Place(
            "ray.rllib.core.learner.learner",
            "Learner._set_learner_index_and_placement_group",
            "",
            wrapper=_name_by("learner_index"),
        ),
        # Weights and connector states between processes.
        _only(_GROUP, "EnvRunnerGroup.sync_weights", "sync_weights"),
        _only(_GROUP, "EnvRunnerGroup.sync_env_runner_states", "sync_weights"),
        Place("ray.rllib.algorithms.algorithm", "Algorithm.step", "", wrapper=_iteration),
        # What is not training.
        _every(_ALGORITHM, "Algorithm.evaluate", "evaluate"),
        _every(_ALGORITHM, "Algorithm.save_checkpoint", "checkpoint"),
        _every("utils.checkpoints", "Checkpointable.save_to_path", "checkpoint"),
        _every(_RUNNER, "EnvRunner.get_metrics", "log"),
        _every(_LEARNER, "Learner._log_steps_trained_metrics", "log"),
        _every(_LEARNER, "Learner._log_metrics", "log"),
        _every(_ALGORITHM, "Algorithm._compile_iteration_results", "log"),
        _only(_METRICS, "MetricsLogger.aggregate", "log"),
        _only(_METRICS, "MetricsLogger.compile", "log"),
        _only(_METRICS, "MetricsLogger.log_dict", "log"),
        _only(_METRICS, "MetricsLogger.log_time", "log"),
        _only(_METRICS, "MetricsLogger.log_value", "log"),
        _only(_METRICS, "MetricsLogger.peek", "log"),
        _only(_METRICS, "MetricsLogger.reduce", "log"),
        Place("ray.tune.trainable.trainable", "Trainable.log_result", "log", outermost=True),
        Place(
            "ray.tune.trainable.trainable",
            "Trainable.get_auto_filled_metrics",
            "log",
            outermost=True,
        ),
    ),
    setup=_setup,
)
