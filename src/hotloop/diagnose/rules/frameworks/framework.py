"""Slow calls of a framework: conversions, single rows, garbage collection."""

from __future__ import annotations

from dataclasses import replace

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    CALLED,
    callers,
    calls_of,
    finding,
    largest_phase,
    of_loop,
    samples_under,
    seconds_in,
    use_by,
    uses,
)
from hotloop.diagnose.finding import CRITICAL, HIGH, MEDIUM, WARNING, Finding, Rule
from hotloop.diagnose.recorded import LEARNING, at, called_at, counted, lines_of

#: Rules of this family find nothing below this share of the loop.
SMALLEST_PART = 0.01

# -- tensors of lists --

#: Measured for lists of 32 to 64 arrays of 4 to 128 numbers: `numpy.array` first takes 80 to 99%
#: of the conversion away (a published case: 72% with everything around it).
LIST_WINS = (0.78, 0.985)


def list_to_tensor(analysis: Analysis) -> list[Finding]:
    """A tensor is created from a list of arrays."""
    lines = lines_of(analysis, schema.CALL_LIST_TENSOR)
    calls = counted(analysis, schema.LIST_TENSORS)
    seconds = counted(analysis, schema.LIST_TENSOR_S)
    # `torch.FloatTensor([...])` cannot be timed, but torch's own warning named its line.
    seconds = max(seconds, _seconds_at(analysis, lines[:1]) if lines else 0.0)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "list-to-tensor",
            title=f"Tensors are built from lists of NumPy arrays{at(lines)}, value by value: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="buffer.sample",
            seconds=seconds,
            saves=LIST_WINS,
            confidence=HIGH if calls else MEDIUM,
            where=lines,
            evidence={"calls": calls, "per_call_s": seconds / calls if calls else None},
            fix="torch converts such a list one number at a time. Join the arrays with NumPy "
            "first, which copies whole rows. Storing transitions in preallocated arrays "
            "avoids even that.",
            before="states = torch.tensor([t.state for t in batch])",
            after="states = torch.from_numpy(np.stack([t.state for t in batch]))",
        )
    ]


def _seconds_at(analysis: Analysis, lines: list[SourceLine]) -> float:
    """Sampled time in these lines themselves, and in nothing that they call in Python."""
    wanted = {(line.file, line.line) for line in lines}
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
#: Fewer calls per step than this is an occasional evaluation, not a loop that acts.
PREDICTS_PER_STEP = 0.02


def predict_in_loop(analysis: Analysis) -> list[Finding]:
    """Keras's `predict` is called for a few rows, again and again."""
    calls, seconds = counted(analysis, schema.PREDICT_CALLS), counted(analysis, schema.PREDICT_S)
    steps = counted(analysis, schema.ENV_STEPS)
    if not calls or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    rows = counted(analysis, schema.PREDICT_ROWS) / calls
    if rows > PREDICT_ROWS or (steps and calls / steps < PREDICTS_PER_STEP):
        return []
    lines = lines_of(analysis, schema.CALL_PREDICT)
    each = (
        f"{units.plural(calls / steps, 'time')} per step" if steps else units.plural(calls, "time")
    )
    return [
        finding(
            analysis,
            "predict-in-loop",
            title=f"Keras's predict is called {each} with batch size "
            f"{units.amount(rows)}{at(lines)}, {units.seconds(seconds / calls)} per call: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="policy.act",
            seconds=seconds,
            saves=PREDICT_WINS,
            confidence=HIGH,
            where=lines,
            evidence={"calls": calls, "rows_per_call": rows, "per_call_s": seconds / calls},
            fix="`predict` is designed for large arrays and builds a data pipeline on every "
            "call. Call the model itself, which gives the same numbers. A `tf.function` "
            "around that call is faster still.",
            before="q = model.predict(state[None], verbose=0)",
            after="q = model(state[None], training=False).numpy()",
        )
    ]


# -- one transition at a time --

