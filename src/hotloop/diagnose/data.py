"""Causes in what is kept and loaded: buffers, rollouts, advantages, memory, data."""

from __future__ import annotations

import re

from hotloop.analyze.model import Analysis, Sample
from hotloop.diagnose.evidence import (
    callers,
    calls_of,
    finding,
    gauge,
    in_package,
    inner_places,
    note,
    number,
    of_loop,
    phases_named,
    program_place,
    samples_under,
    seconds_in,
    use_of,
    vector_size,
    where,
    whole_run_s,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, WARNING, Finding, Place, Rule
from hotloop.words import PARENTS, names_of

# -- one push for each environment --

#: Fewer environments than this are stored one by one at no cost to speak of.
MANY_ENVS = 4
#: Pushes a vector step, as a part of the number of environments, that mean "one each".
ONE_EACH = 0.75
#: One batched push takes about as long as one or two single ones: 2-5x expected by seed 004.
PUSH_WINS = (0.7, 0.97)
#: Lines around a push that belong to the same loop.
NEAR = 12


def per_item_buffer_push(analysis: Analysis) -> list[Finding]:
    """The transitions of a vector step are stored one environment at a time."""
    envs = max(vector_size(analysis), 1)
    rounds = analysis.run.env_steps / envs
    adds = calls_of(analysis, "buffer.add")
    if envs < MANY_ENVS or not rounds or adds / rounds < ONE_EACH * envs:
        return []
    seconds = seconds_in(analysis, "buffer.add")
    around, places = _around_pushes(analysis)
    seconds += around
    if of_loop(analysis, seconds) < 0.02:
        return []
    return [
        finding(
            analysis,
            "per-item-buffer-push",
            title=f"{adds / rounds:.0f} pushes for each step of {envs} environments: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="buffer.add",
            seconds=seconds,
            low=PUSH_WINS[0],
            high=PUSH_WINS[1],
            confidence=HIGH,
            where=places or callers(analysis, "buffer.add"),
            evidence={"pushes_per_vector_step": adds / rounds, "envs": envs},
            fix="A Python loop takes each environment's row apart, converts it and stores it. "
            "Store the arrays of the whole vector step with one call: one slice assignment for "
            "each field, and one transfer instead of one a row.",
            before="for i in range(num_envs):\n    buffer.push(obs[i].numpy(), act[i].item(), …)",
            after="buffer.push_batch(obs.numpy(), act.numpy(), …)   # ring[i:i+n] = rows",
        )
    ]


def _around_pushes(analysis: Analysis) -> tuple[float, list[Place]]:
    """(seconds outside of any phase in the loop around the pushes, that loop's place)."""
    places = callers(analysis, "buffer.add")
    if not places:
        return 0.0, []
    key, line = (places[0].file, places[0].function), places[0].line
    seconds = 0.0
    for sample in samples_under(analysis):
        last = (names_of(sample.path) or [""])[-1]
        if last not in ("", "transfer", *PARENTS):
            continue
        place = program_place(sample.frames)
        if place and (place.file, place.function) == key and abs(place.line - line) <= NEAR:
            seconds += sample.seconds
    return seconds, places[:1]


# -- sampling --

#: Sampling below this share of the loop is nobody's bottleneck.
SAMPLE_SHARE = 0.06
#: Words that only code with priorities uses.
_PRIORITY = re.compile(r"priorit|sumtree|sum_tree|segmenttree|segment_tree|SumTree", re.IGNORECASE)
#: 1690 to 2.1 ms in the catalogue; a tree in NumPy still takes a part.
PRIORITY_WINS = (0.7, 0.98)


def naive_priority_sampling(analysis: Analysis) -> list[Finding]:
    """Priorities are searched through one by one."""
    samples = samples_under(analysis, "buffer.sample", "buffer.add")
    whole = sum(sample.seconds for sample in samples)
    use = use_of(
        samples, lambda f: bool(_PRIORITY.search(f.function) or _PRIORITY.search(_stem(f.file)))
    )
    seconds = seconds_in(analysis, "buffer.sample", "buffer.add")
    seconds *= use.seconds / whole if whole > 0 else 0.0
    if of_loop(analysis, seconds) < SAMPLE_SHARE:
        return []
    return [
        finding(
            analysis,
            "naive-priority-sampling",
            title=f"Sampling by priority takes {of_loop(analysis, seconds):.0%} of the loop",
            phase="buffer.sample",
            seconds=seconds,
            low=PRIORITY_WINS[0],
            high=PRIORITY_WINS[1],
            confidence=MEDIUM,
            where=_program_places(samples),
            evidence={"buffer_length": gauge(analysis, "buffer_length")},
            fix="Each draw looks at all priorities, or walks a tree item by item in Python. Keep a "
            "sum tree in one NumPy array and descend it for the whole batch at once; draw with "
            "replacement.",
            before="i = np.random.choice(len(p), n, p=p / p.sum(), replace=False)",
            after="i = tree.find(np.random.uniform(0, tree.total, n))   # vectorised descent",
            learning="Drawing with replacement may give a row twice in a batch; the published "
            "algorithm does the same.",
        )
    ]


def _stem(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


#: How many times slower storing or sampling must have become.
GROWN = 1.5


def buffer_cost_grows(analysis: Analysis) -> list[Finding]:
    """The buffer gets slower as it fills."""
    trends = analysis.trends
    if trends is None:
        return []
    found: list[Finding] = []
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
                title=f"{name} gets slower as the buffer fills: {trend.ratio:.1f} times so far, "
                f"{of_loop(analysis, seconds):.0%} of the loop",
                phase=name,
                seconds=seconds,
                # From the cost in the beginning to hardly any: an array does not care how full
                # it is, and the beginning's cost had grown too.
                low=max(0.8 * grown, 0.3),
                high=0.97,
                confidence=HIGH,
                where=_program_places(samples_under(analysis, name)) or callers(analysis, name),
                evidence={
                    "first_s": trend.first,
                    "last_s": trend.last,
                    "buffer_length": gauge(analysis, "buffer_length"),
                    "p": trend.p,
                },
                fix="Reaching into the middle of a deque, or copying the buffer to draw from it, "
                "takes longer the fuller it is. Keep preallocated arrays as a ring and index them "
                "with random numbers.",
                before="batch = random.sample(self.memory, n)      # memory is a deque",
                after="i = rng.integers(0, self.size, n)\nbatch = self.obs[i], self.act[i], …",
                learning="Drawing with replacement may give a row twice; that hardly matters.",
            )
        )
    return found


