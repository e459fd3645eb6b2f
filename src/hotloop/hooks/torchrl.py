"""TorchRL: collectors, environments, TensorDict work in the rollout, advantages, losses, buffers.

The training loop is the user's own, so there is no `learn` here: losses and value estimators are
modules that they call, and the torch table times those by class. The rollout belongs to the
library; what it does with TensorDicts between the policy and the environment costs as much as
either in small problems, so it is a phase of its own, `tensordict`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.batch import batch as optimized
from hotloop.hooks.plain_loop import flow
from hotloop.hooks.standin import Entry, at_first, stand_in
from hotloop.hooks.table import Library, Note, Place, Wrapper
from hotloop.hooks.torch import module_phases

_profiler = get_profiler()
_core = _profiler.core
_tensordict = _core.region("tensordict")
_collect = _core.region("collect")

#: Phases that only this library has, and where they belong.
_CATEGORIES = {
    "buffer.update": "Buffer",
    "learn.target": "Model",
    "sync_weights": "Transfer",
    "tensordict": "Buffer",
}


class _Seen:
    """What this program has been seen to use."""

    collector = False


# -- what is counted --


def _count_steps(stepped: Any, *_: Any, **__: Any) -> None:
    """One environment step for each environment of the batch, and the episodes that it ended."""
    envs = stepped.batch_size.numel()
    flow.stepped(envs)
    if _core.is_open("evaluate"):
        return
    _profiler.count(words.ENV_STEPS, envs)
    try:
        # Where the usual kind of TensorDict keeps it: to ask takes 20 times as long.
        done = stepped._tensordict["next"]._tensordict["done"]
    except (AttributeError, KeyError, TypeError):
        done = stepped.get("next").get("done", None)
    # Looking at a value on a device would wait for the device; see `_count_resets`.
    if done is not None and done.is_cpu:
        ended = int(done.sum()) if done.numel() > 1 else int(done)
        if ended:
            _profiler.count(words.EPISODES, ended)


def _count_steps_and_reset(result: Any, *_: Any, **__: Any) -> None:
    _count_steps(result[0])


def _count_resets(args: Any, kwargs: Any) -> None:
    """Episodes of environments on a device: to reset them the library itself has looked."""
    if not kwargs.get("select_reset_only") or _core.is_open("evaluate"):
        return
    reset = args[1].get("_reset", None)
    if reset is not None and reset.device.type != "cpu":
        _profiler.count(words.EPISODES, int(reset.sum()))


def _after_add(result: Any, buffer: Any, *_: Any, **__: Any) -> None:
    _profiler.gauges["buffer_length"] = len(buffer)


def _after_sample(result: Any, *_: Any, **__: Any) -> None:
    """A loss module is given a TensorDict, whose rows the torch table cannot see."""
    sample = result[0] if type(result) is tuple else result
    size = getattr(sample, "batch_size", None)
    if size is not None:
        optimized.told = size.numel()


def _count_batch(collector: Any, frames: int, batch: Any) -> int:
    """What worker processes did, of which this process only sees the batches."""
    try:
        now = int(collector._frames)
        if now > frames:
            _profiler.count(words.ENV_STEPS, now - frames)
        done = None if batch is None else batch.get(("next", "done"), None)
        if done is not None and done.device.type == "cpu":
            _profiler.count(words.EPISODES, int(done.sum()))
        return now
    except Exception as error:
        _core.failures["TorchRL: a batch"] = repr(error)
        return frames


# -- wrappers --


def _own(phase: str, after: Note | None = None) -> Wrapper:
    """A phase of something that programs compile: `torch.compile` looks through this."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        entry = Entry(original)
        timed = _core.region(phase).wrap(original, after=after, outermost=True)
        at_first(entry, timed, lambda: flow.named.add(phase))
        return stand_in(entry)

    return wrapper


