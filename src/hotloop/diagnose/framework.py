"""Causes in how a framework is called: conversions, one row at a time, compiled anew, collected."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.diagnose.evidence import (
    CALLED,
    callers,
    finding,
    gauge,
    of_loop,
    program_place,
    samples_under,
    seconds_in,
    uses,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Place, Rule
from hotloop.diagnose.recorded import LEARNING, at, called_at, counted, gauge_rise, places_of

#: Below this share of the loop no rule of this family speaks.
SMALLEST_PART = 0.01

# -- tensors of lists --

#: Measured for lists of 32 to 64 arrays of 4 to 128 numbers: `numpy.array` first takes 80 to 99%
#: of the conversion away (the catalogue's case: 72% with everything around it).
LIST_WINS = (0.78, 0.985)


def list_to_tensor(analysis: Analysis) -> list[Finding]:
    """A tensor is made of a list of arrays."""
    places = places_of(analysis, "tensor of a list")
    calls = counted(analysis, "list_tensors")
    seconds = counted(analysis, "list_tensor_s")
    # `torch.FloatTensor([...])` cannot be timed, but torch's own warning named its line.
    seconds = max(seconds, _seconds_at(analysis, places[:1]) if places else 0.0)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "list-to-tensor",
            title=f"Tensors are made of lists of NumPy arrays{at(places)}, number by number: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="buffer.sample",
            seconds=seconds,
            low=LIST_WINS[0],
            high=LIST_WINS[1],
            confidence=HIGH if calls else MEDIUM,
            where=places,
            evidence={"calls": calls, "per_call_s": seconds / calls if calls else None},
            fix="torch walks through such a list one number at a time. Let NumPy join the arrays "
            "first: that copies whole rows. Storing transitions in preallocated arrays saves "
            "even that.",
            before="states = torch.tensor([t.state for t in batch])",
            after="states = torch.from_numpy(np.stack([t.state for t in batch]))",
        )
    ]


def _seconds_at(analysis: Analysis, places: list[Place]) -> float:
    """Sampled time in these lines themselves, and in nothing that they call in Python."""
    wanted = {(place.file, place.line) for place in places}
    return sum(
        sample.seconds
        for sample in samples_under(analysis)
        if sample.frames and (sample.frames[0].file, sample.frames[0].line) in wanted
    )


# -- Keras, one row at a time --

#: Measured: `predict` of one row takes 40 to 100 ms, the model called as a function 1.5 to 4.
PREDICT_WINS = (0.92, 0.98)
#: `predict` pays off for more rows than this: it cuts them into batches.
PREDICT_ROWS = 1024
#: Fewer calls a step than this is an evaluation now and then, not a loop that acts.
PREDICTS_PER_STEP = 0.02


def predict_in_loop(analysis: Analysis) -> list[Finding]:
    """Keras's `predict` is called for a few rows, again and again."""
    calls, seconds = counted(analysis, "predict_calls"), counted(analysis, "predict_s")
    steps = counted(analysis, "env_steps")
    if not calls or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    rows = counted(analysis, "predict_rows") / calls
    if rows > PREDICT_ROWS or (steps and calls / steps < PREDICTS_PER_STEP):
        return []
    places = places_of(analysis, "predict")
    each = f"{calls / steps:.2g} times a step" if steps else f"{calls:.0f} times"
    return [
        finding(
            analysis,
            "predict-in-loop",
            title=f"Keras's predict is called {each} for {rows:.3g} "
            f"row{'s' if rows > 1.5 else ''}{at(places)}, {1e3 * seconds / calls:.1f} ms a call: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="policy.act",
            seconds=seconds,
            low=PREDICT_WINS[0],
            high=PREDICT_WINS[1],
            confidence=HIGH,
            where=places,
            evidence={"calls": calls, "rows_per_call": rows, "per_call_s": seconds / calls},
            fix="`predict` builds a data pipeline for every call; it is made for large arrays. "
            "Call the model itself, which gives the same numbers. A `tf.function` around that "
            "call is faster still.",
            before="q = model.predict(state[None], verbose=0)",
            after="q = model(state[None], training=False).numpy()",
        )
    ]


# -- one transition at a time --

#: More rows than this in a gradient step is a batch.
ROWS_OF_ONE = 2.0
#: Fewer gradient steps between two environment steps is learning as one goes, not a loop over a
#: batch.
STEPS_OF_A_BATCH = 8
#: A step with a whole batch costs about as much as with one row, at most twice (small networks).
BATCH_COSTS = (2.0, 1.0)