# -- rollouts and advantages --

#: Rows an update must have grown by.
ROWS_GROWN = 1.5


def unbounded_rollout(analysis: Analysis) -> list[Finding]:
    """Every update learns from all that was ever collected."""
    trends = analysis.trends
    if trends is None or (seconds_in(analysis, "buffer.sample") and _draws(analysis)):
        return []
    rows = trends.rows_per_update
    work = _growing_updates(analysis)
    if work is None:
        return []
    seconds, grown, ratio = work
    rows_grow = rows is not None and rows.grows and rows.ratio >= ROWS_GROWN
    if not rows_grow and ratio < 2 * ROWS_GROWN:
        return []
    if of_loop(analysis, seconds * grown) < 0.03:
        return []
    return [
        finding(
            analysis,
            "unbounded-rollout",
            title=f"Updates get longer each iteration ({ratio:.1f} times so far): old rollouts "
            "are still learned from",
            phase="learn",
            seconds=seconds,
            low=0.75 * grown,
            high=min(grown + 0.5 * (1 - grown), 0.98),
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
            learning="On-policy methods are only right for the newest rollout: learning improves.",
        )
    ]


def _draws(analysis: Analysis) -> bool:
    """Whether batches come from a replay buffer, whose length is no fault."""
    return gauge(analysis, "buffer_length") is not None


