"""Causes found by structure alone: a Python loop of the program that runs item by item.

Names do not matter, so code in any language or style is found. It only matters that a function
which training calls repeatedly spends its time in a loop in pure Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import finding, in_package, of_loop, samples_under
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.naming import name_of
from hotloop.diagnose.recorded import at, called_at, loop_around
from hotloop.phases import is_unidentified

#: A loop below this share of the training loop is left to the table of functions.
LOOP_SHARE = 0.15
#: Arrays instead of a loop usually take one to two orders of magnitude off it; what a loop decides
#: item by item can at least be compiled.
ARRAY_WINS = (0.6, 0.99)
#: A floating-point operation takes tens of nanoseconds in Python and about a microsecond in NumPy.
FLOAT_WINS = (0.75, 0.99)
#: Python functions called by the program's own loop that are part of its cost.
_HELPERS = in_package("random", "operator", "functools", "collections/__init__", "heapq", "bisect",
                      "statistics", "fractions", "itertools")  # fmt: skip
#: NumPy's own Python around its kernels: on arrays of a few numbers, most of what a call costs.
_NUMPY = in_package("numpy")
#: Phases whose own rules know better.
_KNOWN = frozenset(
    [
        "import",
        "startup",
        "data",
        "log",
        "checkpoint",
        "evaluate",
        "env.render",
        "compile",
        "wait",
        "comm",
        "transfer",
    ]
)


#: Phases that only training's own loops are around, and phases that are entered repeatedly. A loop
#: around a network's forward pass collects, searches or evaluates: it drives the training as well.
_ONLY_TRAINING = frozenset(
    [
        "learn.backward",
        "learn.optimizer",
        "learn.step",
        "learn.fit",
        "learn.forward",
        "policy.act",
        "inference",
        "search.network",
    ]
)
_REPEATED = ("env.", "buffer.", "learn", "advantage")
#: A loop that spends most of its time in native code is not slow because it is written in Python:
#: it works on arrays already.
MOST_NATIVE = 0.5
#: The same for a loop of NumPy calls. A call on a few numbers takes about a microsecond, hardly
#: longer than a sample needs to see native code. Where many samples see it, the arrays are large.
MOST_NATIVE_IN_NUMPY = 0.2
#: From this part of a loop's time at lines that call NumPy on, those calls are what it costs.
MOSTLY_NUMPY = 0.5
#: A loop that calls more functions of the program than this drives training and is not a hot spot.
MOST_CALLEES = 1

#: Loops that Python runs as functions of their own.
_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")

#: (file, function, first line) of a loop.
_Key = tuple[str, str, int]


@dataclass
class _Loop:
    """A loop of one function, and the time in its lines."""

    function: Frame
    seconds: float = 0.0
    native_s: float = 0.0
    on_core_s: float = 0.0
    numpy_s: float = 0.0
    lines: dict[int, float] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def calls_numpy(self) -> bool:
        return self.numpy_s >= MOSTLY_NUMPY * self.seconds

    @property
    def most_native(self) -> float:
        return MOST_NATIVE_IN_NUMPY if self.calls_numpy else MOST_NATIVE

    def hottest(self) -> SourceLine:
        line = max(self.lines, key=lambda each: self.lines[each])
        return SourceLine(self.function.file, line, self.function.function)


def python_loop(analysis: Analysis) -> list[Finding]:
    """A function of the program loops over items in Python."""
    loops = _loops(analysis)
    if not loops:
        return []
    largest = max(loops.values(), key=lambda loop: loop.seconds)
    share = of_loop(analysis, largest.seconds)
    if share < LOOP_SHARE:
        return []
    line = largest.hottest()
    name = name_of(line.function)
    called = f"`{name}`" if name else "The program"
    tiny, seconds, wins = largest.calls_numpy, largest.seconds, ARRAY_WINS
    if tiny:
        # The same few numbers are arrays outside of the loop as well.
        seconds, wins = max(_in_function_s(analysis, largest.function), seconds), FLOAT_WINS
        share = of_loop(analysis, seconds)
    how = "makes many small NumPy calls in a loop" if tiny else "loops over items in pure Python"
    fix, before, after = _small_calls() if tiny else _items()
    return [
        finding(
            analysis,
            "python-loop",
            title=f"{called} {how}{at([line])}: {share:.0%} of the loop",
            phase=max(largest.phases, key=lambda each: largest.phases[each], default=""),
            seconds=seconds,
            saves=wins,
            confidence=MEDIUM,
            where=[line],
            evidence={"function": line.function},
            fix=fix,
            before=before,
            after=after,
        )
    ]


def _in_function_s(analysis: Analysis, function: Frame) -> float:
    """Seconds in which this function or NumPy computed for it, on a core.

    What it calls of other libraries, such as an environment's step, is not its own.
    """
    seconds = 0.0
    for sample in samples_under(analysis):
        first = next((f for f in sample.frames if not (_HELPERS(f) or _NUMPY(f))), None)
        same = first and first.code == (function.file, function.function)
        if same and not sample.waiting and not sample.native:
            seconds += sample.seconds
    return seconds


def _items() -> tuple[str, str, str]:
    """(fix, before, after) for a loop over items."""
    return (
        "Every iteration of this loop costs tens of nanoseconds to microseconds of "
        "interpreter time. Let NumPy do it for all items at once, keep a result that changes "
        "little between calls, or compile the function (Numba, Cython).",
        "for item in items:\n    total += weight(item)",
        "total = weights[items].sum()",
    )


def _small_calls() -> tuple[str, str, str]:
    """(fix, before, after) for a loop of NumPy calls on a few numbers each."""
    return (
        "A NumPy call costs about a microsecond, however few numbers it gets. Compute single "
        "numbers with `math` and plain floats, compute all environments or items as one array, "
        "or compile the function (Numba).",
        "v = np.clip(v + dt * np.array([ax, ay]), -1.0, 1.0)",
        "vx = min(max(vx + dt * ax, -1.0), 1.0)   # the same for vy",
    )


def _loops(analysis: Analysis) -> dict[_Key, _Loop]:
    """The loops of functions that training calls repeatedly, with their pure-Python time."""
    found: dict[_Key, _Loop] = {}
    callees: dict[_Key, set[str]] = {}
    drivers: dict[tuple[str, str], set[int]] = {}
    for sample in samples_under(analysis):
        names = sample.phases
        if _KNOWN & set(names) or sample.waiting:
            continue
        for line in _around_training(sample, names):
            drivers.setdefault(line.code, set()).add(line.line)
        looping = _looping_frame(analysis, sample)
        if looping is None:
            continue
        frame, first, depth = looping
        key = (frame.file, frame.function, first)
        inner = [f.function for f in sample.frames[:depth] if f.of_program]
        callees.setdefault(key, set()).update(inner[-1:])
        loop = found.setdefault(key, _Loop(frame))
        loop.seconds += sample.seconds
        loop.native_s += sample.seconds if sample.native else 0.0
        loop.on_core_s += 0.0 if sample.without_core else sample.seconds
        loop.numpy_s += sample.seconds if _calls_numpy(analysis, sample) else 0.0
        loop.lines[frame.line] = loop.lines.get(frame.line, 0.0) + sample.seconds
        if names:
            loop.phases[names[-1]] = loop.phases.get(names[-1], 0.0) + sample.seconds
    return {
        key: loop
        for key, loop in found.items()
        if not _drives(analysis, loop, drivers.get(key[:2], set()))
        and len(callees[key]) <= MOST_CALLEES
        and loop.native_s <= loop.most_native * loop.on_core_s
    }


def _around_training(sample: Sample, names: list[str]) -> list[SourceLine]:
    """Lines from which networks and optimizers are called: loops around them are training."""
    if not _ONLY_TRAINING & set(names):
        return []
    own = sample.own
    return [frame.source_line for frame in own]


def _drives(analysis: Analysis, loop: _Loop, training: set[int]) -> bool:
    """Whether a loop has lines of its function in it that call training.

    Where the capture does not have the loop's end, every loop of such a function does.
    """
    code = loop_around(analysis, loop.hottest())
    return any(code is None or code.has(line) for line in training)


def _looping_frame(analysis: Analysis, sample: Sample) -> tuple[Frame, int, int] | None:
    """(frame, first line, depth) of the innermost loop of a sample whose inside is all Python."""
    for depth, frame in enumerate(sample.frames):
        if not frame.of_program:
            if _HELPERS(frame) or _NUMPY(frame):
                continue
            return None
        comprehension = frame.function.endswith(_COMPREHENSIONS)
        loop = frame.line if comprehension else called_at(analysis, frame).loop_line
        if loop and _is_repeated(analysis, sample, depth):
            return frame, loop, depth
    return None


def _calls_numpy(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's innermost line of a sample calls NumPy, or is in it."""
    if _NUMPY(sample.frames[0]):
        return True
    line = sample.own[0]
    return any(name.startswith(("np.", "numpy.")) for name in called_at(analysis, line).names)


def _is_repeated(analysis: Analysis, sample: Sample, depth: int) -> bool:
    """Whether the function at this depth is called again and again."""
    names = sample.phases
    if any(name.startswith(_REPEATED) or is_unidentified(name) for name in names):
        return True
    outer = sample.frames[depth + 1 :]
    return any(frame.of_program and called_at(analysis, frame).loop_line for frame in outer)


RULES: tuple[Rule, ...] = (python_loop,)
