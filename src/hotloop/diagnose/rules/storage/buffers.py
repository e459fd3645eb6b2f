"""Slow replay buffers and rollouts."""

from __future__ import annotations

import re

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.analyze.over_time.trends import Trends, trend
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    Match,
    callers,
    calls_of,
    finding,
    gauge,
    in_package,
    inner_lines,
    of_loop,
    samples_under,
    seconds_in,
    use_by,
    use_of,
    uses,
    vector_size,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.proving import base_name
from hotloop.diagnose.recorded import (
    at,
    at_lines_that_call,
    called_at,
    is_named,
    loop_key,
    use_at_lines,
)
from hotloop.diagnose.rules.environments.simulating import lines_at, recurrences
from hotloop.phases import PARENTS, is_unidentified

# -- one push for each environment --

#: Storing fewer environments than this one by one costs little.
MANY_ENVS = 4
#: Pushes per vector step, relative to the number of environments, that mean "one each".
ONE_EACH = 0.75
#: A batched push takes about as long as one to three single ones (2 to 5 times faster expected).
BATCHED_PUSH = (3.0, 1.0)
#: A batched push still copies the rows, so at most this part of the pushes goes away.
MOST_OF_PUSHES = 0.985
#: Lines around a push that belong to the same loop, where the source could not be read.
NEAR = 12


def per_item_buffer_push(analysis: Analysis) -> list[Finding]:
    """The transitions of a vector step are stored one environment at a time."""
    envs = max(vector_size(analysis), 1)
    rounds = analysis.run.env_steps / envs
    if envs < MANY_ENVS or not rounds:
        return []
    adds = calls_of(analysis, "buffer.add")
    if adds / rounds >= ONE_EACH * envs:
        around, lines = _around_pushes(analysis)
        seconds, least = seconds_in(analysis, "buffer.add") + around, 0.02
    else:
        # No push has its own name: a loop outside the steps appends to a list or deque.
        seconds, lines = _inline_pushes(analysis)
        adds, least = round(envs * rounds), INLINE_SHARE
    if of_loop(analysis, seconds) < least:
        return []
    low, high = (min(1 - cost / envs, MOST_OF_PUSHES) for cost in BATCHED_PUSH)
    before, after = _pushes(analysis)
    return [
        finding(
            analysis,
            "per-item-buffer-push",
            title=f"{units.plural(adds / rounds, 'buffer push', 'es')} per step of "
            f"{envs} environments: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="buffer.add",
            seconds=seconds,
            saves=(max(low, 0.25), high),
            confidence=HIGH if least < INLINE_SHARE else MEDIUM,
            where=lines or callers(analysis, "buffer.add"),
            evidence={"pushes_per_vector_step": adds / rounds, "envs": envs},
            fix="A Python loop extracts, converts and stores each environment's row. Store the "
            "arrays of the whole vector step with one call: one slice assignment per "
            "field, and one transfer instead of one per row.",
            before=before,
            after=after,
        )
    ]


def _pushes(analysis: Analysis) -> tuple[str, str]:
    """Pushes one by one and together, in the terms of the library in use."""
    each = "for i in range(num_envs):\n"
    if uses(analysis, "TorchRL"):
        return f"{each}    buffer.add(data[i])", "buffer.extend(data)"
    return (
        f"{each}    buffer.push(obs[i].numpy(), act[i].item(), …)",
        "buffer.push_batch(obs.numpy(), act.numpy(), …)   # ring[i:i+n] = rows",
    )


#: Besides pushes, a loop may read the infos of finished episodes; that takes less than this.
INLINE_SHARE = 0.08
#: Calls with which a line stores one row.
_KEEPS = frozenset({"append", "appendleft", "push", "add", "store", "put", "remember"})


def _inline_pushes(analysis: Analysis) -> tuple[float, list[SourceLine]]:
    """(seconds, line) of the loop that keeps rows one by one between two environment steps."""
    stored = samples_under(analysis, "buffer.add")
    _, lines = at_lines_that_call(analysis, stored, _KEEPS)
    stepping = {
        loop_key(analysis, frame)
        for sample in samples_under(analysis, "env.step")
        for frame in sample.own
    }
    for line in lines:
        loop = loop_key(analysis, line)
        if loop is None or loop in stepping:
            continue  # whole vector steps are stored, once per step
        inside = [s for s in samples_under(analysis) if loop_key(analysis, s.line) == loop]
        return seconds_of(inside), [line]
    return 0.0, []


