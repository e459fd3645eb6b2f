"""JAX operations that are dispatched one by one, outside `jax.jit`."""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    finding,
    in_package,
    inner_lines,
    of_loop,
    samples_under,
    uses,
)
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at

#: From this share of the loop on. A few operations outside jitted functions are usual.
WORTH_IT = 0.15
#: What goes away: an operation costs tens of microseconds by itself, and far less inside a compiled
#: function; gradients outside `jit` are traced at every call. In a small policy gradient on the
#: CPU, where this was 90% of the loop, nearly all of it went away (39 times faster, one run each).
JIT_WINS = (0.7, 1.0)
#: From this part in compiling on, shapes change: in a steady loop each operation is compiled once.
MOSTLY_COMPILES = 0.5
#: Phases in which JAX's frames do something else: they wait for results, copy or save.
_OTHER = frozenset({"wait", "transfer", "checkpoint", "loop.compiled", "import"})

_IN_JAX = in_package("jax")
#: Libraries whose functions a program calls with arrays, jitted or not.
_WITH_ARRAYS = in_package("jax", "optax", "flax", "haiku", "equinox", "distrax", "rlax", "chex")
#: Functions in which JAX waits for an array and copies it to the host.
_READS = in_package("jax/_src/array")
#: Copies to the device, and calls of jitted functions that have callbacks, run Python code too.
_COPIES = frozenset({"asarray", "array", "device_put", "_device_put_impl", "batched_device_put"})
_JITTED = frozenset({"_pjit_call_impl", "_python_pjit_helper"})
_EAGER = frozenset({"apply_primitive"})


def missing_jit(analysis: Analysis) -> list[Finding]:
    """JAX's operations are dispatched from Python one by one."""
    if not uses(analysis, "JAX"):
        return []
    once = {each.path for each in analysis.once}
    eager = [s for s in samples_under(analysis) if s.path not in once and is_eager(s)]
    seconds = seconds_of(eager)
    share = of_loop(analysis, seconds)
    if share < WORTH_IT:
        return []
    lines = inner_lines(eager)
    if seconds_of(s for s in eager if "compile" in s.phases) > MOSTLY_COMPILES * seconds:
        return _compiled_again(analysis, seconds, lines)
    return [
        finding(
            analysis,
            "missing-jit",
            title=f"JAX runs operations one by one, outside `jax.jit`{at(lines)}: {share:.0%} of "
            "the loop is dispatching, tracing and compiling them",
            phase="learn",
            seconds=seconds,
            saves=JIT_WINS,
            fix="Put the update and the function that chooses actions under `jax.jit`, gradients "
            "and optimizer included, and jit them once, outside the loop.",
            confidence=MEDIUM,
            where=lines,
            learning="Compiled operations are fused and round differently in the last digits.",
            before="params = update(params, batch)",
            after="update = jax.jit(update)   # once\nparams = update(params, batch)",
        )
    ]


def _compiled_again(analysis: Analysis, seconds: float, lines: list[SourceLine]) -> list[Finding]:
    """Hardly any of it is dispatching: operations are compiled for shapes that keep changing."""
    return [
        finding(
            analysis,
            "missing-jit",
            title=f"JAX compiles operations outside `jax.jit` again and again{at(lines)}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="compile",
            seconds=seconds,
            saves=JIT_WINS,
            fix="Outside `jax.jit`, an operation is compiled for every new shape, and looping over "
            "an array or stacking a list of arrays is an operation; `lax.scan` and `lax.cond` are "
            "compiled for every new function as well. Keep what changes its length in NumPy "
            "(`np.asarray`), and jit the rest once, for arrays of one size.",
            confidence=MEDIUM,
            where=lines,
            before="rows.extend(array)              # compiled for each length",
            after="rows.extend(np.asarray(array))  # one copy",
        )
    ]


def is_eager(sample: Sample) -> bool:
    """Whether JAX's Python code runs, called by the program: inside a jitted call there is none."""
    if _OTHER & set(sample.phases) or sample.line is None:
        return False
    inside = []
    for frame in sample.frames:
        if frame.of_program:
            break
        inside.append(frame)
    if not any(map(_IN_JAX, inside)) or not _WITH_ARRAYS(inside[-1]):
        return False
    names = {frame.short for frame in inside}
    # One for each shape and constant of a single operation.
    if "compile" in sample.phases:
        return bool(names & _EAGER)
    if names & _COPIES or (names & _JITTED and not names & _EAGER):
        return False
    return not any(map(_READS, inside))


RULES: tuple[Rule, ...] = (missing_jit,)
