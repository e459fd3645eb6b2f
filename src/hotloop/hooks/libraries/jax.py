"""JAX: dispatch separated from compiling and from waiting for results.

A jitted call returns before its work is done, so its region is the *dispatch*. When the program
asks for results, the time until they are ready is `wait`, and the copy to the host is `transfer`.
Tracing, lowering and compiling are `compile`. The purpose of a jitted function is deduced from the
calls in its trace (a gradient, an environment) and from its name; an unknown one gets its own
phase, `jax.<name>`.
"""

from __future__ import annotations

import functools
import weakref

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.events import ACT, ADD, OPTIMIZER, STEP
from hotloop.hooks.inference.jitted import Jitted, mark_jitted
from hotloop.hooks.inference.jitted_agents import JittedAgents
from hotloop.hooks.inference.networks import batch_size_of, first_batch_size
from hotloop.hooks.inference.steps import NOT_TRAINING
from hotloop.hooks.libraries.jax_batches import (
    all_leaves_of,
    batch_argument,
    leaves_of,
    network_batch,
)
from hotloop.hooks.libraries.jax_gradients import GradientHooks, compare_with_collected
from hotloop.hooks.libraries.jax_loops import CompiledLoops, CompileTime
from hotloop.hooks.libraries.jax_networks import FlaxHooks
from hotloop.hooks.libraries.jax_sizes import environment_steps
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function, Undo
from hotloop.hooks.wrapping import guarded, observe

#: Attributes of a jitted function that programs use.
_JIT_ATTRIBUTES = ("lower", "trace", "eval_shape", "clear_cache", "_cache_size", "_clear_cache")

#: After these events, random numbers belong to the next event.
_BEFORE_RANDOM = (STEP, OPTIMIZER)
_DRAWS = "PRNGKey key split fold_in uniform normal randint categorical bernoulli choice permutation"

_NNX = "flax.nnx.transforms.compilation"


