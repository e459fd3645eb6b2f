"""Distinguishes candidates of an evolution strategy from evaluations of a trained agent.

Both are functions called `evaluate` that play and learn nothing. The difference is in the code that
follows: an agent is trained between evaluations, while an evolution strategy tries the next
candidate.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.gaps import has_gradients
from hotloop.hooks.protocols import Region


class Populations:
    """What the calls of `evaluate` in one run are."""

    def __init__(self, context: HookContext) -> None:
        core = context.core
        self._mark = context.profiler.mark
        self._order = context.order
        self._evaluate, self._collect = core.region("evaluate"), core.region("collect")
        #: Phases entered by training; candidates are tried without any of these.
        self._learning = [core.region(name) for name in ("learn.optimizer", "learn.backward")]
        self._are_candidates = self._was_called = False
        #: Steps of the loop when the last candidate had been tried.
        self._steps = 0

    def choose(self, *_: object, **__: object) -> Region:
        """The phase of the call that begins now."""
        if not self._are_candidates:
            trained = self._order.steps != self._steps or any(r.entered for r in self._learning)
            self._are_candidates = not trained and self._was_called
            first_of_all = not trained and not self._was_called and not has_gradients()
            if not self._are_candidates and not first_of_all:
                self._was_called = True
                return self._chosen(self._evaluate)
        self._was_called = True
        return self._chosen(self._collect)

    def ended(self, *_: object, **__: object) -> None:
        """A call is over: its steps are its own."""
        self._steps = self._order.steps

    def _chosen(self, region: Region) -> Region:
        self._mark(region.name, "shape")
        return region
