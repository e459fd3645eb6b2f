"""d3rlpy: offline algorithms, decision transformers, and the same algorithms online.

An update is `learn`; what torch does in it is timed by torch's own table. Batches come from its
replay buffer, offline as well: a dataset of episodes is one.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, every, once

_BUFFER = "d3rlpy.dataset.replay_buffer"
_LOGGER = "d3rlpy.logging.logger"
_Q_LEARNING = "d3rlpy.algos.qlearning.base"
_TRANSFORMER = "d3rlpy.algos.transformer.base"
_TORCH = "d3rlpy.torch_utility"


def library(context: HookContext) -> Library:
    """The table of d3rlpy."""

    def transitions_drawn(_: object, __: object, batch_size: int) -> None:
        # Conservative losses repeat each row for several actions.
        context.order.drawn_rows += batch_size

    return Library(
        title="d3rlpy",
        distribution="d3rlpy",
        targets=(
            every(_Q_LEARNING, "QLearningAlgoBase.update", "learn"),
            every(_TRANSFORMER, "TransformerAlgoBase.update", "learn"),
            every(_Q_LEARNING, "QLearningAlgoBase.predict", "policy.act"),
            every(_Q_LEARNING, "QLearningAlgoBase.sample_action", "policy.act"),
            every(_TRANSFORMER, "StatefulTransformerWrapper.predict", "policy.act"),
            every(
                _BUFFER,
                "ReplayBufferBase.sample_transition_batch",
                "buffer.sample",
                transitions_drawn,
            ),
            every(_BUFFER, "ReplayBufferBase.sample_trajectory_batch", "buffer.sample"),
            # Episodes of a dataset are appended before anything is learned: no part of the loop.
            every(_BUFFER, "ReplayBufferBase.append", "buffer.add"),
            once(_TORCH, "soft_sync", "learn.target"),
            once(_TORCH, "hard_sync", "learn.target"),
            once(_TORCH, "TorchMiniBatch.from_batch", "transfer"),
            once(_TORCH, "TorchTrajectoryMiniBatch.from_batch", "transfer"),
            every("d3rlpy.metrics.evaluators", "EvaluatorProtocol.__call__", "evaluate"),
            once(_LOGGER, "D3RLPyLogger.add_metric", "log"),
            once(_LOGGER, "D3RLPyLogger.commit", "log"),
            once(_LOGGER, "D3RLPyLogger.save_model", "checkpoint"),
        ),
    )
