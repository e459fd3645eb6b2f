"""TorchRL: collectors, environments, TensorDict work in the rollout, advantages, losses, buffers.

The training loop is the user's own, so there is no `learn` here: losses and value estimators are
modules that it calls, and the torch table times those by class. The rollout belongs to the
library. In small problems its TensorDict work between policy and environment takes as long as
either of them, so it is a separate phase, `tensordict`.
"""

from __future__ import annotations

import sys

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.returns import host_list
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function, Note, Region, Undo, Wrapper
from hotloop.hooks.wrapping import dispatch, generator, observe, suspend
from hotloop.measure.core import Core

_CATEGORIES = {
    "buffer.update": "Buffer",
    "learn.target": "Model",
    "tensordict": "Buffer",
}


class RolloutHooks:
    """Notes and wrappers of TorchRL for one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core = core = context.core
        self._tensordict = core.region("tensordict")
        self._collect = core.region("collect")
        self._evaluate = core.region("evaluate")
        self._beside = suspend(self._tensordict, core.is_open)
        #: Whether the program has used a collector.
        self._has_collector = False

    # -- notes --

    def count_steps(self, stepped: Foreign, env: object = None, *_: object, **__: object) -> None:
        """One environment step for each environment of the batch, and the episodes that ended."""
        envs = stepped.batch_size.numel()
        self._context.order.stepped(envs)
        done, reward = _next_of(stepped, "done"), _next_of(stepped, "reward")
        # Reading a value on a device would wait for the device; see `_count_resets`.
        ends = None if done is None else host_list(done)
        rewards = None if reward is None else host_list(reward)
        if ends is not None and rewards is not None and len(ends) == len(rewards) == envs:
            self._context.returns.step(env, envs, rewards, ends)
        if self._core.is_open("evaluate"):
            return
        self._core.count(schema.ENV_STEPS, envs)
        if ends and (ended := sum(ends)):
            self._core.count(schema.EPISODES, ended)

    def count_steps_and_reset(
        self, result: Foreign, env: object = None, *_: object, **__: object
    ) -> None:
        """A step of a parallel environment, and the reset that followed."""
        self.count_steps(result[0], env)

    def after_reset(self, result: object, env: object = None, *_: object, **kwargs: object) -> None:
        """Whole resets restart every episode; partial ones follow an end."""
        if not kwargs.get("select_reset_only"):
            self._context.returns.was_reset(result, env)

    def _count_resets(self, *args: Foreign, **kwargs: object) -> None:
        """Episodes of environments on a device: to reset them the library itself has read this."""
        if not kwargs.get("select_reset_only") or self._core.is_open("evaluate"):
            return
        reset = args[1].get("_reset", None)
        if reset is not None and reset.device.type != "cpu":
            self._core.count(schema.EPISODES, int(reset.sum()))

    def after_add(self, result: object, buffer: Foreign, *_: object, **__: object) -> None:
        """Something was added to a replay buffer."""
        self._context.profiler.gauges[schema.BUFFER_LENGTH] = len(buffer)

    def after_sample(self, result: object, *_: object, **__: object) -> None:
        """A loss module gets a TensorDict, whose batch size the torch table cannot see."""
        sample = result[0] if isinstance(result, tuple) else result
        size = getattr(sample, "batch_size", None)
        if size is not None:
            self._context.updates.batch_size = size.numel()

    def begin_collecting(self, collector: Foreign) -> Note | None:
        """A collector's `__iter__`: the code between two batches is `collect`."""
        self._has_collector = True
        if not hasattr(collector, "procs"):
            return None
        frames = getattr(collector, "_frames", 0)

        def count_batch(batch: Foreign) -> None:
            # Worker processes made the steps; this process only sees the batches.
            nonlocal frames
            before, frames = frames, int(collector._frames)
            if frames > before:
                self._core.count(schema.ENV_STEPS, frames - before)
            done = None if batch is None else batch.get(("next", "done"), None)
            if done is not None and done.device.type == "cpu":
                self._core.count(schema.EPISODES, int(done.sum()))

        return count_batch

    # -- targets --

    def once(self, module: str, name: str, phase: str, after: Note | None = None) -> Target:
        """A phase of something that programs compile: `torch.compile` sees through the hook."""
        return Target(module, name, phase, wrapper=self._phase(phase, after))

    def every(self, module: str, name: str, phase: str, after: Note | None = None) -> Target:
        """Also of a method's overrides; one that calls its parent's is one call."""
        return Target(module, name, phase, overrides=True, wrapper=self._phase(phase, after))

    # -- wrappers --

    def _phase(self, phase: str, after: Note | None, around: Wrapper | None = None) -> Wrapper:
        """Every outermost call in the phase, which `inference` does not deduce from then on."""
        named = self._context.flow.named

        def wrapper(original: Function) -> Function:
            timed = self._core.region(phase).wrap(original, after=after, outermost=True)
            inner = around(timed) if around else timed

            def call(*args: object, **kwargs: object) -> object:
                if phase not in named:
                    named.add(phase)
                return inner(*args, **kwargs)

            return call

        return wrapper

    def beside_tensordict(self, phase: str, after: Note | None = None) -> Wrapper:
        """A step or a reset: TensorDict work around it is suspended, so that both are siblings."""
        if phase != "env.reset":
            return self._phase(phase, after, self._beside)
        counted = observe(self._context, before=self._count_resets)
        return self._phase(phase, after, lambda call: counted(self._beside(call)))

    def rollout(self, original: Function) -> Function:
        """`env.rollout` collects, unless a collector does: then it is how people evaluate."""

        def choose(*_: object, **__: object) -> Region:
            if not self._has_collector or self._core.is_open("collect"):
                return self._collect
            self._context.profiler.mark("evaluate", "inferred")
            return self._evaluate

        return dispatch(self._context, choose, outermost=True)(original)

    def steps(self, original: Function) -> Function:
        """The loop of `env.rollout`: all but steps, resets and the policy is TensorDict work."""
        act, inside = self._core.region("policy.act"), self._tensordict.wrap(original)

        def call(*args: object, **kwargs: object) -> object:
            policy = kwargs.get("policy")
            if callable(policy):
                kwargs["policy"] = self._beside(act.wrap(policy, outermost=True))
            return inside(*args, **kwargs)

        return call

    def setup(self) -> Undo | None:
        """`torch.stack` of TensorDicts, with which every rollout ends, is found in a dictionary."""
        import torch

        functions = getattr(sys.modules.get("tensordict._torch_func"), "TD_HANDLED_FUNCTIONS", {})
        original = functions.get(torch.stack)
        if original is None:
            return None
        return Core.attach(original, lambda stack: self._tensordict.wrap(stack, outermost=True))


