"""RLlib's new API stack: environment runners, connectors, learners, weight synchronization.

Environment runners and learners are in this process or in Ray actors; the targets are the same. The
training process waits for the actors and counts steps in the episodes that they send. Connectors
between the environment and the network take a large part of every step.
"""

from __future__ import annotations

from collections.abc import Iterator

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every, once
from hotloop.hooks.protocols import Foreign, Note, Wrapper
from hotloop.hooks.wrapping import generator, observe

#: RLlib measures itself at every step: nothing that a program logs.
_CATEGORIES = {"buffer.update": "Buffer", "connectors": "Policy", "metrics": "Logging"}


#: Episodes that are followed from sample to sample.
MOST_BEGUN = 4096


class Sampled:
    """Environment steps and episodes counted since the last iteration ended."""

    def __init__(self, context: HookContext) -> None:
        self._core = context.core
        self._returns = context.returns
        self._steps = self._episodes = 0
        #: Return and length so far of episodes that continue in the next sample, by their id.
        self._begun: dict[str, tuple[float, int]] = {}

    def after_sample(self, result: Foreign, *_: object, **__: object) -> None:
        """Episodes, or (episodes, metrics); of one runner or of each."""
        steps = agents = ended = 0
        for episode in _flat(result[0] if isinstance(result, tuple) else result):
            if hasattr(episode, "env_steps"):
                length = episode.env_steps()
                over = bool(getattr(episode, "is_done", False))
                self._add_chunk(episode, length, over)
                steps += length
                ended += over
                if hasattr(episode, "agent_episodes"):
                    agents += episode.agent_steps()
        if not self._core.is_open("evaluate"):
            self._count(steps, ended)
            if agents:
                self._core.count(schema.AGENT_STEPS, agents)

    def _add_chunk(self, episode: Foreign, length: int, over: bool) -> None:
        """A part of an episode: samples cut those that are not over."""
        value, before = self._begun.pop(episode.id_, (0.0, 0))
        value, length = value + float(episode.get_return()), length + before
        if over:
            self._returns.ended(value, length)
        elif len(self._begun) < MOST_BEGUN:
            self._begun[episode.id_] = value, length

    def iteration_ended(self, result: Foreign, *_: object, **__: object) -> None:
        """Steps that were sampled outside this process (IMPALA, APPO) are in the results."""
        self._core.count(schema.ITERATIONS, 1)
        sampled = result.get("env_runners") or {}
        steps = int(sampled.get("num_env_steps_sampled", 0)) - self._steps
        episodes = int(sampled.get("num_episodes", 0)) - self._episodes
        self._count(max(steps, 0), max(episodes, 0))
        self._steps = self._episodes = 0

    def _count(self, steps: int, episodes: int) -> None:
        if steps:
            self._core.count(schema.ENV_STEPS, steps)
        if episodes:
            self._core.count(schema.EPISODES, episodes)
        self._steps += steps
        self._episodes += episodes


def _flat(episodes: object) -> Iterator[Foreign]:
    for item in episodes if isinstance(episodes, list) else ():
        if isinstance(item, list):
            yield from item
        else:
            yield item


def _batch_size(batch: Foreign) -> int:
    count = getattr(batch, "count", None)  # a SampleBatch has it
    if isinstance(count, int):
        return count
    shapes = [value.shape for value in batch.values() if hasattr(value, "shape")]
    return int(shapes[0][0]) if shapes and len(shapes[0]) else 0


def _class_name(thing: object) -> str:
    """The user's class, not the one that Ray derived from it."""
    names = [cls.__name__ for cls in type(thing).__mro__ if not cls.__name__.startswith("_")]
    return names[0]


def _name_by(context: HookContext, argument: str) -> Wrapper:
    """Name the process of a runner or learner when it gets its number."""

    def numbered(thing: object, *_: object, **kwargs: object) -> None:
        if kwargs.get(argument) is not None:
            context.name_process(f"{_class_name(thing)}-{kwargs[argument]}")

    return observe(context, before=numbered)


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Target:
    return every(f"ray.rllib.{module}", name, phase, after)


def _only(module: str, name: str, phase: str, after: Note | None = None) -> Target:
    return once(f"ray.rllib.{module}", name, phase, after)


