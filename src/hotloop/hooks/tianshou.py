"""Tianshou 2: its trainer, collectors, vector environments, buffers, algorithms and loggers.

Small problems spend much of their time in what Tianshou does around the networks: making a `Batch`
for each step, switching networks between training and evaluation, looking through the buffer for
NaN. Each of these is a phase of its own, so that it can be seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.batch import batch as optimized
from hotloop.hooks.table import Library, Place

_profiler = get_profiler()

#: Phases that only this library has, and where they belong.
_CATEGORIES = {
    "batch": "Buffer",
    "buffer.check": "Buffer",
    "buffer.update": "Buffer",
    "learn.target": "Model",
    "module.train": "Model",
}


def _after_step(result: Any, *_: Any, **__: Any) -> None:
    """One step for each environment of the vector that took part."""
    if _profiler.core.is_open("evaluate"):
        return
    rewards, terminated, truncated = result[1], result[2], result[3]
    _profiler.count(words.ENV_STEPS, len(rewards))
    ended = len((terminated | truncated).nonzero()[0])
    if ended:
        _profiler.count(words.EPISODES, ended)


def _after_add(result: Any, buffer: Any, *_: Any, **__: Any) -> None:
    _profiler.gauges["buffer_length"] = len(buffer)


def _after_preprocess(result: Any, algorithm: Any, batch: Any, buffer: Any, indices: Any) -> None:
    """A network sees a `Batch`, whose rows only Tianshou knows; asking one for them is slow."""
    optimized.told = len(indices)


def _minibatches(original: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """On-policy algorithms make a gradient step for each part of a split batch."""
    region = _profiler.core.region("batch")

    @functools.wraps(original)
    def split(*args: Any, **kwargs: Any) -> Iterator[Any]:
        parts = original(*args, **kwargs)
        while True:
            region.enter()
            try:
                part = next(parts)
            except StopIteration:
                return
            finally:
                region.exit()
            rewards = part.__dict__.get("rew")
            optimized.told = len(part if rewards is None else rewards)
            yield part

    return split


def _setup() -> None:
    _profiler.categories.update(_CATEGORIES)


_ALGORITHM = "tianshou.algorithm.algorithm_base"
_BUFFER = "tianshou.data.buffer.buffer_base"
_COLLECTOR = "tianshou.data.collector"
_TRAINER = "tianshou.trainer"
_LOGGER = "tianshou.utils.logger.logger_base"


def _everywhere(
    module: str, name: str, phase: str, after: Callable[..., Any] | None = None
) -> Place:
    """A method that subclasses override and call again: timed once, on the outside."""
    return Place(module, name, phase, after, outermost=True, overrides=True)


LIBRARY = Library(
    "Tianshou",
    "tianshou",
    places=(
        # Rollouts.
        _everywhere(_COLLECTOR, "BaseCollector.collect", "collect"),
        _everywhere("tianshou.env.venvs", "BaseVectorEnv.step", "env.step", _after_step),
        _everywhere("tianshou.env.venvs", "BaseVectorEnv.reset", "env.reset"),
        _everywhere("tianshou.env.venvs", "BaseVectorEnv.render", "env.render"),
        Place(_COLLECTOR, "Collector._compute_action_policy_hidden", "policy.act", outermost=True),
        # Episodes and steps are made of batches; networks are switched to evaluation and back.
        Place("tianshou.data.batch", "Batch.__init__", "batch", outermost=True),
        Place("tianshou.data.batch", "Batch.split", "batch", wrapper=_minibatches),
        Place(_COLLECTOR, "copy", "batch", outermost=True),
        Place("torch", "nn.Module.train", "module.train", outermost=True),
        _everywhere(_COLLECTOR, "CollectStats.update_at_step_batch", "log"),
        _everywhere(_COLLECTOR, "CollectStats.update_at_episode_done", "log"),
        _everywhere(_COLLECTOR, "CollectStats.refresh_all_sequence_stats", "log"),
        # Buffers. The trainer looks through the whole buffer for NaN after each collection.
        _everywhere(_BUFFER, "ReplayBuffer.add", "buffer.add", _after_add),
        _everywhere(_BUFFER, "ReplayBuffer.update", "buffer.add"),
        _everywhere(_BUFFER, "ReplayBuffer.sample", "buffer.sample"),
        _everywhere(_BUFFER, "ReplayBuffer.__getitem__", "buffer.sample"),
        _everywhere(_BUFFER, "ReplayBuffer.hasnull", "buffer.check"),
        _everywhere(
            "tianshou.data.buffer.prio", "PrioritizedReplayBuffer.update_weight", "buffer.update"
        ),
        # Learning.
        _everywhere(_ALGORITHM, "Algorithm._update", "learn"),
        _everywhere(_ALGORITHM, "Algorithm._preprocess_batch", "advantage", _after_preprocess),
        _everywhere(
            _ALGORITHM, "LaggedNetworkAlgorithmMixin._update_lagged_network_weights", "learn.target"
        ),
        # What is not training.
        _everywhere(_TRAINER, "Trainer._test_step", "evaluate"),
        _everywhere(_TRAINER, "Trainer._update_moving_avg_stats_and_log_update_data", "log"),
        _everywhere(_TRAINER, "Trainer._create_epoch_pbar_data_dict", "log"),
        _everywhere(_TRAINER, "Trainer._log_params", "log"),
        Place(_TRAINER, "asdict", "log", outermost=True),
        Place(_TRAINER, "set_numerical_fields_to_precision", "log", outermost=True),
        Place("tqdm.std", "tqdm.update", "log", outermost=True),
        Place("tqdm.std", "tqdm.set_postfix", "log", outermost=True),
        _everywhere(_LOGGER, "BaseLogger.log_training_data", "log"),
        _everywhere(_LOGGER, "BaseLogger.log_update_data", "log"),
        _everywhere(_LOGGER, "BaseLogger.log_test_data", "log"),
        _everywhere(_LOGGER, "BaseLogger.log_info_data", "log"),
        _everywhere(_LOGGER, "BaseLogger.write", "log"),
        _everywhere(_LOGGER, "BaseLogger.save_data", "checkpoint"),
    ),
    setup=_setup,
)