def _beside_tensordict(phase: str, after: Note | None = None) -> Wrapper:
    """A step or a reset: TensorDict work around it pauses, so that the two stand side by side."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        entry = Entry(original)
        timed = _core.region(phase).wrap(original, after=after, outermost=True)
        is_open, leave, back = _core.is_open, _tensordict.exit, _tensordict.enter
        resets = phase == "env.reset"

        def call(*args: Any, **kwargs: Any) -> Any:
            if resets:
                _count_resets(args, kwargs)
            if not is_open("tensordict"):
                return timed(*args, **kwargs)
            leave()
            try:
                return timed(*args, **kwargs)
            finally:
                back()

        at_first(entry, call, lambda: flow.named.add(phase))
        return stand_in(entry)

    return wrapper


def _rollout(original: Callable[..., Any]) -> Callable[..., Any]:
    """`env.rollout` collects, unless a collector does: then it is how people evaluate."""
    collect = _collect.wrap(original, outermost=True)
    evaluate = _core.region("evaluate").wrap(original, outermost=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _Seen.collector or _core.is_open("collect"):
            return collect(*args, **kwargs)
        _profiler.mark("evaluate", "inferred")
        return evaluate(*args, **kwargs)

    return stand_in(Entry(original, call))


def _steps(original: Callable[..., Any]) -> Callable[..., Any]:
    """The loop of `env.rollout`: all but its steps, resets and the policy is TensorDict work."""
    act = _core.region("policy.act")

    def call(*args: Any, **kwargs: Any) -> Any:
        policy = kwargs.get("policy")
        if callable(policy):
            timed = act.wrap(policy, outermost=True)

            def beside(*given: Any) -> Any:
                _tensordict.exit()
                try:
                    return timed(*given)
                finally:
                    _tensordict.enter()

            kwargs["policy"] = beside
        _tensordict.enter()
        try:
            return original(*args, **kwargs)
        finally:
            _tensordict.exit()

    return stand_in(Entry(original, call))


def _batches(original: Callable[..., Any]) -> Callable[..., Any]:
    """A collector's `__iter__`: `collect` is what happens between two batches."""

    @functools.wraps(original)
    def batches(self: Any) -> Iterator[Any]:
        inner = original(self)
        workers = hasattr(self, "procs")
        frames = getattr(self, "_frames", 0)
        _Seen.collector = True
        try:
            while True:
                _collect.enter()
                try:
                    batch = next(inner)
                except StopIteration:
                    return
                finally:
                    _collect.exit()
                if workers:
                    frames = _count_batch(self, frames, batch)
                yield batch
        finally:
            inner.close()

    return batches


