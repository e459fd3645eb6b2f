"""Sending too much to other processes: weights too often, the same objects repeatedly."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.analyze.processes.run_table import WAITS
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    callers,
    finding,
    inner_lines,
    of_loop,
    phases_named,
    seconds_in,
    uses,
)
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import called_at
from hotloop.phases import names_of

SYNC_SHARE = 0.08
SYNC_WINS = (0.4, 0.95)
_FIX = (
    "Send weights once per rollout or every few updates, not after each: RLlib's "
    "`broadcast_interval`, TorchRL's `update_policy_weights_()` outside the inner loop, a counter "
    "in a loop of your own."
)


def frequent_weights(analysis: Analysis) -> list[Finding]:
    """Weights are sent to the actors too often."""
    if not analysis.run_table or phases_named(analysis, "generate"):
        return []  # weights of a language model: `weight-sync`
    phases = phases_named(analysis, "sync.weights")
    seconds, calls = sum(phase.loop_s for phase in phases), sum(phase.calls for phase in phases)
    lines = callers(analysis, "sync.weights")
    methods = _receiving_methods(analysis)
    if methods and not phases:
        sending = [s for s in analysis.samples if _sends_to(analysis, methods, s)]
        seconds = seconds_of(sending) + seconds_in(analysis, "comm")
        calls = max(methods.values())
        lines = inner_lines(sending)
    if of_loop(analysis, seconds) < SYNC_SHARE or not calls:
        return []
    return [
        finding(
            analysis,
            "frequent-weights",
            title=f"Sending weights to other processes takes {of_loop(analysis, seconds):.0%} of "
            f"the loop: {units.plural(calls, 'time')}, {units.seconds(seconds / calls)} each",
            phase="sync.weights",
            seconds=seconds,
            saves=SYNC_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={"broadcasts": calls, "gradient_steps": analysis.run.gradient_steps},
            fix=_FIX,
            learning="Actors act with slightly older weights.",
        )
    ]


def _receiving_methods(analysis: Analysis) -> dict[str, int]:
    """Methods of actors that load weights into a network, and how often one of them did."""
    found: dict[str, int] = {}
    for phase in analysis.phases:
        names = names_of(phase.path)
        if phase.process != "main" and phase.name == "sync.weights" and len(names) > 1:
            method = names[-2].rpartition(".")[2]
            found[method] = max(found.get(method, 0), phase.calls)
    return found


def _sends_to(analysis: Analysis, methods: dict[str, int], sample: Sample) -> bool:
    """Whether a line of the main process calls such a method of an actor, or waits for it."""
    if sample.process != "main" or "comm" in sample.phases[-1:]:
        return False  # what is put into the object store counts in any case
    line = sample.line
    called = called_at(analysis, line).names
    return any(
        name.endswith(".remote") and name.split(".")[-2] in methods
        for name in called
        if name.count(".") > 1
    )


#: An actor that does nothing but fetch weights for this part of its time gets them too often.
RECEIVED_SHARE = 0.10
#: An actor needs new weights at most once in this many of its steps.
STEPS_PER_WEIGHTS = 4.0
_RECEIVES = frozenset({"sync.weights", "transfer", *WAITS})


def fetched_weights(analysis: Analysis) -> list[Finding]:
    """Actors fetch the weights more often than these change, or than they step."""
    shares: list[float] = []
    loads, steps = 0, 0
    lines: list[SourceLine] = []
    for process in sorted({p.process for p in analysis.phases if p.process != "main"}):
        received = phases_named(analysis, "sync.weights", process=process)
        stepped = phases_named(analysis, "env.step", process=process)
        if not received or not stepped:
            continue
        loads += sum(phase.calls for phase in received)
        steps += sum(phase.calls for phase in stepped)
        fetching = [s for s in analysis.samples if s.process == process and _fetches(s)]
        shares.append(of_loop(analysis, seconds_of(fetching)))
        lines = lines or inner_lines(fetching)
    if not shares or loads * STEPS_PER_WEIGHTS < steps:
        return []
    share = sum(shares) / len(shares)
    # Without it, either the actors or the learner are the limit.
    saved = min(share, of_loop(analysis, seconds_in(analysis, "wait")))
    if saved < RECEIVED_SHARE:
        return []
    return [
        finding(
            analysis,
            "frequent-weights",
            title=f"Actors load new weights once every {units.rate(steps / loads)} steps: "
            f"fetching them takes {share:.0%} of their time",
            phase="sync.weights",
            seconds=saved * analysis.run.steady_s,
            saves=SYNC_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={"loads": loads, "gradient_steps": analysis.run.gradient_steps},
            fix=_FIX,
            learning="Actors act with slightly older weights.",
        )
    ]


def _fetches(sample: Sample) -> bool:
    name = sample.phase
    return name in _RECEIVES


OBJECT_SHARE = 0.10
OBJECT_WINS = (0.4, 0.95)


def object_copies(analysis: Analysis) -> list[Finding]:
    """Objects are serialized into Ray's object store again and again."""
    puts = [p for p in phases_named(analysis, "comm") if "learn.backward" not in names_of(p.path)]
    seconds = sum(phase.total_s for phase in puts)
    calls = sum(phase.calls for phase in puts)
    ranks = bool(analysis.notes.trains_beside)
    if not uses(analysis, "Ray") or ranks or of_loop(analysis, seconds) < OBJECT_SHARE:
        return []
    return [
        finding(
            analysis,
            "object-copies",
            title=f"Copying objects into Ray's object store takes {of_loop(analysis, seconds):.0%} "
            f"of the loop: {units.plural(calls, 'time')}, "
            f"{units.seconds(seconds / max(calls, 1))} each",
            phase="comm",
            seconds=seconds,
            saves=OBJECT_WINS,
            confidence=MEDIUM,
            where=callers(analysis, "comm"),
            evidence={"puts": calls},
            fix="Call `ray.put` once for objects that do not change and pass the reference; "
            "send only what changed, as NumPy arrays (these are read without a copy).",
            before="for batch in batches:\n    actor.update.remote(ray.put(dataset), batch)",
            after="reference = ray.put(dataset)\n"
            "for batch in batches:\n    actor.update.remote(reference, batch)",
        )
    ]


RULES: tuple[Rule, ...] = (frequent_weights, fetched_weights, object_copies)
