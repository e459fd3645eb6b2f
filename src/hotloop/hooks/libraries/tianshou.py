"""Tianshou 2: its trainer, collectors, vector environments, buffers, algorithms and loggers.

Small problems spend much of their time in Tianshou's own work around the networks: constructing a
`Batch` for each step, switching networks between training and evaluation, checking the buffer for
NaN. Each of these is a separate phase.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every, once
from hotloop.hooks.protocols import Foreign, Note
from hotloop.hooks.wrapping import generator

_CATEGORIES = {
    "batch": "Buffer",
    "buffer.check": "Buffer",
    "buffer.update": "Buffer",
    "learn.target": "Model",
    "module.train": "Model",
}

_ALGORITHM = "tianshou.algorithm.algorithm_base"
_BUFFER = "tianshou.data.buffer.buffer_base"
_COLLECTOR = "tianshou.data.collector"
_TRAINER = "tianshou.trainer"
_LOGGER = "tianshou.utils.logger.logger_base"


def library(context: HookContext) -> Library:
    """The table of Tianshou."""
    core, profiler, updates = context.core, context.profiler, context.updates
    returns = context.returns

    def after_step(result: Foreign, envs: Foreign, *_: object, **__: object) -> None:
        """One step for each environment of the vector that took part."""
        rewards, ends = result[1], (result[2] | result[3]).tolist()
        if len(rewards.shape) == 1:  # one number per environment, not one per agent
            took_part = [int(info["env_id"]) for info in result[4]]
            returns.step(envs, len(envs), rewards.tolist(), ends, took_part)
        if core.is_open("evaluate"):
            return
        core.count(schema.ENV_STEPS, len(rewards))
        if ended := sum(ends):
            core.count(schema.EPISODES, ended)

    def after_reset(result: object, envs: Foreign, env_id: Foreign = None, **_: object) -> None:
        """Only whole vectors: an environment that is reset alone has ended its episode."""
        if env_id is None and returns.native is not None:
            returns.native.was_reset(envs, False, False)

    def after_add(result: object, buffer: Foreign, *_: object, **__: object) -> None:
        profiler.gauges[schema.BUFFER_LENGTH] = len(buffer)

    def after_preprocess(
        result: object, algorithm: object, batch: object, buffer: object, indices: Foreign
    ) -> None:
        """A network gets a `Batch`, whose size only Tianshou knows; its `len` is slow."""
        updates.batch_size = len(indices)

    def begin_split(*_: object, **__: object) -> Note:
        """On-policy algorithms make a gradient step for each part of a split batch."""

        def note(part: Foreign) -> None:
            rewards = part.__dict__.get("rew")
            updates.batch_size = len(part if rewards is None else rewards)

        return note

    return Library(
        "Tianshou",
        "tianshou",
        targets=(
            # Rollouts.
            every(_COLLECTOR, "BaseCollector.collect", "collect"),
            every("tianshou.env.venvs", "BaseVectorEnv.step", "env.step", after_step),
            every("tianshou.env.venvs", "BaseVectorEnv.reset", "env.reset", after_reset),
            every("tianshou.env.venvs", "BaseVectorEnv.render", "env.render"),
            once(_COLLECTOR, "Collector._compute_action_policy_hidden", "policy.act"),
            # Episodes and steps consist of batches; networks are switched to evaluation and back.
            once("tianshou.data.batch", "Batch.__init__", "batch"),
            Target(
                "tianshou.data.batch",
                "Batch.split",
                "batch",
                wrapper=generator(context, "batch", begin_split),
            ),
            once(_COLLECTOR, "copy", "batch"),
            once("torch", "nn.Module.train", "module.train"),
            every(_COLLECTOR, "CollectStats.update_at_step_batch", "log"),
            every(_COLLECTOR, "CollectStats.update_at_episode_done", "log"),
            every(_COLLECTOR, "CollectStats.refresh_all_sequence_stats", "log"),
            # Buffers. The trainer looks through the whole buffer for NaN after each collection.
            every(_BUFFER, "ReplayBuffer.add", "buffer.add", after_add),
            every(_BUFFER, "ReplayBuffer.update", "buffer.add"),
            every(_BUFFER, "ReplayBuffer.sample", "buffer.sample"),
            every(_BUFFER, "ReplayBuffer.__getitem__", "buffer.sample"),
            every(_BUFFER, "ReplayBuffer.hasnull", "buffer.check"),
            every(
                "tianshou.data.buffer.prio",
                "PrioritizedReplayBuffer.update_weight",
                "buffer.update",
            ),
            # Learning.
            every(_ALGORITHM, "Algorithm._update", "learn"),
            every(_ALGORITHM, "Algorithm._preprocess_batch", "advantage", after_preprocess),
            every(
                _ALGORITHM,
                "LaggedNetworkAlgorithmMixin._update_lagged_network_weights",
                "learn.target",
            ),
            # What is not training.
            every(_TRAINER, "Trainer._test_step", "evaluate"),
            every(_TRAINER, "Trainer._update_moving_avg_stats_and_log_update_data", "log"),
            every(_TRAINER, "Trainer._create_epoch_pbar_data_dict", "log"),
            every(_TRAINER, "Trainer._log_params", "log"),
            once(_TRAINER, "asdict", "log"),
            once(_TRAINER, "set_numerical_fields_to_precision", "log"),
            once("tqdm.std", "tqdm.update", "log"),
            once("tqdm.std", "tqdm.set_postfix", "log"),
            every(_LOGGER, "BaseLogger.log_training_data", "log"),
            every(_LOGGER, "BaseLogger.log_update_data", "log"),
            every(_LOGGER, "BaseLogger.log_test_data", "log"),
            every(_LOGGER, "BaseLogger.log_info_data", "log"),
            every(_LOGGER, "BaseLogger.write", "log"),
            every(_LOGGER, "BaseLogger.save_data", "checkpoint"),
        ),
        categories=_CATEGORIES,
    )
