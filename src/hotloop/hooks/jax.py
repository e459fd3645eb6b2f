"""JAX: dispatch told apart from compiling and from waiting for results.

A jitted call returns before its work is done, so its region is the *dispatch*; the time until
results are there is `wait`, where the program asks for them, and `transfer` the copy to the host.
Tracing, lowering and compiling are `compile`. What a jitted function is for is known from what its
trace went through (a gradient, an environment) and from its name; one of which nothing is known
gets a phase of its own name, `jax.<name>`.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks import jax_loops, jitted_agents
from hotloop.hooks.jax_loops import time_wait
from hotloop.hooks.jax_networks import tell_when_over, time_apply, time_nnx, time_optimizer
from hotloop.hooks.jitted import (
    TAKES_GRADIENTS,
    Jitted,
    calling,
    mark_jitted,
    note_part,
    remarks,
    rollouts,
    whole_loops,
)
from hotloop.hooks.networks import call_network, first_rows, learned, rows_of, update_is_over
from hotloop.hooks.plain_loop import ACT, ADD, OPTIMIZER, STEP, flow
from hotloop.hooks.table import Library, Place

_profiler = get_profiler()
_core = _profiler.core
_count = _core.count
_is_open = _core.is_open
_compile = _core.region("compile")
_transfer = _core.region("transfer")
_backward = _core.region("learn.backward")

#: A jitted function's own attributes, which programs ask for.
_JIT_ATTRIBUTES = ("lower", "trace", "eval_shape", "clear_cache", "_cache_size", "_clear_cache")


# -- calls --

_own = threading.local()


def _timed(jitted: Any, function: Any) -> Callable[..., Any]:
    """A jitted function with every call in its phase. A plain function, as JAX may be given it."""
    name = getattr(function, "__name__", None) or type(function).__name__
    about = Jitted("lambda" if name == "<lambda>" else name, function)

    def traced(*args: Any, **kwargs: Any) -> Any:
        stack = calling()
        stack.append(about)
        try:
            return jitted(*args, **kwargs)
        finally:
            stack.pop()

    def note(result: Any, *args: Any, **kwargs: Any) -> None:
        tell_when_over(lambda: _called(about, args, kwargs, result))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _core.enabled or _is_open("compile"):
            note_part(about.phase)
            return jitted(*args, **kwargs)
        if about.is_network and flow.envs:
            rows = rows_of(args[_batch_argument(args)]) if args else 0
            try:
                return call_network(about, False, rows, traced, args, kwargs)
            finally:
                if flow.order.last == ACT:
                    jitted_agents.somebody_acted()
        return about.timed(traced, note)(*args, **kwargs)

    for attribute in _JIT_ATTRIBUTES:
        if hasattr(jitted, attribute):
            setattr(call, attribute, getattr(jitted, attribute))
    call.__wrapped__ = getattr(jitted, "__wrapped__", function)
    mark_jitted(call)
    return call


def _called(about: Jitted, args: Any, kwargs: Any, result: Any) -> None:
    about.traces = about.traces or 1  # it may have been compiled before anybody looked
    if about.gradients:
        if about.loops:
            if about.is_whole_loop:
                whole_loops.add(about.name)
                jax_loops.started(about.name, _all_leaves(result))
            else:
                update_is_over()
            return  # how often a compiled loop went round is known to nobody here
        if about.acts is None and flow.envs:
            jitted_agents.judge(about, _leaves((args, kwargs)), _leaves(result))
        if about.acts:
            _count("gradient_steps", 1)
            if about.rows:  # what was taken for its batch is not: that is drawn inside
                _count("samples", -about.rows)
                about.rows = 0
            flow.happened(ACT)
            update_is_over()
            flow.happened(ACT)
            return
        if about.batch is None or about.batch_of != about.traces:
            about.batch, about.batch_of = _batch_argument(args), about.traces
        rows = rows_of(args[about.batch]) if 0 <= about.batch < len(args) else 0
        rows = rows or first_rows((), kwargs)
        if about.acts is None:
            about.rows += rows or flow.collected()
        _compare_with_collected(rows)
        learned(id(about), rows)
        update_is_over()
    elif about.phase == "policy.act":
        flow.happened(ACT)
        jitted_agents.somebody_acted()
    elif "env.step" in about.parts:
        rollouts.add(about.name)


def _compare_with_collected(rows: int) -> None:
    """Batches that are larger than what was collected for them are from a replay buffer.

    Not where episodes are made equally long before they are learned from: then there are other
    numbers of steps between updates each time.
    """
    order = flow.order
    if rows and order.steps:
        order.off_policy = order.steps == order.steps_before and rows > order.steps * order.envs


def _batch_argument(args: tuple[Any, ...]) -> int:
    """The argument whose arrays share a first dimension: parameters and keys do not."""
    best, most = -1, (0, False)
    for place, value in enumerate(args):
        leaves = _leaves(value)
        shapes = [getattr(leaf, "shape", None) for leaf in leaves]
        firsts = {shape[0] for shape in shapes if shape}
        if len(firsts) != 1 or not all(shapes) or _is_key(leaves):
            continue
        size = firsts.pop()
        # Of several, the one with the most arrays; of equals, one whose rows are not single
        # numbers (rewards and dones may be given apart); of these the last: parameters come first.
        rank = (len(leaves), any(shape and len(shape) > 1 for shape in shapes))
        if rank >= most and size > 0:
            best, most = place, rank
    return best


def _is_key(leaves: list[Any]) -> bool:
    kinds = [str(getattr(leaf, "dtype", "")) for leaf in leaves]
    return all(kind.startswith("key") or kind == "uint32" for kind in kinds)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value] if hasattr(value, "shape") else []


def _all_leaves(value: Any) -> list[Any]:
    """With JAX's own tree, which knows the program's classes: for what is called seldom."""
    return list(sys.modules["jax"].tree_util.tree_leaves(value))


def _time_jit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def jit(*args: Any, **kwargs: Any) -> Any:
        jitted = original(*args, **kwargs)
        if hasattr(jitted, "lower"):
            return _timed(jitted, args[0])
        if not args and callable(jitted):  # `@jax.jit(static_argnames=...)`
            return lambda function: _timed(jitted(function), function)
        return jitted

    return jit


# -- gradients --


def _time_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.grad` and `jax.value_and_grad`: what they return takes gradients when it is called."""

    @functools.wraps(original)
    def transform(*args: Any, **kwargs: Any) -> Any:
        function = original(*args, **kwargs)

        @functools.wraps(function)
        def gradient(*inner: Any, **named: Any) -> Any:
            stack = calling()
            if stack:
                _note_gradient(stack[-1])
                return _inside_gradient(function, inner, named)
            if _is_open("learn.backward", "compile"):
                return function(*inner, **named)
            _backward.enter()
            try:
                result = function(*inner, **named)
            finally:
                _backward.exit()
            rows = rows_of(inner[place]) if (place := _batch_argument(inner)) >= 0 else 0
            _compare_with_collected(rows)
            learned(0, rows)
            update_is_over()
            return result

        setattr(gradient, TAKES_GRADIENTS, True)
        return gradient

    return transform


