"""Telemetry of TensorFlow: threads, and source lines that call retraced functions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.capture.schema import Notes, TensorflowThreads
from hotloop.hooks.protocols import Foreign
from hotloop.hooks.wrapping import observe, put_hook

if TYPE_CHECKING:
    from hotloop.hooks.telemetry.collect import Telemetry

_MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_TRACE = "_create_concrete_function"


def install(telemetry: Telemetry) -> None:
    """Hook the tracing of functions: a trace takes milliseconds."""
    module = sys.modules.get(_MODULE)
    if not hasattr(module, _TRACE):
        return

    def before_trace(*args: Foreign, **kwargs: Foreign) -> None:
        options = args[3] if len(args) > 3 else kwargs.get("tracing_options")
        if getattr(options, "function_cache", None):
            telemetry.lines.note(schema.CALL_RETRACED)

    hook = observe(telemetry.context, before=before_trace)
    telemetry.add(undo=put_hook(module, _TRACE, hook), notes=_threads)


def _threads() -> dict[str, object]:
    """TensorFlow's own thread pools, as set by the program; 0 means one thread per core."""
    context = sys.modules.get("tensorflow.python.eager.context")
    if context is None:
        return {}
    current = context.context()
    return {
        Notes.tensorflow_threads: {
            TensorflowThreads.intra_op: int(current._intra_op_parallelism_threads or 0),
            TensorflowThreads.inter_op: int(current._inter_op_parallelism_threads or 0),
        }
    }