def _growing_updates(analysis: Analysis) -> tuple[float, float, float] | None:
    """(seconds of learning, part of them that is growth, last over first), per environment step."""
    trends = analysis.trends
    if trends is None or len(trends.learning) < 3:
        return None
    names = ("learn.forward", "learn.loss", "learn.backward", "learn.optimizer", "learn",
             "learn.step", "learn.fit", "advantage", "buffer.sample")  # fmt: skip
    per_step = [
        sum(point.own_s.get(name, 0.0) for name in names) / point.steps
        for point in trends.learning
        if point.steps
    ]
    from hotloop.analyze.trends import trend

    line = trend([float(i) for i in range(len(per_step))], per_step)
    if line is None or not line.grows or line.first <= 0:
        return None
    mean = sum(per_step) / len(per_step)
    seconds = seconds_in(analysis, "learn", *names)
    return seconds, max(1 - min(per_step[0], line.first) / mean, 0.0), line.ratio


#: Advantages below this share are not worth the work (72x faster gave 1.4% in the catalogue).
ADVANTAGE_SHARE = 0.05
#: A loop over steps whose body is one array operation remains: 4.1 to 0.057 s at best.
ADVANTAGE_WINS = (0.75, 0.985)


def python_gae(analysis: Analysis) -> list[Finding]:
    """Advantages are computed one number at a time."""
    seconds = seconds_in(analysis, "advantage")
    if of_loop(analysis, seconds) < ADVANTAGE_SHARE:
        return []
    samples = samples_under(analysis, "advantage")
    own = use_of(samples, lambda frame: frame.of_program)
    if own.seconds <= 0:
        return []
    return [
        finding(
            analysis,
            "python-gae",
            title=f"Advantages take {of_loop(analysis, seconds):.0%} of the loop: a Python loop "
            "over single numbers",
            phase="advantage",
            seconds=seconds,
            low=ADVANTAGE_WINS[0],
            high=ADVANTAGE_WINS[1],
            confidence=MEDIUM,
            where=inner_places(samples),
            fix="Loop over the steps once, with all environments as one array; keep tensors out of "
            "the loop (convert to NumPy first). For one long rollout scipy.signal.lfilter does it "
            "without a loop.",
            before="for i in range(envs):\n    for t in reversed(range(T)):\n        adv[t][i] = …",
            after="for t in reversed(range(T)):          # rows of all environments\n"
            "    last = delta[t] + gamma * lam * alive[t] * last; adv[t] = last",
        )
    ]


# -- memory and data --

#: Pages read back from disk a second that slow a program down, and what one takes at least (a
#: fast disk's latency).
FAULTS_PER_SECOND = 50.0
FAULT_S = 1e-4
#: The part of the memory at which the system begins to push pages out.
NEARLY_FULL = 0.9
#: Pictures kept as floats take four times the memory for nothing; from this part of the memory on
#: that is worth a word.
FLOAT_FRAMES = 0.25


def memory_pressure(analysis: Analysis) -> list[Finding]:
    """The buffer is, or will be, larger than the memory."""
    limit = _memory_limit(analysis)
    rate = _faults_per_second(analysis)
    projected = gauge(analysis, "buffer_bytes")
    frames = gauge(analysis, "buffer_float_frame_bytes") or 0.0
    peak = analysis.run.memory_peak_mb
    reasons = []
    if limit and projected and projected >= NEARLY_FULL * limit:
        reasons.append(f"the full buffer needs {projected / 1e9:.1f} of {limit / 1e9:.1f} GB")
    elif limit and frames >= FLOAT_FRAMES * limit:
        reasons.append(f"{frames / 1e9:.1f} of {limit / 1e9:.1f} GB hold pictures as floats")
    if limit and peak and peak * 1e6 >= NEARLY_FULL * limit:
        reasons.append(f"{peak / 1e3:.1f} of {limit / 1e9:.1f} GB are in use")
    if rate >= FAULTS_PER_SECOND:
        reasons.append(f"{rate:.0f} pages a second come back from disk")
    if not reasons:
        return []
    moving = seconds_in(analysis, "buffer.add", "buffer.sample")
    faulting = min(rate * FAULT_S, 0.9) * analysis.run.loop_s
    return [
        finding(
            analysis,
            "memory-pressure",
            title="Memory is short: " + " and ".join(reasons),
            phase="buffer.add",
            seconds=max(moving, faulting),
            low=0.2,
            high=0.8,
            confidence=MEDIUM,
            severity=WARNING,
            where=callers(analysis, "buffer.add"),
            evidence={
                "limit_bytes": limit,
                "buffer_bytes": projected,
                "float_frame_bytes": frames,
                "major_faults_per_s": rate,
            },
            fix="Keep frames as uint8 and turn them to floats in the batch; do not store the next "
            "observation twice; make the buffer smaller. A machine that swaps does nothing else.",
            before="self.obs = np.zeros((size, 84, 84, 4), np.float32)",
            after="self.obs = np.zeros((size, 84, 84, 4), np.uint8)\n"
            "batch = self.obs[i].astype(np.float32) / 255",
        )
    ]