def _note_gradient(about: Jitted) -> None:
    if not getattr(_own, "gradient", 0):
        about.gradients += 1
        about.loops = about.loops or bool(getattr(_own, "loop", 0))


def _inside_gradient(function: Any, args: Any, kwargs: Any) -> Any:
    """A gradient of a gradient is a part of it."""
    _own.gradient = getattr(_own, "gradient", 0) + 1
    try:
        return function(*args, **kwargs)
    finally:
        _own.gradient -= 1


def _note_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    """`lax.scan` and the like: what is traced inside goes round in compiled code."""

    @functools.wraps(original)
    def loop(*args: Any, **kwargs: Any) -> Any:
        _own.loop = getattr(_own, "loop", 0) + 1
        try:
            return original(*args, **kwargs)
        finally:
            _own.loop -= 1

    return loop


# -- random numbers --


def _note_random(original: Callable[..., Any]) -> Callable[..., Any]:
    """Random numbers that a loop draws itself.

    They are for what comes next, an action or a batch, not for what was before: what the
    environment answered has been stored by then, and an update is over.
    """

    @functools.wraps(original)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if flow.order.last in _BEFORE_RANDOM and flow.envs and _core.innermost() is None:
            flow.happened(ADD)
        return original(*args, **kwargs)

    return draw


_BEFORE_RANDOM = (STEP, OPTIMIZER)
_DRAWS = "PRNGKey key split fold_in uniform normal randint categorical bernoulli choice permutation"


# -- compiling, waiting, reading --


def _time_compile(original: Any) -> Any:
    """What JAX itself measures as tracing, lowering and compiling."""

    class Elapsed(original):  # type: ignore[misc]
        __slots__ = ()

        def __enter__(self) -> Any:
            stack = calling()
            if stack and "trace" in str(self.event):
                stack[-1].traces += 1
                stack[-1].gradients = 0
                _count("traces", 1)
                if stack[-1].traces > 1:
                    _count("retraces", 1)
            _compile.enter()
            return super().__enter__()

        def __exit__(self, *error: Any) -> Any:
            try:
                return super().__exit__(*error)
            finally:
                _compile.exit()

    return Elapsed


def _time_value(original: Any) -> Any:
    """The property that every read from the host goes through."""
    read = original.fget

    def value(self: Any) -> Any:
        if self._npy_value is not None:
            return read(self)
        if not self.is_ready():
            self.block_until_ready()
            _count("syncs", 1)
        _transfer.enter()
        try:
            result = read(self)
        finally:
            _transfer.exit()
        _count("transfers", 1)
        _count("transfer_bytes", result.nbytes)
        return result

    return property(value, doc=original.__doc__)


_LOOPS = "jax._src.lax.control_flow.loops"

_NNX = "flax.nnx.transforms.compilation"

LIBRARY = Library(
    title="JAX",
    distribution="jax",
    remarks=lambda: remarks() + jitted_agents.remarks(),
    places=(
        Place("jax", "jit", "learn.step", wrapper=_time_jit),
        Place("jax", "grad", "learn.backward", wrapper=_time_gradient),
        Place("jax", "value_and_grad", "learn.backward", wrapper=_time_gradient),
        Place("jax.lax", "scan", "compile", wrapper=_note_loop),
        Place("jax.lax", "fori_loop", "compile", wrapper=_note_loop),
        Place("jax.lax", "while_loop", "compile", wrapper=_note_loop),
        Place("jax._src.dispatch", "log_elapsed_time", "compile", wrapper=_time_compile),
        Place("jax._src.array", "ArrayImpl._value", "transfer", wrapper=_time_value),
        Place("jax._src.array", "ArrayImpl.block_until_ready", "wait", wrapper=time_wait),
        Place("jax", "block_until_ready", "wait", wrapper=time_wait),
        Place("jax", "device_get", "transfer", outermost=True),
        Place("flax.linen.module", "Module.apply", "policy.act", wrapper=time_apply),
        Place(_NNX, "JitWrapped.__call__", "flax.nnx", wrapper=time_nnx, optional=True),
        Place(_NNX, "SimpleJitWrapped.__call__", "flax.nnx", wrapper=time_nnx, optional=True),
        Place("optax", "apply_updates", "learn.optimizer", wrapper=time_optimizer),
        *(Place("jax.random", name, "policy.act", wrapper=_note_random) for name in _DRAWS.split()),
    ),
)
