"""Determines which language model is the policy and which one is the reference.

The policy learns or writes completions. Called without gradients outside `generate`, it computes
their log-probabilities again. A second model of the same class and size that never learns is the
reference.
"""

from __future__ import annotations

import sys
import weakref

from hotloop.hooks.inference.events import REFERENCE, SCORE
from hotloop.hooks.protocols import Foreign


class LanguageModels:
    """The causal language models of one run."""

    def __init__(self) -> None:
        #: Those that learn or write; whether they have written.
        self._policies: weakref.WeakKeyDictionary[Foreign, bool] = weakref.WeakKeyDictionary()
        self._sizes: weakref.WeakKeyDictionary[Foreign, int] = weakref.WeakKeyDictionary()

    def wrote(self, model: Foreign) -> None:
        """A model has written completions."""
        self._policies[model] = True

    def event(self, model: Foreign) -> int | None:
        """The event that a call outside `generate` is; None if the model learns or is unknown."""
        writes = self._policies.get(model)
        if sys.modules["torch"].is_grad_enabled() and self._can_learn(model):
            self._policies.setdefault(model, False)
            return None
        if writes is not None:
            return SCORE if writes else None
        twins = any(
            type(each) is type(model) and self._size(each) == self._size(model)
            for each in self._policies
        )
        return REFERENCE if twins else None

    def _can_learn(self, model: Foreign) -> bool:
        return any(each.requires_grad for each in model.parameters())

    def _size(self, model: Foreign) -> int:
        size = self._sizes.get(model)
        if size is None:
            size = self._sizes[model] = sum(each.numel() for each in model.parameters())
        return size