def _faults_per_second(analysis: Analysis) -> float:
    counts = [
        (w.end_ns, w.gauges["major_faults"])
        for w in analysis.loop_windows
        if "major_faults" in w.gauges
    ]
    if len(counts) < 2 or counts[-1][0] <= counts[0][0]:
        return 0.0
    (begin, first), (end, last) = counts[0], counts[-1]
    return max(last - first, 0.0) / ((end - begin) / 1e9)


def _memory_limit(analysis: Analysis) -> float | None:
    found = [number(note(analysis, "machine", key)) for key in ("memory_limit", "memory_bytes")]
    known = [value for value in found if value]
    return min(known) if known else None


#: Start-up below this share of the run is not worth a cache.
LOADING_SHARE = 0.10
LOADING_WINS = (0.6, 0.97)
_READS = in_package("pandas", "csv", "pyarrow", "json", "h5py", "openpyxl", "sqlite3", "gzip")


def data_loading(analysis: Analysis) -> list[Finding]:
    """Loading and preprocessing takes a part of the run worth caching."""
    before = sum(
        p.total_s
        for p in analysis.startup
        if p.name == "data" and p.thread == "main" and "data" not in names_of(p.path)[:-1]
    )
    unnamed = use_of(
        [s for s in analysis.startup_samples if not {"data", "import"} & set(names_of(s.path))],
        _READS,
    )
    before += unnamed.seconds
    # Features that an environment computes in its steps are another cause.
    inside = sum(
        phase.total_s
        for phase in phases_named(analysis, "data")
        if not any(name.startswith("env.") for name in names_of(phase.path))
    )
    whole = whole_run_s(analysis)
    if analysis.run.end is None or "stop_after" in analysis.notes:
        # How long such a run would have been nobody knows: only what is in the loop counts.
        before = 0.0
    seconds = before + inside
    if whole <= 0 or seconds / whole < LOADING_SHARE:
        return []
    result = finding(
        analysis,
        "data-loading",
        title=f"Loading and preparing data takes {seconds / whole:.0%} of the run "
        f"({seconds:.1f} s)",
        phase="data",
        seconds=inside,
        low=LOADING_WINS[0],
        high=LOADING_WINS[1],
        confidence=MEDIUM,
        where=where(analysis, "data") or _startup_places(analysis),
        evidence={"startup_s": before, "in_loop_s": inside},
        fix="The same rows are read and the same features computed in every run. Compute them once "
        "and keep the result (Parquet or .npy); read columns rather than lines of text.",
        before='df = add_indicators(pd.read_csv("prices.csv"))',
        after="if not cache.exists():\n"
        '    add_indicators(pd.read_csv("prices.csv")).to_parquet(cache)\n'
        "df = pd.read_parquet(cache)",
    )
    share = seconds / whole
    from hotloop.diagnose.evidence import gain_of, severity_of

    result.gain = gain_of(share, *LOADING_WINS)
    result.severity = severity_of(result.gain)
    return [result]


def _startup_places(analysis: Analysis) -> list[Place]:
    loading = [
        sample
        for sample in analysis.startup_samples
        if "import" not in names_of(sample.path)
        and ("data" in names_of(sample.path) or any(_READS(f) for f in sample.frames))
    ]
    return inner_places(loading)


def _program_places(samples: list[Sample]) -> list[Place]:
    return inner_places(samples)


RULES: tuple[Rule, ...] = (
    per_item_buffer_push,
    naive_priority_sampling,
    buffer_cost_grows,
    unbounded_rollout,
    python_gae,
    memory_pressure,
    data_loading,
)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    return [each for rule in RULES for each in rule(analysis)]
