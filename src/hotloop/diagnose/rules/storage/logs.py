"""Too much writing: logs, plots, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.analyze.sums import summed
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    DRIVES,
    Use,
    callers,
    calls_of,
    finding,
    in_package,
    inner_lines,
    of_loop,
    samples_under,
    seconds_in,
    use_of,
    uses,
    vector_size,
)
from hotloop.diagnose.finding import HIGH, LOW, Finding, Rule
from hotloop.diagnose.recorded import (
    at_lines_that_call,
    called_at,
    copies_by_dumping,
    is_named,
    use_at_lines,
    writes_table,
)
from hotloop.diagnose.rules.storage.less_logging import (
    LOG_CALLS,
    OF_A_LIBRARY,
    least_of_logging,
    logging_example,
)
from hotloop.phases import names_of

#: Logging is reported from this share on.
LOG_SHARE = 0.05
#: Once in a hundred steps, what remains is collecting the values.
LOG_WINS = 0.995
_LOGS = in_package(
    "wandb", "tensorboard", "tensorboardX", "mlflow", "neptune", "comet_ml", "clearml", "aim",
    "logging", "sqlite3", "sqlalchemy", "loguru", "csv",
)  # fmt: skip
#: Phases that keep their meaning, whatever writes inside them. `print(loss.item())` waits for a
#: device in `transfer`, and would wait for it elsewhere.
_NOT_LOGGING = frozenset({"data", "checkpoint", "import", "startup", "evaluate", "log", "transfer"})
#: Calls on a line that write something and have no frame of their own.
_WRITES = frozenset(["print", "write", "writelines", "writerow", "writerows", "flush", "os.fsync",
                     "json.dump", "json.dumps", "commit", "write_text", "write_bytes",
                     *LOG_CALLS])  # fmt: skip
#: Of these, those that an environment uses for people only; it may write to its simulator.
_TELLS = frozenset(
    {"print", "writerow", "writerows", "os.fsync", "json.dump", "commit", *LOG_CALLS}
)


def logging(analysis: Analysis) -> list[Finding]:
    """Values are logged in every step."""
    seconds, named = seconds_in(analysis, "log"), samples_under(analysis, "log")
    if 2 * _training_inside(analysis) > seconds:
        seconds, named = 0.0, []  # a name said so, and it is something else
    beside = [s for s in samples_under(analysis) if not _NOT_LOGGING & set(s.phases)]
    beside = [s for s in beside if not copies_by_dumping(analysis, s)]
    saves = _saves_something(analysis, beside)
    beside = [s for s in beside if not saves(s)]
    plots = use_of(_not_in_environments(beside), _PLOTS)
    rest = [s for s in beside if not any(_PLOTS(frame) for frame in s.frames)]
    use = use_of(rest, _logs)
    rest = [s for s in rest if not any(_logs(frame) for frame in s.frames)]
    apart = at_lines_that_call(analysis, _not_in_environments(rest), _WRITES)
    within = at_lines_that_call(analysis, [s for s in rest if _is_in_environment(s)], _TELLS)
    written = apart[0] + within[0]
    lines = list(dict.fromkeys([*apart[1], *within[1]]))
    writers = _time_of_writers(analysis, _not_in_environments(beside))
    if writers.seconds > use.seconds + written + plots.seconds:
        use, plots, written, lines = Use(), Use(), writers.seconds, writers.where()
    seconds += use.seconds + written + plots.seconds
    if of_loop(analysis, seconds) < LOG_SHARE:
        return []
    # Calls that were counted say how often only if they are most of it.
    calls = calls_of(analysis, "log") if 2 * seconds_in(analysis, "log") > seconds else 0
    envs = vector_size(analysis)
    each = calls * envs / analysis.run.env_steps if analysis.run.env_steps else None
    of_each = f"step of {envs} environments" if envs > 1 else "step"
    named_s = seconds - use.seconds - written - plots.seconds
    if named_s >= max(use.seconds, written):
        written_at = [*inner_lines(named)[:2], *callers(analysis, "log")[:1]]
    else:
        written_at = lines if written > use.seconds else use.where()
    writer = use.functions if use.seconds >= written else {}
    # The end of `with connection:`, and a method of the program's own, name no database.
    database = "SQLite" in analysis.notes.libraries and bool(calls)
    example = logging_example(writer, _calls_at(analysis, written_at), database)
    of_a_library = bool(named) and all(_drives(analysis, line) for line in written_at)
    fix, before, after = OF_A_LIBRARY if of_a_library else example
    found = finding(
        analysis,
        "logging",
        title=f"Logging takes {of_loop(analysis, seconds):.0%} of the loop"
        + (f": {units.plural(each, 'call')} per {of_each}" if each and calls else ""),
        phase="log",
        seconds=seconds,
        saves=(least_of_logging(beside, written_at), LOG_WINS),
        confidence=LOW if of_a_library else HIGH,
        where=written_at,
        evidence={"log_calls_per_step": each},
        fix=fix,
        before=before,
        after=after,
    )
    if plots.seconds > 0.5 * seconds:
        found = _of_plots(found, of_loop(analysis, seconds), plots)
    return [found]


def _drives(analysis: Analysis, line: SourceLine) -> bool:
    """Whether a line is `model.learn()`: what is logged below it is the library's choice."""
    samples = samples_under(analysis)
    below = (s for s in samples if any(frame.source_line == line for frame in s.own))
    return seconds_of(below) > DRIVES * seconds_of(samples)