def _around_pushes(analysis: Analysis) -> tuple[float, list[SourceLine]]:
    """(seconds in the loop around the pushes but outside them, that loop's line).

    Whatever phase was thought to come next when a sample was taken: the lines of that loop are
    there for the pushes.
    """
    lines = callers(analysis, "buffer.add")
    if not lines:
        return 0.0, []
    first = lines[0]
    loop = called_at(analysis, first).loop_line

    def is_around(sample: Sample) -> bool:
        line = sample.line
        if line is None or line.code != first.code or "buffer.add" in sample.phases:
            return False
        if loop:
            return called_at(analysis, line).loop_line == loop
        unnamed = sample.phase in ("", "transfer", *PARENTS)
        return unnamed and abs(line.line - first.line) <= NEAR

    return seconds_of(filter(is_around, samples_under(analysis))), lines[:1]


# -- sampling --

#: Sampling below this share of the loop is not a bottleneck.
SAMPLE_SHARE = 0.06
#: Words that only code with priorities uses.
_PRIORITY = re.compile(r"priorit|sumtree|sum_tree|segmenttree|segment_tree|SumTree", re.IGNORECASE)
#: Priorities cost something however well they are kept; a tree that is searched for a whole batch
#: at once stays below this share.
PRIORITY_SHARE = 0.15
#: 1690 to 2.1 ms in public reports; a tree in NumPy still takes a part (with two programs of the
#: frozen sets, 0.92 of the share and all of it went away).
PRIORITY_WINS = (0.8, 0.98)


def naive_priority_sampling(analysis: Analysis) -> list[Finding]:
    """Priorities are searched through one by one."""
    samples = samples_under(analysis, "buffer.sample", "buffer.add")
    whole = seconds_of(samples)
    match = _by_priority(analysis)
    use = use_of(samples, match)
    # Drawing with weights, or without replacement, reads every row; it is done in C.
    # Python's `random` is left out: it mostly draws uniformly.
    drawn = [s for s in samples if not any(match(f) or _RANDOM(f) for f in s.frames)]
    chosen, lines = at_lines_that_call(analysis, drawn, _DRAWS_FROM_ALL)
    seconds = seconds_in(analysis, "buffer.sample", "buffer.add")
    seconds *= (use.seconds + chosen) / whole if whole > 0 else 0.0
    unnamed_s, unnamed_lines = _unnamed_draws(analysis)
    if unnamed_s > seconds:
        seconds, chosen, lines = unnamed_s, unnamed_s, unnamed_lines
    if of_loop(analysis, seconds) < PRIORITY_SHARE:
        return []
    places = lines if chosen > use.seconds else inner_lines(samples)
    return [
        finding(
            analysis,
            "naive-priority-sampling",
            title=f"Sampling by priority{at(places)} takes {of_loop(analysis, seconds):.0%} of "
            "the loop",
            phase="buffer.sample",
            seconds=seconds,
            saves=PRIORITY_WINS,
            confidence=MEDIUM,
            where=places,
            evidence={"buffer_length": gauge(analysis, schema.BUFFER_LENGTH)},
            fix=f"{_how_drawn(chosen > use.seconds)} Keep a sum tree in one NumPy array and "
            "descend it for the whole batch at once; draw with replacement.",
            before="i = np.random.choice(len(p), n, p=p / p.sum(), replace=False)",
            after="i = tree.find(np.random.uniform(0, tree.total, n))   # vectorized descent",
            learning="Drawing with replacement may draw a row twice in a batch, as in the "
            "published algorithm.",
        )
    ]


def _how_drawn(from_all: bool) -> str:
    if from_all:
        return "Each draw scans the priorities of all rows."
    return "Priorities are searched or updated item by item in Python."


_RANDOM = in_package("random")
#: Functions that go through all rows to draw a few of them.
_DRAWS_FROM_ALL = frozenset({"choice", "choices", "multinomial", "cumsum"})


#: Drawing an action takes some tens of microseconds; drawing from all rows of a buffer far longer.
LONG_DRAW_S = 2e-4
_DRAWS = frozenset({"choice", "choices", "multinomial"})


def _unnamed_draws(analysis: Analysis) -> tuple[float, list[SourceLine]]:
    """Draws from many rows in code that nothing identifies as a buffer's: (seconds, lines)."""
    seconds, lines = 0.0, list[SourceLine]()
    for phase in analysis.phases:
        if not is_unidentified(phase.name) or phase.process != "main" or not phase.calls:
            continue
        inside = [s for s in samples_under(analysis) if s.path == phase.path]
        drawn_s, drawn_at = at_lines_that_call(analysis, inside, _DRAWS)
        summing = [s for s in inside if _adds_up(analysis, s)]
        if summing:
            drawn_s += seconds_of(summing)
            drawn_at += [*inner_lines(summing)[:1], *use_by(summing, _caller).where(1)]
        if drawn_s / phase.calls >= LONG_DRAW_S:
            seconds, lines = seconds + drawn_s, [*lines, *drawn_at]
    return seconds, lines