class JitHooks:
    """Hooks of jitted functions for one run."""

    def __init__(self, context: HookContext, flax: FlaxHooks, loops: CompiledLoops) -> None:
        self._context = context
        self._core, self._networks = context.core, context.networks
        self._compiled = context.profiler.compiled
        self._flax, self._loops = flax, loops
        self.agents = JittedAgents(context)

    def resume(self) -> Undo:
        """Hook the functions that an earlier run in this process has seen being jitted."""
        for jitted, detach in list(self._compiled.items()):
            detach()
            self._hook(jitted, getattr(jitted, "__wrapped__", jitted))
        return self._detach_all

    def _detach_all(self) -> None:
        self._context.jitted.detach_gradients()
        for detach in list(self._compiled.values()):
            detach()

    def jit(self, original: Function) -> Function:
        """`jax.jit`."""

        @functools.wraps(original)
        def jit(*args: Foreign, **kwargs: Foreign) -> object:
            jitted = original(*args, **kwargs)
            if hasattr(jitted, "lower"):
                return self._hook(jitted, args[0])
            if not args and callable(jitted):  # `@jax.jit(static_argnames=...)`
                return self._decorator(jitted)
            return jitted

        return jit

    def _decorator(self, original: Function) -> Function:
        @functools.wraps(original)
        def decorator(function: Function) -> Function:
            return self._hook(original(function), function)

        del decorator.__wrapped__  # JAX's own has none
        return decorator

    def _hook(self, jitted: Function, function: Function) -> Function:
        """The jitted function itself with its calls hooked, or another one if impossible."""
        name = getattr(function, "__name__", None) or type(function).__name__
        about = Jitted(self._context, "lambda" if name == "<lambda>" else name, function)
        # The hook refers to `original`, never to `jitted`: it must not keep it alive.
        detach = self._core.attach(jitted, lambda original: self._timed(original, about))
        if detach is None:
            return _instead_of(jitted, function, self._timed(jitted, about))
        self._compiled[jitted] = detach
        about.jitted = weakref.ref(jitted)
        mark_jitted(jitted)
        return jitted

    def _timed(self, jitted: Function, about: Jitted) -> Function:
        """A jitted function with every call in its phase."""
        context, core, order = self._context, self._core, self._context.order
        batch_size = guarded(context, "JAX: a batch size", network_batch)

        def traced(*args: object, **kwargs: object) -> object:
            stack = context.jitted.stack
            stack.append(about)
            try:
                return jitted(*args, **kwargs)
            finally:
                stack.pop()

        def note(result: object, *args: object, **kwargs: object) -> None:
            self._flax.record_when_over(lambda: self._called(about, args, kwargs, result))

        def call(*args: Foreign, **kwargs: Foreign) -> object:
            if not core.enabled or core.is_open("compile"):
                context.jitted.note_part(about.phase)
                return jitted(*args, **kwargs)
            if about.is_network and order.envs:
                try:
                    rows = batch_size(args) or 0
                    return self._networks.call(about, False, rows, traced, args, kwargs)
                finally:
                    if order.last == ACT:
                        self.agents.somebody_acted()
            timed = context.guard("JAX: a jitted function", about.timed, traced, note)
            return (timed or traced)(*args, **kwargs)

        return call

    def _called(self, about: Jitted, args: Foreign, kwargs: Foreign, result: Foreign) -> None:
        about.traces = about.traces or 1  # it may have been compiled before the hooks were there
        if about.gradients:
            self._learned(about, args, kwargs, result)
        elif about.phase == "policy.act":
            self._context.order.happened(ACT)
            self.agents.somebody_acted()
        elif "env.step" in about.parts:
            self._context.jitted.rollouts.add(about.name)
            self._count_steps(about, args, kwargs)

    def _count_steps(self, about: Jitted, args: Foreign, kwargs: Foreign) -> None:
        """Environment steps inside a compiled loop, from the sizes of the loop."""
        jitted, context = about.jitted(), self._context
        if about.steps_of != about.traces and hasattr(jitted, "trace"):
            about.steps_of = about.traces
            sizes = context.guard("JAX: sizes of a loop", environment_steps, jitted, args, kwargs)
            about.steps = sizes.steps if sizes else 0
            if sizes:
                context.jitted.counted.add(about.name)
                context.profiler.gauges[schema.COMPILED_ENVS] = sizes.envs
        if about.steps and not self._core.is_open(*NOT_TRAINING):
            self._core.count(schema.ENV_STEPS, about.steps)

    def _learned(self, about: Jitted, args: Foreign, kwargs: Foreign, result: Foreign) -> None:
        """A function that takes gradients was called."""
        if about.loops:
            # How many iterations a compiled loop made is unknown here.
            if about.is_whole_loop:
                self._context.jitted.whole_loops.add(about.name)
                self._count_steps(about, args, kwargs)
                self._loops.started(about.name, all_leaves_of(result))
            else:
                self._networks.update_is_over()
            return
        if about.acts is None and self._context.order.envs:
            self.agents.judge(about, leaves_of((args, kwargs)), leaves_of(result))
        if about.acts:
            self._acted_and_learned(about)
            return
        if about.batch is None or about.batch_of != about.traces:
            about.batch, about.batch_of = batch_argument(args), about.traces
        rows = batch_size_of(args[about.batch]) if 0 <= about.batch < len(args) else 0
        rows = rows or first_batch_size((), kwargs)
        if about.acts is None:
            about.samples += rows or self._context.flow.collected()
        compare_with_collected(self._context, rows)
        self._networks.learned(id(about), rows)
        self._networks.update_is_over()

    def _acted_and_learned(self, about: Jitted) -> None:
        order = self._context.order
        self._core.count(schema.GRADIENT_STEPS, 1)
        if about.samples:  # that was not its batch size: the batch is drawn inside
            self._core.count(schema.SAMPLES, -about.samples)
            about.samples = 0
        order.happened(ACT)
        self._networks.update_is_over()
        order.happened(ACT)


def _instead_of(jitted: Function, function: Function, timed: Function) -> Function:
    """A plain function that replaces a jitted one which cannot be hooked in place."""

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        return timed(*args, **kwargs)

    for attribute in _JIT_ATTRIBUTES:
        if hasattr(jitted, attribute):
            setattr(call, attribute, getattr(jitted, attribute))
    call.__wrapped__ = getattr(jitted, "__wrapped__", function)
    mark_jitted(call)
    return call


