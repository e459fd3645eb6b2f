"""A run with sampled stacks, made by hand."""

from __future__ import annotations

from made_captures import analysis_of, made_shard

from hotloop.analyze.model import Analysis
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


LIBRARY = "/x/site-packages/lib/core.py"


#: id, parent, file, function, first line, line
STACKS = [
    (1, 0, "/p/train.py", "main", 1, 5),
    (2, 1, "/p/train.py", "loop", 10, 12),
    (3, 2, LIBRARY, "call", 1, 2),
    (4, 3, LIBRARY, "call_inner", 5, 6),
    (5, 4, "/p/env.py", "step", 20, 22),
    (6, 5, "/p/env.py", "draw", 40, 41),
    (7, 5, "/p/env.py", "move", 60, 61),
    (8, 5, "/p/env.py", "draw", 40, 44),
]


def shard(name: str, samples: dict[tuple[str, int, int], list[int]]) -> Shard:
    phases = {
        "collect": PhaseDelta(1, 1 * S, 8 * S, 0, 0, 0, 1, 2),
        "collect/env.step": PhaseDelta(10, 7 * S, 7 * S, 0, 0, 0, 1, 2),
        "": PhaseDelta(self_ns=2 * S),
    }
    window = Window(0, 0, 0, 10 * S, phases, {}, dict(samples), {}, 10 * S)
    made = made_shard(name, {"role": name, "pid": 7}, {}, [window])
    made.stacks = {row[0]: StackRow(*row) for row in STACKS}
    return made


def analysis(
    *others: str, samples: dict[tuple[str, int, int], list[int]] | None = None
) -> Analysis:
    step = "collect/env.step"
    samples = samples or {
        (step, 6, 0): [10, 2 * S],
        (step, 8, 2): [10, 1 * S],
        (step, 7, 0): [5, 1 * S],
        ("", 2, 0): [1, S],
    }
    return analysis_of(*(shard(n, samples) for n in ("main", *others)))