def _called_as(phase: str, module: str, name: str) -> Place:
    """Tells the torch table what a call of such a module is; the module itself is left alone."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        module_phases[getattr(sys.modules[module], name)] = phase
        return original

    return Place(module, f"{name}.forward", phase, wrapper=wrapper)


def _everywhere(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    """A method that subclasses override and call again: timed once, on the outside."""
    return Place(module, name, phase, overrides=True, wrapper=_own(phase, after))


def _once(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(module, name, phase, wrapper=_own(phase, after))


def _setup() -> Callable[[], None] | None:
    """`torch.stack` of TensorDicts, with which every rollout ends, is found in a dictionary."""
    import torch

    _profiler.categories.update(_CATEGORIES)
    functions = getattr(sys.modules.get("tensordict._torch_func"), "TD_HANDLED_FUNCTIONS", None)
    original = (functions or {}).get(torch.stack)
    if functions is None or original is None:
        return None
    functions[torch.stack] = stand_in(Entry(original, _tensordict.wrap(original, outermost=True)))
    return lambda: functions.__setitem__(torch.stack, original)


_BASE = "torchrl.collectors._base"
_SINGLE = "torchrl.collectors._single"
_COMMON = "torchrl.envs.common"
_PARALLEL = "torchrl.envs.batched_envs"
_BUFFERS = "torchrl.data.replay_buffers.replay_buffers"
_TRAINER = "torchrl.trainers.trainers"
_LOGGER = "torchrl.record.loggers.common"

LIBRARY = Library(
    "TorchRL",
    "torchrl",
    places=(
        # Rollouts.
        Place(_BASE, "BaseCollector.__iter__", "collect", wrapper=_batches),
        _once(_SINGLE, "Collector.rollout", "collect"),
        Place(_COMMON, "EnvBase.rollout", "collect", wrapper=_rollout),
        Place(_COMMON, "EnvBase._rollout_stop_early", "tensordict", wrapper=_steps),
        Place(_COMMON, "EnvBase._rollout_nonstop", "tensordict", wrapper=_steps),
        _everywhere(_BASE, "BaseCollector.update_policy_weights_", "sync_weights"),
        # Environments.
        Place(
            _COMMON,
            "EnvBase.step",
            "env.step",
            overrides=True,
            wrapper=_beside_tensordict("env.step", _count_steps),
        ),
        Place(
            _COMMON,
            "EnvBase.reset",
            "env.reset",
            overrides=True,
            wrapper=_beside_tensordict("env.reset"),
        ),
        _once(_COMMON, "EnvBase.rand_action", "policy.act"),
        # In a parallel environment, a step and a reset are one call to the workers.
        _once(
            _PARALLEL, "ParallelEnv.step_and_maybe_reset", "env.step", after=_count_steps_and_reset
        ),
        Place(_PARALLEL, "ParallelEnv._wait_for_workers", "wait", outermost=True),
        Place(_PARALLEL, "ParallelEnv._shutdown_workers", "wait", outermost=True),
        Place("multiprocessing.queues", "Queue.get", "wait", outermost=True),
        # What is done with TensorDicts on the way.
        _once(_COMMON, "EnvBase.step_and_maybe_reset", "tensordict"),
        _once(_COMMON, "EnvBase.step_mdp", "tensordict"),
        _once("tensordict.base", "TensorDictBase.maybe_dense_stack", "tensordict"),
        _once("tensordict._lazy", "LazyStackedTensorDict.maybe_dense_stack", "tensordict"),
        _everywhere("tensordict.base", "TensorDictBase.to", "tensordict"),
        _everywhere("tensordict.base", "TensorDictBase.clone", "tensordict"),
        _once(_SINGLE, "Collector._update_traj_ids", "tensordict"),
        _once(_SINGLE, "Collector._postproc", "tensordict"),
        _called_as("tensordict", "torchrl.envs.transforms._base", "Transform"),
        # Learning.
        _called_as("learn.loss", "torchrl.objectives.common", "LossModule"),
        _called_as("advantage", "torchrl.objectives.value.advantages", "ValueEstimatorBase"),
        _everywhere("torchrl.objectives.utils", "TargetNetUpdater.step", "learn.target"),
        # Buffers.
        _everywhere(f"{_BUFFERS}.base", "ReplayBuffer.add", "buffer.add", _after_add),
        _everywhere(f"{_BUFFERS}.base", "ReplayBuffer.extend", "buffer.add", _after_add),
        _everywhere(f"{_BUFFERS}.base", "ReplayBuffer.sample", "buffer.sample", _after_sample),
        _everywhere(f"{_BUFFERS}.base", "ReplayBuffer.update_priority", "buffer.update"),
        _everywhere(
            f"{_BUFFERS}.tensordict",
            "TensorDictReplayBuffer.update_tensordict_priority",
            "buffer.update",
        ),
        # The library's own trainer and loggers.
        _everywhere(_TRAINER, "Trainer.optim_steps", "learn"),
        _once(_TRAINER, "Trainer._log", "log"),
        _once(_TRAINER, "Trainer._pbar_description", "log"),
        _once(_TRAINER, "Trainer.save_trainer", "checkpoint"),
        _once(_TRAINER, "LogValidationReward.__call__", "evaluate"),
        _everywhere(_LOGGER, "Logger.log_scalar", "log"),
        _everywhere(_LOGGER, "Logger.log_metrics", "log"),
        _everywhere(_LOGGER, "Logger.log_video", "log"),
        _everywhere(_LOGGER, "Logger.log_histogram", "log"),
    ),
    setup=_setup,
)