#: Libraries that draw curves for people; an environment may draw its frames with them.
_PLOTS = in_package("matplotlib", "plotly", "seaborn", "bokeh", "imageio", "visdom")


def _calls_at(analysis: Analysis, lines: list[SourceLine]) -> frozenset[str]:
    return called_at(analysis, lines[0]).names if lines else frozenset()


def _logs(frame: Frame) -> bool:
    return _LOGS(frame) or writes_table(frame)


def _of_plots(found: Finding, share: float, plots: Use) -> Finding:
    return replace(
        found,
        title=f"Drawing plots takes {share:.0%} of the loop",
        where=plots.where(),
        fix="Keep the numbers and draw them once, at the end or every few hundred episodes. To "
        "watch a curve while it grows, use TensorBoard, which draws elsewhere.",
        before="plt.plot(scores); plt.savefig(path)      # every episode",
        after="if episode % 500 == 0:\n    plt.plot(scores); plt.savefig(path); plt.close()",
    )


def _not_in_environments(samples: list[Sample]) -> list[Sample]:
    return [sample for sample in samples if not _is_in_environment(sample)]


def _is_in_environment(sample: Sample) -> bool:
    return any(name.startswith("env.") for name in sample.phases)


#: A function that spends this part of its time writing exists to write: what it computes for that
#: (norms of weights, means) goes away with its call.
MOSTLY_WRITES = 0.2
_OPENS = _WRITES | {"open"}


def _time_of_writers(analysis: Analysis, samples: list[Sample]) -> Use:
    """Time in the program's functions that exist to write something, by the lines that call them.

    A call below a function that steps environments, acts or learns is what it is called for.
    """
    training = _around_training(analysis)
    functions = {f.short for s in samples for f in s.own}

    def is_own(name: str) -> bool:  # a language model may `write`, too
        return name.rpartition(".")[2] in functions

    def is_writing(line: SourceLine) -> bool:
        called = called_at(analysis, line).names
        return any(is_named(name, _OPENS) for name in called if not is_own(name))

    whole = summed((code, s.seconds) for s in samples for code in {f.code for f in s.own})
    lines = [(line, s.seconds) for s in samples if (line := s.line) is not None]
    writing = summed((line.code, seconds) for line, seconds in lines if is_writing(line))
    # Opening alone may as well be reading.
    wrote = use_at_lines(analysis, samples, frozenset(n for n in _WRITES if not is_own(n))).lines
    named = {line.code for line in wrote} - training
    # A line with nearly all samples drives the program, whatever it prints.
    everything = seconds_of(samples_under(analysis))
    named = {key for key in named if whole[key] <= DRIVES * everything}
    writers = {key for key in named if writing.get(key, 0.0) >= MOSTLY_WRITES * whole[key]}
    use = Use()
    for sample in samples:
        own = sample.own
        inside = [i for i, frame in enumerate(own) if frame.code in writers]
        if inside:
            caller = own[min(inside[-1] + 1, len(own) - 1)]
            use.add(caller.source_line, sample.seconds)
    return use


#: Phases around which no function exists to write.
_TRAINING = ("env.step", "policy.act", "inference", "learn.forward", "learn.loss", "learn.backward",
             "learn.optimizer", "learn.step", "learn.fit", "learn.target", "learn", "collect",
             "advantage", "buffer.sample", "buffer.add", "search", "generate",
             "reward")  # fmt: skip


def _around_training(analysis: Analysis) -> set[tuple[str, str]]:
    samples = samples_under(analysis, *_TRAINING)
    return {f.code for s in samples for f in s.own}