def _next_of(stepped: Foreign, name: str) -> Foreign:
    try:
        # Where the usual kind of TensorDict keeps it: `get` takes 20 times as long.
        return stepped._tensordict["next"]._tensordict[name]
    except (AttributeError, KeyError, TypeError):
        return stepped.get("next").get(name, None)


def _called_as(context: HookContext, phase: str, module: str, name: str) -> Target:
    """Registers the phase of such a module with the torch table; the module is not hooked."""

    def wrapper(original: Function) -> Function:
        context.module_phases[getattr(sys.modules[module], name)] = phase
        return original

    return Target(module, f"{name}.forward", phase, wrapper=wrapper)


_BASE = "torchrl.collectors._base"
_SINGLE = "torchrl.collectors._single"
_COMMON = "torchrl.envs.common"
_PARALLEL = "torchrl.envs.batched_envs"
_BUFFERS = "torchrl.data.replay_buffers.replay_buffers"
_TRAINER = "torchrl.trainers.trainers"
_LOGGER = "torchrl.record.loggers.common"


def library(context: HookContext) -> Library:
    """The table of TorchRL."""
    hooks = RolloutHooks(context)

    def name_collector(*_: object, idx: int = 0, **__: object) -> None:
        context.name_process(f"collector-{idx}")

    return Library(
        "TorchRL",
        "torchrl",
        targets=(
            # Rollouts.
            Target(
                _BASE,
                "BaseCollector.__iter__",
                "collect",
                wrapper=generator(context, "collect", hooks.begin_collecting),
            ),
            hooks.once(_SINGLE, "Collector.rollout", "collect"),
            Target(
                "torchrl.collectors._runner",
                "_main_async_collector",
                "",
                wrapper=observe(context, before=name_collector),
                optional=True,
            ),
            Target(_COMMON, "EnvBase.rollout", "collect", wrapper=hooks.rollout),
            Target(_COMMON, "EnvBase._rollout_stop_early", "tensordict", wrapper=hooks.steps),
            Target(_COMMON, "EnvBase._rollout_nonstop", "tensordict", wrapper=hooks.steps),
            hooks.every(_BASE, "BaseCollector.update_policy_weights_", "sync.weights"),
            # Environments.
            Target(
                _COMMON,
                "EnvBase.step",
                "env.step",
                overrides=True,
                wrapper=hooks.beside_tensordict("env.step", hooks.count_steps),
            ),
            Target(
                _COMMON,
                "EnvBase.reset",
                "env.reset",
                overrides=True,
                wrapper=hooks.beside_tensordict("env.reset", hooks.after_reset),
            ),
            hooks.once(_COMMON, "EnvBase.rand_action", "policy.act"),
            # In a parallel environment, a step and a reset are one call to the workers.
            hooks.once(
                _PARALLEL,
                "ParallelEnv.step_and_maybe_reset",
                "env.step",
                after=hooks.count_steps_and_reset,
            ),
            once(_PARALLEL, "ParallelEnv._wait_for_workers", "wait"),
            once(_PARALLEL, "ParallelEnv._shutdown_workers", "wait"),
            once("multiprocessing.queues", "Queue.get", "wait"),
            # What is done with TensorDicts on the way.
            hooks.once(_COMMON, "EnvBase.step_and_maybe_reset", "tensordict"),
            hooks.once(_COMMON, "EnvBase.step_mdp", "tensordict"),
            hooks.once("tensordict.base", "TensorDictBase.maybe_dense_stack", "tensordict"),
            hooks.once("tensordict._lazy", "LazyStackedTensorDict.maybe_dense_stack", "tensordict"),
            hooks.every("tensordict.base", "TensorDictBase.to", "tensordict"),
            hooks.every("tensordict.base", "TensorDictBase.clone", "tensordict"),
            hooks.once(_SINGLE, "Collector._update_traj_ids", "tensordict"),
            hooks.once(_SINGLE, "Collector._postproc", "tensordict"),
            _called_as(context, "tensordict", "torchrl.envs.transforms._base", "Transform"),
            # Learning.
            _called_as(context, "learn.loss", "torchrl.objectives.common", "LossModule"),
            _called_as(
                context, "advantage", "torchrl.objectives.value.advantages", "ValueEstimatorBase"
            ),
            hooks.every("torchrl.objectives.utils", "TargetNetUpdater.step", "learn.target"),
            # Buffers.
            hooks.every(f"{_BUFFERS}.base", "ReplayBuffer.add", "buffer.add", hooks.after_add),
            hooks.every(f"{_BUFFERS}.base", "ReplayBuffer.extend", "buffer.add", hooks.after_add),
            hooks.every(
                f"{_BUFFERS}.base", "ReplayBuffer.sample", "buffer.sample", hooks.after_sample
            ),
            hooks.every(f"{_BUFFERS}.base", "ReplayBuffer.update_priority", "buffer.update"),
            hooks.every(
                f"{_BUFFERS}.tensordict",
                "TensorDictReplayBuffer.update_tensordict_priority",
                "buffer.update",
            ),
            # The library's own trainer and loggers.
            hooks.every(_TRAINER, "Trainer.optim_steps", "learn"),
            hooks.once(_TRAINER, "Trainer._log", "log"),
            hooks.once(_TRAINER, "Trainer._pbar_description", "log"),
            hooks.once(_TRAINER, "Trainer.save_trainer", "checkpoint"),
            hooks.once(_TRAINER, "LogValidationReward.__call__", "evaluate"),
            hooks.every(_LOGGER, "Logger.log_scalar", "log"),
            hooks.every(_LOGGER, "Logger.log_metrics", "log"),
            hooks.every(_LOGGER, "Logger.log_video", "log"),
            hooks.every(_LOGGER, "Logger.log_histogram", "log"),
        ),
        categories=_CATEGORIES,
        setup=hooks.setup,
    )
