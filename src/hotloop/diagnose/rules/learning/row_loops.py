"""Python loops that work on tensors row by row.

For example, a distributional target is projected one transition at a time, or a loss is summed over
the rows of a batch. Each iteration is a few tensor operations on a few numbers, and each operation
costs microseconds however few it gets. Only the loop's shape counts: it selects rows by index, it
is part of an update, and it calls no network and no optimizer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import Use, finding, of_loop, samples_under
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import CodeLoop, at, called_at, loop_around
from hotloop.phases import is_unidentified

#: A loop below this share of the training loop is left to the table of functions.
LOOP_SHARE = 0.08
#: One operation for all rows instead of one for each: what remains is a hundredth for a batch of a
#: hundred rows, and more where each row needs the one before.
ROW_WINS = (0.75, 0.99)
#: From this share of its time in native code on, a loop works on tensors. Below, its operations are
#: so short that samples see Python, and what its lines call tells: lists and numbers have other
#: methods.
LEAST_NATIVE = 0.2
_OF_LISTS_AND_NUMBERS = frozenset(
    ["abs", "add", "append", "bool", "copy", "count", "enumerate", "extend", "float", "get",
     "index", "insert", "int", "items", "keys", "len", "list", "max", "min", "pop", "print",
     "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "update", "values",
     "zip"]
)  # fmt: skip
#: A loop around these is training itself.
_TRAINING = ("learn.backward", "learn.optimizer", "learn.step", "learn.fit", "learn.forward",
             "policy.act", "inference", "env.")  # fmt: skip
#: Phases that may contain a row loop; gaps between two events are in none of them.
_UPDATE = ("learn", "learn.loss", "buffer.sample")


@dataclass
class _RowLoop:
    """A loop over rows, and the time in its lines."""

    use: Use = field(default_factory=Use)
    native_s: float = 0.0
    calls: set[str] = field(default_factory=set)
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def on_tensors(self) -> bool:
        methods = {name.rpartition(".")[2] for name in self.calls if not name.startswith("math.")}
        return self.native_s >= LEAST_NATIVE * self.use.seconds or bool(
            methods - _OF_LISTS_AND_NUMBERS
        )


def tensor_row_loop(analysis: Analysis) -> list[Finding]:
    """An update goes through its batch row by row."""
    loops = _row_loops(analysis)
    largest = max(loops, key=lambda loop: loop.use.seconds, default=None)
    if largest is None or of_loop(analysis, largest.use.seconds) < LOOP_SHARE:
        return []
    lines = largest.use.where(most=2)
    return [
        finding(
            analysis,
            "tensor-row-loop",
            title=f"A loop works on tensors row by row{at(lines)}: "
            f"{of_loop(analysis, largest.use.seconds):.0%} of the loop",
            phase=max(largest.phases, key=lambda name: largest.phases[name]),
            seconds=largest.use.seconds,
            saves=ROW_WINS,
            confidence=MEDIUM,
            where=lines,
            fix="Each tensor operation costs microseconds, however few numbers it gets. "
            "Process all rows in one operation, with flat indices, `gather`, "
            "`scatter_add_` or a mask. If each row depends on the one before, convert to "
            "plain floats first (`tolist`).",
            before="for i in range(len(rows)):\n    out[i].index_add_(0, index[i], value[i])",
            after="offset = out.size(1) * torch.arange(len(rows)).unsqueeze(1)\n"
            "out.view(-1).index_add_(0, (index + offset).flatten(), value.flatten())",
        )
    ]


def _row_loops(analysis: Analysis) -> list[_RowLoop]:
    """Loops of updates that pick rows by their number and train nothing."""
    found: dict[tuple[str, str, CodeLoop], _RowLoop] = {}
    training: set[tuple[str, str, int]] = set()
    for sample in samples_under(analysis):
        name = sample.phase
        if name.startswith(_TRAINING):
            own = sample.own
            training.update((frame.file, frame.function, frame.line) for frame in own)
        line = sample.line
        loop = loop_around(analysis, line) if line is not None else None
        if line is None or loop is None or not loop.picks or sample.waiting:
            continue
        if not _is_of_update(name) or _calls_numpy(analysis, line):
            continue
        rows = found.setdefault((line.file, line.function, loop), _RowLoop())
        rows.use.add(line, sample.seconds)
        rows.calls |= called_at(analysis, line).names
        rows.native_s += sample.seconds * sample.native
        rows.phases[name] = rows.phases.get(name, 0.0) + sample.seconds
    return [
        rows
        for (file, function, loop), rows in found.items()
        if rows.on_tensors
        and not any((file, function) == each[:2] and loop.has(each[2]) for each in training)
    ]


def _is_of_update(name: str) -> bool:
    return name in _UPDATE or is_unidentified(name)


def _calls_numpy(analysis: Analysis, line: SourceLine) -> bool:
    return any(name.startswith(("np.", "numpy.")) for name in called_at(analysis, line).names)


RULES: tuple[Rule, ...] = (tensor_row_loop,)
