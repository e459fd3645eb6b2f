"""How many environment steps one call of a compiled loop makes, from the sizes in its jaxpr.

Environments for JAX (Gymnax, JaxMARL, Navix) jit their `step`, so a jaxpr has it as a call with a
name. Around it are scans, whose lengths are known when they are traced, and `vmap` adds a dimension
for each vector of environments. A `while` loop decides at run time how often it runs: what is
inside cannot be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from hotloop.hooks.inference.jitted import phase_of
from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.protocols import Foreign

#: How JAX calls a jitted function inside another one; older versions say `pjit`.
_CALLS = ("jit", "pjit")


class Stepped(NamedTuple):
    """The environment steps of one call of a compiled function."""

    steps: int
    #: Environments that are stepped at once.
    envs: int


def environment_steps(jitted: Foreign, args: Foreign, kwargs: Foreign) -> Stepped | None:
    """The steps of a call with these arguments; None if they cannot be known.

    JAX keeps the trace that it made for the call, so nothing is traced here.
    """
    found = list(_steps_in(jitted.trace(*args, **kwargs).jaxpr.jaxpr, 1))
    if not found or None in found:
        return None
    known = [each for each in found if each is not None]
    return Stepped(sum(each.steps for each in known), max(each.envs for each in known))


def _steps_in(jaxpr: Foreign, times: int | None) -> Iterator[Stepped | None]:
    """Each call of an environment's step in a jaxpr that runs this many times."""
    for equation in jaxpr.eqns:
        kind, given = equation.primitive.name, equation.params
        if kind in _CALLS and phase_of(v.words_of(given.get("name", ""))) == "env.step":
            envs = _environments(equation.outvars)
            yield None if times is None else Stepped(times * envs, envs)
            continue
        inner = times
        if kind == "scan" and times is not None:
            inner = times * int(given["length"])
        elif kind == "while":
            inner = None
        parts = [list(_steps_in(each, inner)) for each in _jaxprs(given)]
        if kind == "cond":  # one of its branches runs
            parts = [max(parts, key=len)] if parts else []
        for part in parts:
            yield from part


def _jaxprs(parameters: dict[str, Foreign]) -> Iterator[Foreign]:
    for value in parameters.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(each, "jaxpr", each)
            if hasattr(inner, "eqns"):
                yield inner


def _environments(results: Foreign) -> int:
    """How many environments a call steps: the dimensions that `vmap` gave to its smallest result.

    Of one environment, that is a number, such as the reward. Flags are preferred: they depend on
    the state, while a constant result gets no dimension.
    """
    flags = [each for each in results if str(each.aval.dtype) == "bool"]
    smallest = min(flags or results, key=lambda each: len(each.aval.shape), default=None)
    return 1 if smallest is None else prod(map(int, smallest.aval.shape))