_RUNNER = "env.env_runner"
_GROUP = "env.env_runner_group"
_LEARNER = "core.learner.learner"
_METRICS = "utils.metrics.metrics_logger"
_ALGORITHM = "algorithms.algorithm"
_EPISODE = "env.single_agent_episode"
_BUFFER = "utils.replay_buffers.episode_replay_buffer"
_MODULE = "core.rl_module.rl_module"


def library(context: HookContext) -> Library:
    """The table of RLlib."""
    sampled, updates = Sampled(context), context.updates

    def after_losses(
        result: object, learner: object, *_: object, batch: Foreign = None, **__: object
    ) -> None:
        if batch is not None:
            updates.batch_size = sum(_batch_size(one) for one in batch.values())

    def after_apply(result: object, learner: object, *_: object, **__: object) -> None:
        updates.optimizer(id(learner))

    return Library(
        "RLlib",
        "ray",
        targets=(
            # Rollouts, here or in actors.
            _only(
                "execution.rollout_ops",
                "synchronous_parallel_sample",
                "collect",
                sampled.after_sample,
            ),
            _every(_RUNNER, "EnvRunner.sample", "collect", sampled.after_sample),
            Target(
                "ray.rllib.env.env_runner",
                "EnvRunner.__init__",
                "",
                overrides=True,
                wrapper=_name_by(context, "worker_index"),
            ),
            _every(_RUNNER, "EnvRunner._try_env_step", "env.step"),
            _every(_RUNNER, "EnvRunner._try_env_reset", "env.reset"),
            _every(_MODULE, "RLModule.forward_exploration", "policy.act"),
            _every(_MODULE, "RLModule.forward_inference", "policy.act"),
            _every(
                "connectors.connector_pipeline_v2", "ConnectorPipelineV2.__call__", "connectors"
            ),
            # Transitions are stored in episodes.
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
            Target(
                "ray.rllib.utils.minibatch_utils",
                "MiniBatchCyclicIterator.__iter__",
                "buffer.sample",
                wrapper=generator(context, "buffer.sample"),
            ),
            _every(_LEARNER, "Learner._convert_batch_type", "transfer"),
            _every(_MODULE, "RLModule.forward_train", "learn.forward"),
            _every(_LEARNER, "Learner.compute_losses", "learn.loss", after_losses),
            _every(_LEARNER, "Learner.compute_gradients", "learn.backward"),
            _every(_LEARNER, "Learner.postprocess_gradients", "learn.optimizer"),
            _every(_LEARNER, "Learner.apply_gradients", "learn.optimizer", after_apply),
            Target(
                "ray.rllib.core.learner.learner",
                "Learner._set_learner_index_and_placement_group",
                "",
                wrapper=_name_by(context, "learner_index"),
            ),
            # Weights and connector states between processes.
            _only(_GROUP, "EnvRunnerGroup.sync_weights", "sync.weights"),
            _only(_GROUP, "EnvRunnerGroup.sync_env_runner_states", "sync.weights"),
            Target(
                "ray.rllib.algorithms.algorithm",
                "Algorithm.step",
                "",
                wrapper=observe(context, sampled.iteration_ended),
            ),
            # What is not training.
            _every(_ALGORITHM, "Algorithm.evaluate", "evaluate"),
            _every(_ALGORITHM, "Algorithm.save_checkpoint", "checkpoint"),
            _every("utils.checkpoints", "Checkpointable.save_to_path", "checkpoint"),
            _every(_RUNNER, "EnvRunner.get_metrics", "metrics"),
            _every(_LEARNER, "Learner._log_steps_trained_metrics", "metrics"),
            _every(_LEARNER, "Learner._log_metrics", "metrics"),
            _every(_ALGORITHM, "Algorithm._compile_iteration_results", "metrics"),
            _only(_METRICS, "MetricsLogger.aggregate", "metrics"),
            _only(_METRICS, "MetricsLogger.compile", "metrics"),
            _only(_METRICS, "MetricsLogger.log_dict", "metrics"),
            _only(_METRICS, "MetricsLogger.log_time", "metrics"),
            _only(_METRICS, "MetricsLogger.log_value", "metrics"),
            _only(_METRICS, "MetricsLogger.peek", "metrics"),
            _only(_METRICS, "MetricsLogger.reduce", "metrics"),
            once("ray.tune.trainable.trainable", "Trainable.log_result", "log"),
            once("ray.tune.trainable.trainable", "Trainable.get_auto_filled_metrics", "log"),
        ),
        categories=_CATEGORIES,
    )
