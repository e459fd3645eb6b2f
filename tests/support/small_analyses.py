"""A small analysis and a finding, made by hand."""

from __future__ import annotations

from made_captures import analysis_of, made_shard

from hotloop.analyze.model import Analysis
from hotloop.capture.lines import StackRow
from hotloop.capture.schema import SourceLine
from hotloop.capture.window import PhaseDelta, Window
from hotloop.diagnose.finding import Finding, Gain

S = 1_000_000_000


def analysis(name: str = "env.step") -> Analysis:
    phases = {
        "collect": PhaseDelta(100, 1 * S, 7 * S, 0, 0, 0, 1, 2, {}),
        f"collect/{name}": PhaseDelta(123_456_789, 6 * S, 6 * S, 1, 9, 500_000_000, 1, 2, {100: 5}),
        "learn": PhaseDelta(100, 2 * S, 2 * S, 0, 0, 0, 1, 2, {}),
        "": PhaseDelta(self_ns=S),
    }
    window = Window(0, 0, 0, 10 * S, phases, {"env_steps": 1_000_000, "episodes": 5000})
    window.loop_last_ns = 10 * S
    window.samples = {(f"collect/{name}", 1, 0): [100, 5 * S]}
    shard = made_shard("main", {"role": "main", "command": ["train.py", "--x", name]}, {}, [window])
    shard.stacks = {1: StackRow(1, 0, f"/p/{name}.py", f"Env.{name}", 1, 2)}
    return analysis_of(shard)


def finding(text: str = "Slow") -> Finding:
    return Finding(
        "env-bound", "warning", text, "env.step", Gain(1.2, 1.8), "medium", "Do this.",
        "hotloop compare a b", [SourceLine("/p/train.py", 3, text)], {"share": 0.6},
    )  # fmt: skip