#: More rows than this in a gradient step is a batch.
ROWS_OF_ONE = 2.0
#: Fewer gradient steps between two environment steps is online learning, not a loop over a
#: batch.
STEPS_OF_A_BATCH = 8
#: Forward passes for each gradient step from which on they are a part of it.
ONCE_EACH = 0.5
#: A step with a whole batch costs about as much as with one row, at most twice (small networks).
BATCH_COSTS = (2.0, 1.0)


def per_sample_update(analysis: Analysis) -> list[Finding]:
    """The optimizer steps once for each transition of a batch."""
    updates, rows = counted(analysis, schema.GRADIENT_STEPS), counted(analysis, schema.SAMPLES)
    # If no environment is recognized, the outermost calls that learn define an event.
    events = counted(analysis, schema.LEARN_EVENTS) or calls_of(analysis, "learn")
    if not (updates and rows) or rows / updates > ROWS_OF_ONE:
        return []
    if not events:
        return _single_rows(analysis, rows / updates)
    batch = updates / events
    if batch < STEPS_OF_A_BATCH:
        return _single_rows(analysis, rows / updates)
    seconds = seconds_in(analysis, *LEARNING)
    # A pass for the targets of a whole batch has its rows already.
    if calls_of(analysis, "learn.forward") < ONCE_EACH * updates:
        seconds -= seconds_in(analysis, "learn.forward")
    # Forward passes for each transition inside that loop are batched with it.
    inside = counted(analysis, schema.PREDICT_S) * (1 - 1 / batch) if batch > 1 else 0.0
    seconds = min(seconds + inside, analysis.run.loop_s)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    lines = _looping(analysis, *LEARNING)
    before, after = _one_by_one(analysis)
    low, high = (1 - cost / batch for cost in BATCH_COSTS)
    return [
        finding(
            analysis,
            "per-sample-update",
            title=f"The network is updated one transition at a time, {batch:.0f} times in "
            f"succession{at(lines)}: {of_loop(analysis, seconds):.0%} of the loop",
            phase="learn",
            seconds=seconds,
            saves=(low, high),
            confidence=HIGH,
            where=lines,
            evidence={"updates_in_a_row": batch, "rows_per_update": rows / updates},
            fix="A gradient step with one row costs nearly as much as one with a whole batch. "
            "Put the transitions into arrays, compute all targets at once, and step once.",
            before=before,
            after=after,
            learning="One averaged step replaces many single ones: less noise and a smaller "
            "change per update, so you may have to raise the learning rate.",
        )
    ]


def _one_by_one(analysis: Analysis) -> tuple[str, str]:
    """Updates row by row and together, in the terms of the library in use."""
    if uses(analysis, "Keras") and not uses(analysis, "PyTorch"):
        return (
            "for t in batch:\n    model.fit(t.state, target(t), epochs=1)",
            "states = np.stack([t.state for t in batch])\n"
            "model.train_on_batch(states, targets(batch))",
        )
    return (
        "for t in batch:\n    step(loss(net(t.state), target(t)))",
        "states = stack([t.state for t in batch])\nstep(loss(net(states), targets(batch)))",
    )


#: Single-row steps are reported from this share on: below it, learning is not what is slow.
SINGLE_ROWS_SHARE = 0.2
#: Eight to thirty-two transitions in one gradient step, which costs as much as one to two.
SINGLE_ROWS_WIN = (0.6, 0.95)


def _single_rows(analysis: Analysis, rows: float) -> list[Finding]:
    """A loop inside the training loop makes a gradient step for each transition or agent."""
    seconds = seconds_in(analysis, *LEARNING)
    lines = _looping(analysis, *LEARNING)[:1]
    if of_loop(analysis, seconds) < SINGLE_ROWS_SHARE or not _only_learns(analysis, lines):
        return []
    found = finding(
        analysis,
        "per-sample-update",
        title=f"Every gradient step has batch size {rows:.0f}{at(lines)}: learning is "
        f"{of_loop(analysis, seconds):.0%} of the loop",
        phase="learn",
        seconds=seconds,
        saves=SINGLE_ROWS_WIN,
        confidence=MEDIUM,
        where=lines,
        evidence={"rows_per_update": rows},
        fix="A gradient step with one row costs nearly as much as one with 32. Collect the "
        "transitions of several steps, or of all agents, and learn from them at once.",
        before="for transition in transitions:\n    update(transition)",
        after="update(stack(transitions))      # one gradient step for all of them",
        learning="Fewer, less noisy steps: you may have to raise the learning rate.",
    )
    # Learning from every single transition is how some algorithms are published.
    return [replace(found, severity=WARNING) if found.severity == CRITICAL else found]


