"""What a compiled function of TensorFlow called while it was traced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Traced:
    """What the traces of one function called."""

    def __init__(self) -> None:
        self.optimizers: list[int] = []
        self.gradients = False
        self.networks = False


class Traces(threading.local):
    """The compiled functions that a thread is in; the innermost is being traced."""

    def __init__(self) -> None:
        self._stack: list[Traced] = []

    @contextmanager
    def calling(self, about: Traced) -> Iterator[None]:
        """While this function is called, or traced."""
        self._stack.append(about)
        try:
            yield
        finally:
            self._stack.pop()

    def note_optimizer(self, optimizer: int) -> None:
        """An optimizer was applied while a function is traced."""
        if self._stack and optimizer not in self._stack[-1].optimizers:
            self._stack[-1].optimizers.append(optimizer)

    def note_network(self) -> None:
        """A network was called while a function is traced."""
        if self._stack:
            self._stack[-1].networks = True

    def note_gradient(self) -> None:
        """A gradient was taken while a function is traced."""
        if self._stack:
            self._stack[-1].gradients = True