def _compiling(context: HookContext, compiled: CompileTime, original: Foreign) -> Foreign:
    """What JAX itself measures as tracing, lowering and compiling."""
    region, count = context.core.region("compile"), context.core.count
    is_open = context.core.is_open

    def note_trace(event: object) -> None:
        stack = context.jitted.stack
        if stack and "trace" in str(event):
            about = stack[-1]
            about.traces += 1
            about.gradients = 0
            # One of JAX's own is an operation by itself, traced for every shape; a trace inside
            # another is a part of that one.
            if about.of_jax or is_open("compile"):
                return
            count(schema.TRACES, 1)
            if about.code_at in context.jitted.traced:
                count(schema.RETRACES, 1)
            context.jitted.traced.add(about.code_at)

    noted = guarded(context, "JAX: a trace", note_trace)

    class Elapsed(original):  # type: ignore[misc]
        __slots__ = ()

        def __enter__(self) -> object:
            noted(self.event)
            compiled.begins(self.event)
            region.enter()
            return super().__enter__()

        def __exit__(self, *error: object) -> object:
            try:
                return super().__exit__(*error)
            finally:
                region.exit()
                compiled.ends(self.event)

    return Elapsed


def _reading(context: HookContext, original: Foreign) -> Foreign:
    """The property that every read from the host goes through."""
    count, read = context.core.count, original.fget

    def count_read(result: Foreign, *_: object) -> None:
        count(schema.TRANSFERS, 1)
        count(schema.TRANSFER_BYTES, result.nbytes)

    copy = context.core.region("transfer").wrap(read, after=count_read)

    def value(array: Foreign) -> object:
        if array._npy_value is not None:
            return read(array)
        if not array.is_ready():
            array.block_until_ready()
            count(schema.SYNCS, 1)
        return copy(array)

    return property(value, doc=original.__doc__)


def _reading_item(context: HookContext) -> Function:
    """`item()`, which reads a CPU's memory itself: the wait for its array comes first."""

    def wait_first(array: Foreign, *_: object) -> None:
        # While a function is traced, it is called for arrays that have no value yet.
        computes = hasattr(array, "is_ready") and not array.is_deleted() and not array.is_ready()
        if computes:
            array.block_until_ready()
            context.core.count(schema.SYNCS, 1)

    return observe(context, before=wait_first)


def library(context: HookContext) -> Library:
    """The table of JAX."""
    networks, loops = FlaxHooks(context), CompiledLoops(context)
    calls, gradients = JitHooks(context, networks, loops), GradientHooks(context)
    core, order, compiled = context.core, context.order, CompileTime()

    def before_draw(*_: object, **__: object) -> None:
        # Random numbers that a loop draws itself belong to the next event, an action or a batch:
        # the last transition is stored by then, and an update is over.
        if order.last in _BEFORE_RANDOM and order.envs and core.innermost() is None:
            order.happened(ADD)

    draw = observe(context, before=before_draw)
    return Library(
        title="JAX",
        distribution="jax",
        categories={"flax.nnx": "Model"},
        remarks=lambda: context.jitted.remarks() + calls.agents.remarks() + compiled.remarks(),
        setup=calls.resume,
        targets=(
            Target("jax", "jit", "learn.step", wrapper=calls.jit),
            Target("jax", "grad", "learn.backward", wrapper=gradients.transform),
            Target("jax", "value_and_grad", "learn.backward", wrapper=gradients.transform),
            Target("jax.lax", "scan", "compile", wrapper=gradients.loop),
            Target("jax.lax", "fori_loop", "compile", wrapper=gradients.loop),
            Target("jax.lax", "while_loop", "compile", wrapper=gradients.loop),
            Target(
                "jax._src.dispatch",
                "log_elapsed_time",
                "compile",
                wrapper=functools.partial(_compiling, context, compiled),
            ),
            Target(
                "jax._src.array",
                "ArrayImpl._value",
                "transfer",
                wrapper=functools.partial(_reading, context),
            ),
            Target(  # `Array.item`
                "jax._src.numpy.array_methods",
                "_item",
                "wait",
                wrapper=_reading_item(context),
                optional=True,
            ),
            Target("jax._src.array", "ArrayImpl.block_until_ready", "wait", wrapper=loops.wait),
            Target("jax", "block_until_ready", "wait", wrapper=loops.wait),
            once("jax", "device_get", "transfer"),
            Target("flax.linen.module", "Module.apply", "policy.act", wrapper=networks.apply),
            Target(_NNX, "JitWrapped.__call__", "flax.nnx", wrapper=networks.nnx, optional=True),
            Target(
                _NNX, "SimpleJitWrapped.__call__", "flax.nnx", wrapper=networks.nnx, optional=True
            ),
            Target("optax", "apply_updates", "learn.optimizer", wrapper=networks.optimizer),
            *(Target("jax.random", name, "policy.act", wrapper=draw) for name in _DRAWS.split()),
        ),
    )
