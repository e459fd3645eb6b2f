"""Facts of TensorFlow: where the program calls functions that are traced again; its threads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.hooks.facts import Facts

_MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"


def put_on(facts: Facts) -> None:
    """Stand where a function is traced: a trace takes milliseconds."""
    module = sys.modules.get(_MODULE)
    original = getattr(module, "_create_concrete_function", None)
    if module is None or original is None:
        return
    wrapped = functools.partial(_place_retraces, facts)(original)
    setattr(module, "_create_concrete_function", wrapped)  # noqa: B010
    facts.add(undo=lambda: setattr(module, "_create_concrete_function", original))
    threads = _Threads()
    facts.add(notes=threads.notes)


def _place_retraces(facts: Facts, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        options = args[3] if len(args) > 3 else kwargs.get("tracing_options")
        cache = getattr(options, "function_cache", None)
        try:
            again = cache is not None and len(cache) > 0
        except TypeError:
            again = False
        if again:
            facts.places.note("retracing call")
        return original(*args, **kwargs)

    return create


class _Threads:
    """TensorFlow's own thread pools, as set by the program; 0 means one thread a core."""

    def notes(self) -> dict[str, Any]:
        context = sys.modules.get("tensorflow.python.eager.context")
        if context is None:
            return {}
        current = context.context()
        return {
            "tensorflow_threads": {
                "intra_op": int(current._intra_op_parallelism_threads or 0),
                "inter_op": int(current._inter_op_parallelism_threads or 0),
            }
        }