#: A loop that trains as it goes holds all acting and stepping. One over agents or transitions holds
#: at most this part: the value of the next state looks like an action.
MOST_ACTING = 0.9


def _only_learns(analysis: Analysis, lines: list[SourceLine]) -> bool:
    """Whether the program acts or steps outside of the loop around this line."""
    loop = called_at(analysis, lines[0]).loop_line if lines else 0
    if not loop:
        return False
    beside = samples_under(analysis, "policy.act", "env.step")
    inside = sum(
        sample.seconds
        for sample in beside
        if any(
            frame.file == lines[0].file and called_at(analysis, frame).loop_line == loop
            for frame in sample.frames
            if frame.of_program
        )
    )
    return bool(beside) and inside <= MOST_ACTING * seconds_of(beside)


def _looping(analysis: Analysis, *names: str) -> list[SourceLine]:
    """The program's lines inside a `for` that led to these phases, the nearest of each stack.

    One update may be a function of its own: the fault is in the loop that calls it.
    """

    def looping(sample: Sample) -> Frame | None:
        own = sample.own
        outer = (frame for frame in own if frame.short not in CALLED)
        return next((frame for frame in outer if called_at(analysis, frame).loop_line), None)

    found = use_by(samples_under(analysis, *names), looping).where()
    return found or callers(analysis, *names)


# -- garbage --

#: Python still collects by itself, far more rarely.
COLLECT_WINS = (0.88, 1.0)
#: Fewer calls than this in a run are not in a loop.
FEW_COLLECTS = 3


def gc_every_step(analysis: Analysis) -> list[Finding]:
    """The program explicitly collects garbage, or empties the device's cache, repeatedly."""
    collects, empties = (
        counted(analysis, schema.GC_COLLECTS),
        counted(analysis, schema.EMPTY_CACHES),
    )
    seconds = counted(analysis, schema.GC_COLLECT_S) + counted(analysis, schema.EMPTY_CACHE_S)
    if collects + empties < FEW_COLLECTS or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    lines = lines_of(analysis, schema.CALL_GC_COLLECT) + lines_of(analysis, schema.CALL_EMPTY_CACHE)
    what = "gc.collect()" if collects >= empties else "torch.cuda.empty_cache()"
    calls = max(collects, empties)
    return [
        finding(
            analysis,
            "gc-every-step",
            title=f"{what} was called {units.plural(calls, 'time')}{at(lines)}, "
            f"{units.seconds(seconds / calls)} each: {of_loop(analysis, seconds):.0%} of the loop",
            phase=_phase_around(analysis, lines),
            seconds=seconds,
            saves=COLLECT_WINS,
            confidence=HIGH,
            where=lines,
            evidence={"gc_collects": collects, "empty_caches": empties},
            fix="A full collection visits every object in the process, including those of "
            "libraries. It frees only reference cycles, which Python collects by itself. "
            "Remove the call, or make it once per epoch.",
            before="optimizer.step()\ngc.collect()",
            after="optimizer.step()",
        )
    ]


def _phase_around(analysis: Analysis, lines: list[SourceLine]) -> str:
    """The phase that the samples of a line were in the most."""
    wanted = {(line.file, line.line) for line in lines}

    def is_at(sample: Sample) -> bool:
        line = sample.line
        return line is not None and (line.file, line.line) in wanted

    return largest_phase(filter(is_at, samples_under(analysis)))


RULES: tuple[Rule, ...] = (
    list_to_tensor,
    predict_in_loop,
    per_sample_update,
    gc_every_step,
)
