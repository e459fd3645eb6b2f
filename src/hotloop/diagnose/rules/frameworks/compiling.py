"""Functions that are traced or compiled again and again."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    finding,
    gauge,
    in_package,
    of_loop,
    samples_under,
    seconds_in,
    use_of,
    uses,
)
from hotloop.diagnose.finding import HIGH, Finding, Rule
from hotloop.diagnose.recorded import at, counted, gauge_rise, lines_of
from hotloop.diagnose.rules.frameworks.dispatch import is_eager

#: Rules of this family find nothing below this share of the loop.
SMALLEST_PART = 0.01

#: Fewer than this may be the shapes that a program really has.
FEW_COMPILES = 5
#: Compiling in fewer windows than this is one warm-up or two, however late.
FEW_WINDOWS = 3
#: If a loop does little else, two that continue after its first half are enough.
FEW_WHERE_LONG, LONG_COMPILES = 2, 0.3
#: A trace is followed by a first execution that optimizes the graph: measured, the whole costs
#: 1.0 to 1.5 times the trace, and above 2 where TensorFlow's threads wait for cores.
RETRACE_WINS = (0.95, 2.2)


#: No more than this part of the rest of the loop is what follows traces.
REST_OF_LOOP = 0.6


def retracing(analysis: Analysis) -> list[Finding]:
    """A `tf.function` is retraced repeatedly."""
    if not uses(analysis, "TensorFlow") or not _retraced(analysis):
        return []
    return _traced_again(
        analysis,
        "retracing",
        _retraced(analysis),
        RETRACE_WINS,
        "TensorFlow retraces a function for every new Python number and every new shape. Pass "
        "numbers as tensors, keep shapes fixed (or give an `input_signature` with `None` "
        "dimensions), and create the function once, outside the loop.",
        "train(states, epsilon)              # a Python float: a new trace each time",
        "train(states, tf.constant(epsilon)) # a tensor: one trace",
    )


def _retraced(analysis: Analysis) -> list[SourceLine]:
    """Lines where TensorFlow retraced; JAX, which many programs only import, notes none."""
    return lines_of(analysis, schema.CALL_RETRACED)


#: JAX's own `compile` phase is the whole of it: what remains is a compilation or two.
RECOMPILE_WINS = (0.93, 1.0)


def recompilation(analysis: Analysis) -> list[Finding]:
    """`torch.compile` or `jax.jit` recompiles repeatedly."""
    if uses(analysis, "JAX") and not _retraced(analysis) and counted(analysis, schema.RETRACES):
        return _traced_again(
            analysis,
            "recompilation",
            _jitted_at(analysis),
            RECOMPILE_WINS,
            "`jax.jit` recompiles for every new shape, dtype and static argument. Pad batches "
            "to a fixed size, and pass changing numbers as arrays, not as static arguments.",
            "update(params, batch[:n])     # a new n: compiled again",
            "update(params, pad(batch, N)) # always N rows",
        )
    # TensorFlow imports JAX where it is installed, and counts traces as well.
    jax = uses(analysis, "JAX") and not uses(analysis, "TensorFlow")
    return (_jitted_anew(analysis) if jax else []) or _torch_recompiles(analysis)


def _jitted_at(analysis: Analysis) -> list[SourceLine]:
    """The lines that call the jitted functions which JAX compiles."""
    samples = [s for s in samples_under(analysis, "compile") if not is_eager(s)]
    use = use_of(samples, in_package("jax"))
    return use.where() or callers(analysis, "compile")


def _functions_s(analysis: Analysis) -> float:
    """Seconds of compiling functions. Operations outside `jax.jit` are compiled as well, and are no
    function that is traced: `missing-jit` has them.
    """
    eager = seconds_of(s for s in samples_under(analysis, "compile") if is_eager(s))
    return max(seconds_in(analysis, "compile") - eager, 0.0)


def _jitted_anew(analysis: Analysis) -> list[Finding]:
    """New jitted functions are compiled for as long as the loop runs."""
    traces, late = counted(analysis, schema.TRACES), _in_second_half(analysis, schema.TRACES)
    # As many in the first half: what is beyond that is the program's warm-up.
    seconds = _functions_s(analysis) * min(2 * late / traces, 1.0) if traces else 0.0
    if late < FEW_COMPILES or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    if sum(bool(w.counters.get(schema.TRACES)) for w in analysis.loop_windows) < FEW_WINDOWS:
        return []
    lines = _jitted_at(analysis)
    return [
        finding(
            analysis,
            "recompilation",
            title=f"JAX compiles new functions throughout the run{at(lines)}, {traces:.0f} in "
            f"all: {of_loop(analysis, seconds):.0%} of the loop",
            phase="compile",
            seconds=seconds,
            saves=RECOMPILE_WINS,
            confidence=HIGH,
            where=lines,
            evidence={"traces": traces},
            fix="Each function returned by `jax.jit` has its own cache. Create it once, "
            "outside the loop, and pass whatever changes as an argument.",
            before="for rate in rates:\n    step = jax.jit(lambda p: update(p, rate))",
            after="step = jax.jit(update)      # once\nparams = step(params, rate)",
        )
    ]


def _traced_again(
    analysis: Analysis,
    id: str,
    lines: list[SourceLine],
    wins: tuple[float, float],
    fix: str,
    before: str,
    after: str,
) -> list[Finding]:
    traces, again = counted(analysis, schema.TRACES), counted(analysis, schema.RETRACES)
    compile_s = _functions_s(analysis)
    if traces < again or not _continues(analysis, schema.RETRACES):
        return []
    # If some functions are traced once and others repeatedly, samples separate their times.
    below = _compiling_below(analysis, _retraced(analysis)) * again / (again + 1)
    seconds = max(compile_s * again / traces, min(below, compile_s))
    share = of_loop(analysis, seconds)
    if again < (FEW_WHERE_LONG if share >= LONG_COMPILES else FEW_COMPILES):
        return []
    if share < SMALLEST_PART:
        return []
    rest = (analysis.run.loop_s - seconds) / seconds
    low, high = wins[0], min(wins[1], 1 + REST_OF_LOOP * max(rest, 0.0))
    return [
        finding(
            analysis,
            id,
            title=f"A compiled function was retraced {units.plural(again, 'time')}{at(lines)}, "
            f"{units.seconds(seconds / again)} each: {share:.0%} of the loop",
            phase="compile",
            seconds=seconds,
            saves=(min(low, high), high),
            confidence=HIGH,
            where=lines,
            evidence={"traces": traces, "retraces": again, "compile_s": compile_s},
            fix=fix,
            before=before,
            after=after,
        )
    ]


def _compiling_below(analysis: Analysis, lines: list[SourceLine]) -> float:
    """Seconds of compiling in stacks that go through one of these lines."""
    places = {(line.file, line.line) for line in lines}
    return sum(
        sample.seconds
        for sample in samples_under(analysis, "compile")
        if any((frame.file, frame.line) in places for frame in sample.frames)
    )


def _continues(analysis: Analysis, counter: str) -> bool:
    """Whether something still happens in the second half of the loop: warm-up is over there."""
    return _in_second_half(analysis, counter) > 0


def _in_second_half(analysis: Analysis, counter: str) -> float:
    windows = analysis.loop_windows
    middle = (windows[0].begin_ns + windows[-1].end_ns) / 2 if windows else 0.0
    return sum(w.counters.get(counter, 0.0) for w in windows if w.begin_ns >= middle)


#: Once for its first shape and once with sizes left open is how torch compiles a function; each
#: compilation takes a second or more, so more than these are a problem.
FEW_RECOMPILES = 3


#: The first call of what was compiled is slower too (measured with 11 compilations: 4.5 times
#: faster without them, where their time alone makes 3.9).
AFTER_COMPILE = 1.06


def _torch_recompiles(analysis: Analysis) -> list[Finding]:
    compiles, functions = (
        gauge(analysis, schema.COMPILES),
        gauge(analysis, schema.COMPILED_FUNCTIONS),
    )
    total, inside = gauge(analysis, schema.COMPILE_S), gauge_rise(analysis, schema.COMPILE_S)
    if not compiles or not functions or total is None or inside is None:
        return []
    again = compiles - functions
    if again < FEW_RECOMPILES * functions:
        return []
    # Compilations before the loop's first full second are in no gauge's rise.
    seconds = min(max(inside, total), analysis.run.loop_s)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    lines = lines_of(analysis, schema.CALL_RECOMPILED)
    # Compiled once for each function, and once more with sizes left open, it is done.
    low, high = max(again - functions, 0.0) / compiles, AFTER_COMPILE * again / compiles
    return [
        finding(
            analysis,
            "recompilation",
            title=f"torch.compile has compiled {units.plural(functions, 'function')} "
            f"{units.plural(compiles, 'time')}{at(lines)}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="compile",
            seconds=seconds,
            saves=(low, high),
            confidence=HIGH,
            where=lines,
            evidence={"compiles": compiles, "functions": functions, "compile_s": total},
            fix="torch.compile recompiles for every new shape, number or flag that the code "
            "depends on. Pad batches to one size, mark changing dimensions as dynamic, and "
            "pass changing numbers as tensors; `TORCH_LOGS=recompiles` shows the reason "
            "for each.",
            before="loss = compiled(batch[:n])",
            after="torch._dynamo.mark_dynamic(batch, 0)\nloss = compiled(batch)",
        )
    ]


RULES: tuple[Rule, ...] = (retracing, recompilation)
