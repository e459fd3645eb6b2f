"""How to log less, for the logger that the program uses."""

from __future__ import annotations

from collections.abc import Iterable

from hotloop.analyze.model import Sample, seconds_of
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.recorded import is_named

#: Calls of loggers as programs name them: the message is formatted whether or not it is shown.
#: `debug` is a logger's method whatever the logger is called; `info` may be anything's.
LOG_CALLS = frozenset({"debug", "log.info", "logger.info", "logging.info"})
_LESS = (
    "Log every hundred steps or every episode, and accumulate values in plain Python numbers "
    "meanwhile."
)

#: Package, or name that a line calls -> (what else to know, before, after).
_EXAMPLES: dict[str, tuple[str, str, str]] = {
    "tensorboard": (
        "",
        'writer.add_scalar("reward", reward, step)      # every step',
        'if step % 100 == 0:\n    writer.add_scalar("reward", total / 100, step)',
    ),
    "wandb": (
        "",
        'wandb.log({"reward": reward})      # every step',
        'if step % 100 == 0:\n    wandb.log({"reward": total / 100}, step=step)',
    ),
    "mlflow": (
        "",
        'mlflow.log_metric("reward", reward, step)      # every step',
        'if step % 100 == 0:\n    mlflow.log_metric("reward", total / 100, step)',
    ),
    "sqlite3": (
        "Write many rows to the database in one transaction.",
        'db.execute("INSERT …", row); db.commit()      # every step',
        'rows.append(row)\nif step % 1000 == 0:\n    db.executemany("INSERT …", rows); db.commit()',
    ),
    "logging": (
        "A message that is not shown is still formatted: pass values as arguments, and check "
        "`isEnabledFor` before computing them.",
        'log.debug("state " + " ".join(map(str, obs)))',
        'if log.isEnabledFor(logging.DEBUG):\n    log.debug("state %s", obs)',
    ),
    "fsync": (
        "Let the system decide when to write files: `fsync` only protects against power loss.",
        "out.write(line); out.flush(); os.fsync(out.fileno())      # every step",
        "lines.append(line)\nif step % 1000 == 0:\n    out.writelines(lines); lines.clear()",
    ),
    "print": (
        "Printing to a terminal is slower than training a small network.",
        "print(step, reward)      # every step",
        "if step % 1000 == 0:\n    print(step, total / 1000)",
    ),
}
_FILE = (
    "",
    "out.write(line); out.flush()      # every step",
    "lines.append(line)\nif step % 1000 == 0:\n    out.writelines(lines); lines.clear()",
)
#: A library's own metrics, which no line of the program asks for.
OF_A_LIBRARY = (
    "The library records these metrics itself, most of them in every update. Fewer, larger "
    "minibatches record them less often; some libraries have an interval to set.",
    "",
    "",
)
#: Names that a line calls, and the example that belongs to them.
_CALLED = {"commit": "sqlite3", "execute": "sqlite3", "fsync": "fsync", "print": "print",
           "add_scalar": "tensorboard", "add_scalars": "tensorboard",
           "add_histogram": "tensorboard", "add_image": "tensorboard",
           "add_images": "tensorboard",
           "add_figure": "tensorboard"} | dict.fromkeys(LOG_CALLS, "logging")  # fmt: skip


def logging_example(
    files: Iterable[tuple[str, str]], called: frozenset[str], database: bool = False
) -> tuple[str, str, str]:
    """(fix, before, after) for what logs: what a line calls, or a package, by its files.

    Where neither says it, it may be a database.
    """
    named = (kind for name, kind in _CALLED.items() if any(is_named(c, {name}) for c in called))
    kind = next(named, "")
    if not kind:
        # Trackers log messages of their own: those before Python's `logging` come first.
        known = [file for file, _ in files]
        kind = next((name for name in _EXAMPLES if any(f"/{name}" in file for file in known)), "")
        kind = kind or ("sqlite3" if database else "")
    more, before, after = _EXAMPLES.get(kind, _FILE)
    return f"{_LESS} {more}".strip(), before, after


#: A disk or a tracker that is waited for takes its time for a large write as well. Formatting that
#: nobody asks for is gone, except for collecting the values.
LEAST_OF_WAITING, LEAST_OF_FORMATTING = 0.8, 0.93
MOSTLY_COMPUTES = 0.1


def least_of_logging(samples: Iterable[Sample], lines: list[SourceLine]) -> float:
    """The least part of logging at these lines that writing less often takes away."""
    places = {(line.file, line.line) for line in lines}
    logging = [s for s in samples if s.line and (s.line.file, s.line.line) in places]
    seconds, waited = seconds_of(logging), seconds_of(s for s in logging if s.waiting)
    computes = seconds > 0 and waited <= MOSTLY_COMPUTES * seconds
    return LEAST_OF_FORMATTING if computes else LEAST_OF_WAITING