def _adds_up(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's innermost line adds up weights until it reaches a drawn number."""
    line = sample.line
    loops = analysis.notes.running_sums.get(line.file, ()) if line else ()
    return any(first <= line.line <= last for first, last in loops) if line else False


def _caller(sample: Sample) -> Frame | None:
    return next(iter(sample.own[1:]), None)


def _by_priority(analysis: Analysis) -> Match:
    """Frames of code with priorities, by their names or by the parts of their class."""
    labels = {label.partition(":")[2] for label in analysis.notes.by_priority}
    return lambda frame: _is_priority(frame) or (frame.of_program and frame.function in labels)


def _is_priority(frame: Frame) -> bool:
    return bool(_PRIORITY.search(frame.function) or _PRIORITY.search(base_name(frame.file)))


#: Functions that return a longer array: what it held before is copied at each call.
_APPENDS = frozenset({"np.append", "numpy.append", "jnp.append", "pd.concat", "pandas.concat"})
#: Storing a row remains. In the one program that was measured, all of it went away.
APPEND_WINS = (0.85, 1.0)


def _appended(analysis: Analysis) -> list[Finding]:
    """An array that is created again, one row longer, to store each row."""
    known = recurrences(analysis)

    def grows(sample: Sample) -> bool:
        line = sample.line
        fed_back = set(lines_at(line.file, line.line, known)) if line else set[str]()
        return bool(_JOINS & fed_back) and schema.SLICE not in fed_back  # a window keeps its length

    samples = list(filter(grows, samples_under(analysis)))
    use = use_at_lines(analysis, samples, _APPENDS)
    if of_loop(analysis, use.seconds) < SAMPLE_SHARE:
        return []
    names = called_at(analysis, use.where()[0]).names
    called = min((name for name in names if is_named(name, _APPENDS)), default="np.append")
    trends = analysis.trends.per_call if analysis.trends else {}
    slower = any(name in trends and trends[name].grows for s in samples for name in s.phases)
    return [
        finding(
            analysis,
            "buffer-cost-grows",
            title=f"Storing a row copies all rows before it{at(use.where())}: "
            f"{of_loop(analysis, use.seconds):.0%} of the loop"
            + ", and more as the array grows"
            * slower,
            phase="buffer.add",
            seconds=use.seconds,
            saves=APPEND_WINS,
            confidence=HIGH if slower else MEDIUM,
            where=use.where(),
            evidence={},
            fix=f"`{called}` makes a new array. Allocate the arrays once and write each row into "
            "its place, or keep rows in a list and join them when they are used.",
            before="self.obs = np.append(self.obs, [obs], axis=0)",
            after="self.obs[self.size] = obs      # np.zeros((capacity, n)) in __init__\n"
            "self.size += 1",
        )
    ]


_JOINS = frozenset({"append", "concat"})


#: How many times slower storing or sampling must have become. Up to about twice is what any
#: buffer does as it outgrows the CPU's caches.
GROWN = 2.2


def buffer_cost_grows(analysis: Analysis) -> list[Finding]:
    """The buffer gets slower as it fills."""
    trends, found = analysis.trends, _appended(analysis)
    if trends is None or found:
        return found
    for name in ("buffer.sample", "buffer.add"):
        trend = trends.per_call.get(name)
        if trend is None or not trend.grows or trend.ratio < GROWN:
            continue
        seconds = seconds_in(analysis, name)
        calls = calls_of(analysis, name)
        mean = seconds / calls if calls else 0.0
        grown = max(1 - trend.first / mean, 0.0) if mean > 0 else 0.0
        if of_loop(analysis, seconds) < SAMPLE_SHARE or not grown:
            continue
        found.append(
            finding(
                analysis,
                "buffer-cost-grows",
                title=f"{name} gets slower as the buffer fills: {trend.ratio:.1f} times slower "
                f"so far, {of_loop(analysis, seconds):.0%} of the loop",
                phase=name,
                seconds=seconds,
                # From the initial cost to hardly any: an array's cost does not depend on how full
                # it is, and the beginning's cost had grown too.
                saves=(max(0.8 * grown, 0.3), 0.97),
                confidence=HIGH,
                where=inner_lines(samples_under(analysis, name)) or callers(analysis, name),
                evidence={
                    "first_s": trend.first,
                    "last_s": trend.last,
                    "buffer_length": gauge(analysis, schema.BUFFER_LENGTH),
                    "p": trend.p,
                },
                fix="Indexing into the middle of a deque, or copying the buffer to sample from "
                "it, gets slower as it fills. Keep preallocated arrays as a ring buffer "
                "and index them with random numbers.",
                before="batch = random.sample(self.memory, n)      # memory is a deque",
                after="i = rng.integers(0, self.size, n)\nbatch = self.obs[i], self.act[i], …",
                learning="Drawing with replacement may draw a row twice, which hardly matters.",
            )
        )
    return found


# -- rollouts --

#: Rows an update must have grown by.
ROWS_GROWN = 1.5


def unbounded_rollout(analysis: Analysis) -> list[Finding]:
    """Every update learns from all that was ever collected."""
    trends = analysis.trends
    if trends is None or (seconds_in(analysis, "buffer.sample") and _draws(analysis)):
        return []
    rows = trends.rows_per_update
    rows_grow = rows is not None and rows.grows and rows.ratio >= ROWS_GROWN
    # Updates that get slower with the same number of rows have another cause. Minibatches have
    # a fixed number of rows: then there are more of them per step.
    work = _growing_rows(trends) if rows is not None else _growing_updates(analysis)
    if work is None or (not rows_grow and work[1] < 2 * ROWS_GROWN):
        return []
    grown, ratio = work
    seconds = seconds_in(analysis, *_UPDATES, *_before_updates(analysis))
    if of_loop(analysis, seconds * grown) < 0.03:
        return []
    return [
        finding(
            analysis,
            "unbounded-rollout",
            title=f"Updates get slower every iteration ({ratio:.1f} times so far): they still "
            "include old rollouts",
            phase="learn",
            seconds=seconds,
            saves=(0.75 * grown, min(grown + 0.5 * (1 - grown), 0.98)),
            confidence=HIGH if rows_grow else MEDIUM,
            where=callers(analysis, "learn", "learn.backward"),
            evidence={
                "rows_first": rows.first if rows else None,
                "rows_last": rows.last if rows else None,
            },
            fix="The rollout is never emptied, so every update sees all earlier steps again. Clear "
            "it after each update.",
            before="rollout.extend(new_steps)\nupdate(rollout)",
            after="update(rollout)\nrollout.clear()",
            learning=(
                "On-policy methods are only correct for the newest rollout, so learning improves."
            ),
        )
    ]


def _draws(analysis: Analysis) -> bool:
    """Whether batches come from a replay buffer, which is meant to grow."""
    return gauge(analysis, schema.BUFFER_LENGTH) is not None


#: Phases of an update.
_UPDATES = ("learn", "learn.forward", "learn.loss", "learn.backward", "learn.optimizer",
            "learn.step", "learn.fit", "advantage", "buffer.sample")  # fmt: skip


def _before_updates(analysis: Analysis) -> set[str]:
    """Gaps that end with a learning pass: there the rollout is made into a batch."""
    names = {phase.name for phase in analysis.phases if is_unidentified(phase.name)}
    return {name for name in names if name.endswith("and forward")}


def _growing_rows(trends: Trends) -> tuple[float, float] | None:
    """(part of the updates' work that is growth, last over first), by the rows learned from.

    For each environment step: an update on a whole episode has more rows when episodes get
    longer, and comes more rarely.
    """
    counted = _iterations(trends)
    line = trend([float(i) for i in range(len(counted))], [rows / steps for steps, rows in counted])
    if line is None or not line.grows or line.ratio < ROWS_GROWN:
        return None
    first = counted[0][1] / counted[0][0]
    mean = sum(rows for _, rows in counted) / sum(steps for steps, _ in counted)
    return max(1 - min(first, line.first) / mean, 0.0), line.ratio


def _iterations(trends: Trends) -> list[tuple[float, float]]:
    """(steps, rows learned from) of parts of the run with both: an update may outlast a point.

    Where no environment is recognized, the passes that choose actions stand for its steps.
    """
    counted = any(point.steps for point in trends.learning)
    found: list[tuple[float, float]] = []
    steps = rows = 0.0
    for point in trends.learning:
        now = point.steps if counted else sum(point.calls.get(name, 0) for name in _ACTS)
        if now > 0 and rows > 0 and steps > 0:
            found.append((steps, rows))
            steps = rows = 0.0
        steps += now
        rows += point.samples
    return found


#: Passes that choose actions.
_ACTS = ("policy.act", "inference")


def _growing_updates(analysis: Analysis) -> tuple[float, float] | None:
    """The same by the time of updates per environment step, where rows were not counted."""
    trends = analysis.trends
    # The part in which learning begins is only partly with learning.
    learning = trends.learning[1:] if trends else []
    if len(learning) < 3:
        return None
    per_step = [
        sum(point.own.get(name, 0.0) for name in _UPDATES) / point.steps
        for point in learning
        if point.steps
    ]
    line = trend([float(i) for i in range(len(per_step))], per_step)
    if line is None or not line.grows or line.first <= 0:
        return None
    mean = sum(per_step) / len(per_step)
    return max(1 - min(per_step[0], line.first) / mean, 0.0), line.ratio


RULES: tuple[Rule, ...] = (
    per_item_buffer_push,
    naive_priority_sampling,
    buffer_cost_grows,
    unbounded_rollout,
)
