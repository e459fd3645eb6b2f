"""A run in a few sentences, and what to do about it, in order of benefit.

The findings come first, followed by answers to common questions about every run (the size of the
network and of its batches, half precision, conversions, hardware), each with the largest share of
the loop that it could change.
"""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.evidence import cores, of_loop, seconds_in
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.recorded import LEARNING, NETWORKS, parameters
from hotloop.diagnose.rules.frameworks.accelerators import accelerators
from hotloop.phases import PARENTS, names_of

#: Below this share of the loop, a change is not worth the effort.
SMALL = 0.03
#: Phases that people suspect first, named even if they turn out to be small.
SUSPECTS = (
    "data", "env.step", "env.reset", "env.render", "buffer.add", "buffer.sample", "advantage",
    "transfer", "log", "checkpoint", "evaluate",
)  # fmt: skip
#: How many of the largest phases and functions a summary names.
MOST = 3


def summary(analysis: Analysis) -> list[str]:
    """Says in sentences where the time went."""
    run = analysis.run
    if not run.loop_s:
        return []
    steps = f" for {run.env_steps:,} environment steps" if run.env_steps else ""
    lines = [
        f"The run took {units.seconds(run.wall_s)}, its training loop "
        f"{units.seconds(run.loop_s)}{steps}."
    ]
    largest = [p for p in _top_phases(analysis) if of_loop(analysis, p.loop_s) >= SMALL][:MOST]
    if largest:
        listed = ", ".join(f"{p.name} {_percent(analysis, p.loop_s)}" for p in largest)
        lines.append(f"Dominant: {listed}.")
    functions = [f for f in analysis.functions if f.process == "main" and f.share >= SMALL][:MOST]
    if functions:
        listed = ", ".join(f"{f.function} {units.percent(f.share)}" for f in functions)
        lines.append(f"Hot functions, by their own time: {listed}.")
    small = [
        f"{name} {_percent(analysis, seconds)}"
        for name in SUSPECTS
        if 0 < (seconds := seconds_in(analysis, name)) < SMALL * run.loop_s
    ]
    if small:
        lines.append(f"No bottleneck here: {', '.join(small)}.")
    return lines


def recommendations(analysis: Analysis, findings: list[Finding]) -> list[str]:
    """Recommendations, the most worthwhile first."""
    lines = [f"{each.title}. {each.fix} {_expected(each)}" for each in findings if each.is_problem]
    if analysis.run.loop_s:
        for advice in (_model_size, _batch_size, _precision, _conversions, _hardware):
            lines += advice(analysis)
    return lines


def _expected(finding: Finding) -> str:
    if finding.run_gain is not None and finding.is_of_run:
        gain = finding.run_gain
        return f"Expected: the whole run {units.times_faster(gain.low, gain.high)}."
    return f"Expected: {units.times_faster(finding.gain.low, finding.gain.high)}."


def _top_phases(analysis: Analysis) -> list[Phase]:
    """Outermost named phases, largest first."""
    found = [
        p
        for p in analysis.phases
        if p.process == "main"
        and p.thread == "main"
        and p.name not in PARENTS
        and not any(name not in PARENTS for name in names_of(p.path)[:-1])
    ]
    return sorted(found, key=lambda p: -p.loop_s)


def _percent(analysis: Analysis, seconds: float) -> str:
    return units.percent(of_loop(analysis, seconds))


def _model_size(analysis: Analysis) -> list[str]:
    seconds, size = seconds_in(analysis, *NETWORKS), parameters(analysis)
    if of_loop(analysis, seconds) < SMALL:
        return []
    network = f"a network of {size:,.0f} parameters" if size else "the network"
    return [
        f"Model size: calls to {network} take {_percent(analysis, seconds)} of the loop, which "
        "is the most that a smaller network could save. It saves little if most of a call is "
        "the library's own overhead. Compare before keeping it."
    ]


def _batch_size(analysis: Analysis) -> list[str]:
    seconds, rows = seconds_in(analysis, *LEARNING), analysis.run.batch_size
    if of_loop(analysis, seconds) < SMALL:
        return []
    now = f"batch size {rows:.0f}" if rows else "the current batch size"
    return [
        f"Batch size: learning is {_percent(analysis, seconds)} of the loop ({now}). "
        "Fewer gradient steps with a larger batch cost less, but change learning."
    ]


def _precision(analysis: Analysis) -> list[str]:
    if of_loop(analysis, seconds_in(analysis, *NETWORKS)) < SMALL:
        return []
    if analysis.run.device == "cpu":
        return ["Mixed precision: nothing to gain on a CPU; it helps a busy GPU."]
    return ["Mixed precision: worth a try if the GPU is busy; compare both."]


def _conversions(analysis: Analysis) -> list[str]:
    seconds = seconds_in(analysis, "transfer")
    if not seconds:
        return []
    share = f"conversions between tensors and arrays are {_percent(analysis, seconds)} of the loop"
    if of_loop(analysis, seconds) < SMALL:
        return [f"Conversions: leave them; {share}."]
    return [f"Conversions: {share}. Convert whole batches once, not single values in a loop."]


def _hardware(analysis: Analysis) -> list[str]:
    seen, have = accelerators(analysis), cores(analysis)
    busy = analysis.run.cpu_share
    parts = [f"networks run on {analysis.run.device}"]
    if seen and analysis.run.device == "cpu":
        parts.append(f"an accelerator ({seen[0]}) is present but was not used")
    elif not seen:
        parts.append("no accelerator was found")
    if busy is not None and have:
        parts.append(f"{busy:.1f} of {have} cores were busy")
    return [f"Hardware: {', '.join(parts)}."]