def per_sample_update(analysis: Analysis) -> list[Finding]:
    """The optimizer steps once for each transition of a batch."""
    updates, rows = counted(analysis, "gradient_steps"), counted(analysis, "samples")
    events = counted(analysis, "learn_events")
    if not (updates and rows and events) or rows / updates > ROWS_OF_ONE:
        return []
    batch = updates / events
    seconds = seconds_in(analysis, *LEARNING)
    # What is asked of the network for each transition inside that loop is batched with it.
    inside = counted(analysis, "predict_s") * (1 - 1 / batch) if batch > 1 else 0.0
    seconds = min(seconds + inside, analysis.run.loop_s)
    if batch < STEPS_OF_A_BATCH or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    places = _looping(analysis, *LEARNING)
    low, high = (1 - cost / batch for cost in BATCH_COSTS)
    return [
        finding(
            analysis,
            "per-sample-update",
            title=f"The network is updated with one transition at a time, {batch:.0f} times in a "
            f"row{at(places)}: {of_loop(analysis, seconds):.0%} of the loop",
            phase="learn",
            seconds=seconds,
            low=low,
            high=high,
            confidence=HIGH,
            where=places,
            evidence={"updates_in_a_row": batch, "rows_per_update": rows / updates},
            fix="A gradient step with one row costs nearly as much as one with a whole batch. "
            "Put the transitions into arrays, compute all targets at once, and step once.",
            before="for t in batch:\n    model.fit(t.state, target(t), epochs=1)",
            after="states = np.stack([t.state for t in batch])\n"
            "model.train_on_batch(states, targets(batch))",
            learning="One averaged step replaces many single ones: less noise and a smaller "
            "change an update, so the learning rate may have to rise.",
        )
    ]


def _looping(analysis: Analysis, *names: str) -> list[Place]:
    """The program's lines inside a `for` that led to these phases, the nearest of each stack.

    One update may be a function of its own: the fault is in the loop that calls it.
    """
    totals: dict[Place, float] = {}
    for sample in samples_under(analysis, *names):
        for frame in sample.frames:
            if not frame.of_program or frame.function.rpartition(".")[2] in CALLED:
                continue
            if called_at(analysis, frame)[1]:
                place = Place(frame.file, frame.line, frame.function)
                totals[place] = totals.get(place, 0.0) + sample.seconds
                break
    found = sorted(totals, key=lambda place: -totals[place])[:3]
    return found or callers(analysis, *names)


# -- traced and compiled anew --

#: Fewer than this may be the shapes that a program really has.
FEW_COMPILES = 5
#: A trace is followed by a first execution that optimizes the graph: measured, the whole costs
#: 1.0 to 1.5 times the trace, and above 2 where TensorFlow's threads wait for cores.
RETRACE_WINS = (0.95, 2.2)


#: No more than this part of the rest of the loop is what follows traces.
REST_OF_LOOP = 0.6


def retracing(analysis: Analysis) -> list[Finding]:
    """A `tf.function` is traced again and again."""
    if not uses(analysis, "TensorFlow") or not _retraced(analysis):
        return []
    return _traced_again(
        analysis,
        "retracing",
        _retraced(analysis),
        RETRACE_WINS,
        "TensorFlow traces a function anew for every new Python number and every new shape. Pass "
        "numbers as tensors, keep shapes fixed (or give an `input_signature` with `None` "
        "dimensions), and make the function once, outside of the loop.",
        "train(states, epsilon)              # a Python float: a new trace each time",
        "train(states, tf.constant(epsilon)) # a tensor: one trace",
    )


def _retraced(analysis: Analysis) -> list[Place]:
    """Where TensorFlow traced anew; JAX, which many programs only import, notes nothing here."""
    return places_of(analysis, "retracing call")


#: JAX's own `compile` phase is the whole of it.
RECOMPILE_WINS = (0.85, 1.0)


def recompilation(analysis: Analysis) -> list[Finding]:
    """`torch.compile` or `jax.jit` compiles again and again."""
    if uses(analysis, "JAX") and not _retraced(analysis) and counted(analysis, "retraces"):
        return _traced_again(
            analysis,
            "recompilation",
            callers(analysis, "compile"),
            RECOMPILE_WINS,
            "`jax.jit` compiles anew for every new shape, dtype and static argument. Pad batches "
            "to a fixed size, and pass changing numbers as arrays, not as static arguments.",
            "update(params, batch[:n])     # a new n: compiled anew",
            "update(params, pad(batch, N)) # always N rows",
        )
    return _torch_recompiles(analysis)


def _traced_again(
    analysis: Analysis,
    id: str,
    places: list[Place],
    wins: tuple[float, float],
    fix: str,
    before: str,
    after: str,
) -> list[Finding]:
    traces, again = counted(analysis, "traces"), counted(analysis, "retraces")
    compile_s = seconds_in(analysis, "compile")
    if again < FEW_COMPILES or traces < again or not _goes_on(analysis, "retraces"):
        return []
    seconds = compile_s * again / traces
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    rest = (analysis.run.loop_s - seconds) / seconds
    low, high = wins[0], min(wins[1], 1 + REST_OF_LOOP * max(rest, 0.0))
    return [
        finding(
            analysis,
            id,
            title=f"A compiled function was traced {again:.0f} times again{at(places)}, "
            f"{1e3 * compile_s / traces:.0f} ms each: {of_loop(analysis, seconds):.0%} of the loop",
            phase="compile",
            seconds=seconds,
            low=min(low, high),
            high=high,
            confidence=HIGH,
            where=places,
            evidence={"traces": traces, "retraces": again, "compile_s": compile_s},
            fix=fix,
            before=before,
            after=after,
        )
    ]


