"""Evolution strategies: `cma` (pycma) and `cmaes`.

Both are asked for candidates and told how good they were. `ask` is `candidates`, `tell` is one
generation. What lies between them tries the candidates: where nothing in it is recognized, it is
`fitness`, inferred.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target
from hotloop.hooks.protocols import Foreign, Function
from hotloop.hooks.redirect import time_as

#: The classes of `cmaes`, by the module of each.
_CMAES = {
    "_cma": "CMA",
    "_cmawm": "CMAwM",
    "_sepcma": "SepCMA",
    "_xnes": "XNES",
    "_dxnesic": "DXNESIC",
    "_catcma": "CatCMA",
    "_catcmawm": "CatCMAwM",
    "_mapcma": "MAPCMA",
    "_comocatcmawm": "COMOCatCMAwM",
}


class Generations:
    """Times `ask`, `tell` and the code between them."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core: Foreign = context.core
        self._fitness: Foreign = context.core.region("fitness")
        self._has_gaps = context.flow.native is not None

    def targets(self, module: str, cls: str) -> Iterator[Target]:
        """The targets of one strategy."""
        for name, phase, wrapper in (
            ("ask", "candidates", self._ask),
            ("tell", "learn.step", self._tell),
        ):
            yield Target(module, f"{cls}.{name}", phase, wrapper=wrapper, optional=True)

    def _ask(self, original: Function) -> Function:
        return time_as(self._context, original, ("candidates",), self._was_asked)

    def _was_asked(self, *_: object, **__: object) -> None:
        # A network or a library with events identifies the next code better.
        if self._has_gaps and not self._context.order.active:
            self._fitness.gap()

    def _tell(self, original: Function) -> Function:
        timed = time_as(self._context, original, ("learn", "learn.step"), self._was_told)

        @functools.wraps(original)
        def tell(*args: object, **kwargs: object) -> object:
            if self._has_gaps and not self._context.order.active:
                self._context.guard("fitness", self._claim)
            return timed(*args, **kwargs)

        return tell

    def _claim(self) -> None:
        if not self._core.is_open("learn"):
            self._core.end_gap()
            self._core.claim_gap(self._fitness)
            self._context.profiler.mark("fitness", "inferred")

    def _was_told(self, *_: object, **__: object) -> None:
        self._core.count(schema.GENERATIONS, 1)


def pycma(context: HookContext) -> Library:
    """The table of `cma`."""
    targets = Generations(context).targets("cma.evolution_strategy", "CMAEvolutionStrategy")
    return Library("pycma", "cma", tuple(targets))


def cmaes(context: HookContext) -> Library:
    """The table of `cmaes`."""
    generations = Generations(context)
    targets = (each for m, cls in _CMAES.items() for each in generations.targets(f"cmaes.{m}", cls))
    return Library("cmaes", "cmaes", tuple(targets))
