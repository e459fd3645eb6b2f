"""Whole training loops in one compiled call: measures compiling and computing from outside.

The call returns at once, so its computing shows as waiting for its results. A program that never
reads them waits when Python exits, after measuring has ended, so hotloop waits for them just
before.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterable
from time import monotonic
from weakref import ref

from hotloop.hooks.context import HookContext
from hotloop.hooks.protocols import Foreign, Function, Region
from hotloop.hooks.wrapping import dispatch


class CompiledLoops:
    """The whole training loops that one run has started."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._wait = context.core.region("wait")
        self._loop = context.core.region("loop.compiled")
        #: An array that each loop has returned last, by the loop's name.
        self._results: dict[str, ref[Foreign]] = {}

    def started(self, name: str, result: Iterable[Foreign]) -> None:
        """A whole loop was started; these are the arrays that it will have computed."""
        if not self._results:
            atexit.register(self._wait_at_exit)
            # Not unregistered: that compares all that the program has registered.
            self._context.undo.append(self._results.clear)
        for array in result:
            if hasattr(array, "is_ready"):
                self._results[name] = ref(array)
                return

    def wait(self, original: Function) -> Function:
        """A function of JAX that waits, in the phase of the call it waits for."""
        is_open = self._context.core.is_open

        def choose(*_: object, **__: object) -> Region | None:
            if is_open("wait", "loop.compiled"):
                return None
            return self._loop if any(map(_computes, self._results.values())) else self._wait

        return dispatch(self._context, choose)(original)

    def _wait_at_exit(self) -> None:
        for result in self._results.values():
            array = result()
            if array is not None and _computes(result):
                array.block_until_ready()
        self._results.clear()


def _computes(result: ref[Foreign]) -> bool:
    array = result()
    return array is not None and not array.is_deleted() and not array.is_ready()


#: XLA's part of compiling, which a cache on disk saves in the next run.
_XLA_COMPILES = "backend_compile"
#: From this time on, a cache is worth a word.
WORTH_A_CACHE_S = 5.0


class CompileTime:
    """How long XLA has compiled in one run, on any thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def begins(self, event: object) -> None:
        """JAX begins a part of making a compiled function."""
        if _XLA_COMPILES in str(event):
            self._began = monotonic()

    def ends(self, event: object) -> None:
        """That part is over."""
        if _XLA_COMPILES in str(event):
            self.seconds += monotonic() - self._began

    def remarks(self) -> list[str]:
        """Advice if the next run will compile the same code again."""
        if self.seconds < WORTH_A_CACHE_S:
            return []  # JAX may still be half imported
        config: Foreign = sys.modules["jax"].config
        if getattr(config, "jax_compilation_cache_dir", None):
            return []
        return [
            f"XLA compiled for {self.seconds:.0f} s, and the next run will compile the same "
            "code again. To avoid that, cache it on disk: set JAX_COMPILATION_CACHE_DIR, or "
            'call jax.config.update("jax_compilation_cache_dir", FOLDER) first.'
        ]