def _training_inside(analysis: Analysis) -> float:
    """Time of networks and environments inside what is called a log."""
    return sum(
        max(phase.loop_self_s, 0.0)
        for phase in analysis.training_phases
        if "log" in names_of(phase.path) and set(_TRAINING) & set(names_of(phase.path))
    )


CHECKPOINT_SHARE = 0.05
#: A tenth as often and without the replay buffer.
CHECKPOINT_WINS = (0.85, 0.99)


def checkpointing(analysis: Analysis) -> list[Finding]:
    """Saving takes a noticeable part of the run."""
    seconds = seconds_in(analysis, "checkpoint")
    beside = [
        s
        for s in samples_under(analysis)
        if not {"checkpoint", "data"} & set(s.phases) and not copies_by_dumping(analysis, s)
    ]
    use = use_of(beside, _saves)
    rest = [s for s in _not_in_environments(beside) if not any(map(_saves, s.frames))]
    dumped, lines = at_lines_that_call(analysis, rest, _DUMPS)
    saves = _saves_something(analysis, rest)
    dumped = max(dumped, sum(s.seconds for s in rest if saves(s)))
    seconds += use.seconds + dumped
    if of_loop(analysis, seconds) < CHECKPOINT_SHARE:
        return []
    times = calls_of(analysis, "checkpoint")
    elsewhere = use.seconds + dumped > 0.5 * seconds  # in calls that were not counted
    before, after = _saving(analysis)
    each = f"{units.plural(times, 'time')}, {units.seconds(seconds / max(times, 1))} each"
    often = f": {each}" if times and not elsewhere else ""
    return [
        finding(
            analysis,
            "checkpointing",
            title=f"Saving takes {of_loop(analysis, seconds):.0%} of the loop{often}",
            phase="checkpoint",
            seconds=seconds,
            saves=CHECKPOINT_WINS,
            confidence=HIGH,
            where=lines if dumped > use.seconds else callers(analysis, "checkpoint") or use.where(),
            evidence={"checkpoints": times, "each_s": seconds / times if times else None},
            fix="Save the network often and the replay buffer rarely or never, to a fast disk, "
            "without compression; a run that can be repeated needs few checkpoints.",
            before=before,
            after=after,
        )
    ]


def _saving(analysis: Analysis) -> tuple[str, str]:
    """Saving often and rarely, in the terms of the library in use."""
    if uses(analysis, "Stable-Baselines3"):
        often = "CheckpointCallback(1_000, path, save_replay_buffer=True)"
        return often, "CheckpointCallback(50_000, path)"
    if uses(analysis, "PyTorch"):
        often = "torch.save((net.state_dict(), buffer), path)   # every episode"
        return often, "if episode % 100 == 0:\n    torch.save(net.state_dict(), path)"
    return (
        "save(agent, buffer, path)   # every episode",
        "if episode % 100 == 0:\n    save(agent, path)",
    )


def _saves_something(analysis: Analysis, samples: list[Sample]) -> Callable[[Sample], bool]:
    """Whether a sample packs a network or a buffer, or writes it in the function that did.

    A function that saves also flushes and waits for the disk. The training loop itself may save as
    well: there only the line that packs counts.
    """
    lines = set(use_at_lines(analysis, samples, _DUMPS).lines)
    functions = {line.code for line in lines} - _around_steps(analysis)

    def saves(sample: Sample) -> bool:
        line = sample.line
        if line is None or line in lines:
            return line is not None
        writes = any(is_named(name, _WRITES) for name in called_at(analysis, line).names)
        return writes and line.code in functions

    return saves


def _around_steps(analysis: Analysis) -> set[tuple[str, str]]:
    """Functions of the program that step environments or learn: its training loops."""
    samples = samples_under(analysis, "env.step", "learn.backward", "learn.optimizer")
    return {f.code for s in samples for f in s.own}


_SAVING = in_package("pickle", "cloudpickle", "dill", "shelve")
#: The same where C does the work, as a line of the program names it.
_DUMPS = frozenset(["pickle.dump", "pickle.dumps", "joblib.dump", "np.save", "np.savez",
                    "np.savez_compressed", "numpy.save", "torch.save", "marshal.dump"])  # fmt: skip
#: Packages that save, among other things; joblib also waits for its workers.
_SAVERS = ("/numpy/", "/torch/", "/joblib/")
_SAVES = ("savez", "savez_compressed", "save", "_savez", "dump")


def _saves(frame: Frame) -> bool:
    if frame.of_program:
        return False
    name = frame.short
    file = frame.file.replace("\\", "/")
    return _SAVING(frame) or (name in _SAVES and any(each in file for each in _SAVERS))


RULES: tuple[Rule, ...] = (logging, checkpointing)