def _goes_on(analysis: Analysis, counter: str) -> bool:
    """Whether something still happens in the second half of the loop: warm-up is over there."""
    windows = analysis.loop_windows
    if not windows:
        return False
    middle = (windows[0].begin_ns + windows[-1].end_ns) / 2
    return any(w.counters.get(counter) for w in windows if w.end_ns > middle)


#: Once for its first shape and once with sizes left open is how torch compiles a function; each
#: compilation takes a second or more, so that a few more are no longer its way.
FEW_RECOMPILES = 3


#: The first call of what was compiled is slower too (measured with 11 compilations: 4.5 times
#: faster without them, where their time alone makes 3.9).
AFTER_COMPILE = 1.06


def _torch_recompiles(analysis: Analysis) -> list[Finding]:
    compiles, functions = gauge(analysis, "compiles"), gauge(analysis, "compiled_functions")
    total, inside = gauge(analysis, "compile_s"), gauge_rise(analysis, "compile_s")
    if not compiles or not functions or total is None or inside is None:
        return []
    again = compiles - functions
    if again < FEW_RECOMPILES * functions:
        return []
    # Compilations before the loop's first full second are in no gauge's rise.
    seconds = min(max(inside, total), analysis.run.loop_s)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    places = places_of(analysis, "recompiled")
    # Compiled once for each function, and once more with sizes left open, it is done.
    low, high = max(again - functions, 0.0) / compiles, AFTER_COMPILE * again / compiles
    return [
        finding(
            analysis,
            "recompilation",
            title=f"torch.compile has compiled {functions:.0f} "
            f"function{'s' if functions > 1 else ''} {compiles:.0f} times{at(places)}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="compile",
            seconds=seconds,
            low=low,
            high=high,
            confidence=HIGH,
            where=places,
            evidence={"compiles": compiles, "functions": functions, "compile_s": total},
            fix="Every new shape, number or flag that the compiled code depends on compiles it "
            "anew. Pad batches to one size, mark the dimension that changes as dynamic, pass "
            "changing numbers as tensors; `TORCH_LOGS=recompiles` names the reason of each.",
            before="loss = compiled(batch[:n])",
            after="torch._dynamo.mark_dynamic(batch, 0)\nloss = compiled(batch)",
        )
    ]


# -- garbage --

#: Python still collects by itself, far more rarely.
COLLECT_WINS = (0.88, 1.0)
#: Fewer calls than this in a run are nobody's loop.
FEW_COLLECTS = 5


def gc_every_step(analysis: Analysis) -> list[Finding]:
    """The program collects garbage, or empties the device's cache, by hand all the time."""
    collects, empties = counted(analysis, "gc_collects"), counted(analysis, "empty_caches")
    seconds = counted(analysis, "gc_collect_s") + counted(analysis, "empty_cache_s")
    if collects + empties < FEW_COLLECTS or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    places = places_of(analysis, "gc.collect") + places_of(analysis, "empty_cache")
    what = "gc.collect()" if collects >= empties else "torch.cuda.empty_cache()"
    calls = max(collects, empties)
    return [
        finding(
            analysis,
            "gc-every-step",
            title=f"{what} was called {calls:.0f} times{at(places)}, "
            f"{1e3 * seconds / calls:.1f} ms each: {of_loop(analysis, seconds):.0%} of the loop",
            phase=_phase_around(analysis, places),
            seconds=seconds,
            low=COLLECT_WINS[0],
            high=COLLECT_WINS[1],
            confidence=HIGH,
            where=places,
            evidence={"gc_collects": collects, "empty_caches": empties},
            fix="A full collection walks through every object of the process, the libraries' "
            "included; it frees nothing that reference counting has not freed already, except "
            "cycles, which Python finds by itself. Remove the call, or make it once an epoch.",
            before="optimizer.step()\ngc.collect()",
            after="optimizer.step()",
        )
    ]


def _phase_around(analysis: Analysis, places: list[Place]) -> str:
    """The phase that the samples of a line were in the most."""
    totals: dict[str, float] = {}
    wanted = {(place.file, place.line) for place in places}
    for sample in samples_under(analysis):
        place = program_place(sample.frames)
        if place is not None and (place.file, place.line) in wanted:
            name = sample.path.rpartition("/")[2]
            totals[name] = totals.get(name, 0.0) + sample.seconds
    return max(totals, key=lambda name: totals[name]) if totals else ""


RULES: tuple[Rule, ...] = (
    list_to_tensor,
    predict_in_loop,
    per_sample_update,
    retracing,
    recompilation,
    gc_every_step,
)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    return [each for rule in RULES for each in rule(analysis)]
