"""Causes in what moves between host and device: values read one by one, batches copied each step,
copies of memory that is not pinned.

Every transfer is counted with its source line (the `transfer` phase); recordings show which copies
were of pageable memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotloop import units
from hotloop.analyze.accounting import INFERRED
from hotloop.analyze.device_use import launches_in
from hotloop.analyze.model import Analysis, Phase
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    calls_of,
    finding,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    where,
)
from hotloop.diagnose.finding import LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at, counted, lines_of
from hotloop.diagnose.rules.frameworks.accelerators import SMALLEST_PART, on_device
from hotloop.phases import is_unidentified

#: Smaller transfers on average are single values read by Python, not data.
SMALL_TRANSFER_BYTES = 512
#: More reads per step than this are more than reading the loss once.
FEW_READS = 1.0
#: A line copies once per step of the environments if both numbers differ by less than this part.
SAME_NUMBER = 0.1
#: A read waits for work that has to be done anyway: public reports have 5 to 7% of a run, and once
#: half of an optimizer step.
SYNC_WINS = (0.25, 0.8)
#: The copies go away, and the waits with them; a published case saved half of the run.
COPY_WINS = (0.5, 0.98)
#: A buffer on the device is indexed there: 40 microseconds instead of 7 milliseconds for a batch of
#: 1,024 small images.
GATHER_WINS = (0.9, 1.0)
#: Converting and scaling on the host (`frames.astype(np.float32) / 255`) is done by the device once
#: small types are copied, or not at all; what has to be computed on the host stays.
PREPARE_WINS = (0.5, 0.98)
#: Phases that are named after their neighbours, so code on a line that copies may be in them.
_AROUND_COPIES = frozenset({"buffer.add", "buffer.sample"})


def waits_and_copies(analysis: Analysis) -> list[Finding]:
    """Values are read from the device, or data goes to the host and back, all the time."""
    transfers, syncs = counted(analysis, schema.TRANSFERS), counted(analysis, schema.SYNCS)
    size, seconds = counted(analysis, schema.TRANSFER_BYTES), seconds_in(analysis, "transfer")
    turns = max(counted(analysis, schema.GRADIENT_STEPS), counted(analysis, schema.ITERATIONS))
    turns = max(turns, sum(p.calls for p in analysis.phases if p.name == "env.step"))
    if not on_device(analysis) or not transfers or not turns:
        return []
    prepared = preparing(analysis)
    if of_loop(analysis, seconds + prepared) < SMALLEST_PART:
        return []
    lines = (
        _lines(analysis) or lines_of(analysis, schema.CALL_TRANSFER) or where(analysis, "transfer")
    )
    if size / transfers <= SMALL_TRANSFER_BYTES:
        return _sync_per_step(analysis, syncs / turns, seconds + prepared, lines)
    gathered = gathering(analysis)
    avoidable = (transfers - _between_policy_and_environments(analysis)) / turns
    if avoidable < FEW_READS and of_loop(analysis, gathered + prepared) < SMALLEST_PART:
        return []
    each = (transfers / turns, size / turns)
    return _host_transfers(analysis, each, (seconds, gathered, prepared), lines)


def _between_policy_and_environments(analysis: Analysis) -> float:
    """Copies that environments on the host need: observations in, actions out, once per step."""
    if launches_in(analysis, "env.step") != 0:  # on the device, or nobody knows
        return 0.0
    steps = calls_of(analysis, "env.step")
    each_step = [
        row
        for row in analysis.notes.transfer_lines
        if steps and abs(row.transfers - steps) <= SAME_NUMBER * steps
    ]
    found = 0.0
    for direction in (_TO_HOST, _TO_DEVICE):
        found += max((row.transfers for row in each_step if row.what in direction), default=0)
    return found


def gathering(analysis: Analysis) -> float:
    """Host time of gathering batches that are then copied: a buffer on the device needs neither."""
    gathers = _gathers(analysis)
    return sum(p.self_s for p in phases_named(analysis, "buffer.sample") if p.path in gathers)


def _gathers(analysis: Analysis) -> set[str]:
    """Nodes that copy what they gather."""
    return {p.parent for p in analysis.phases if p.name == "transfer" and p.process == "main"}


def preparing(analysis: Analysis) -> float:
    """Host time of the lines that copy or read, outside the copies: what they make ready.

    `torch.as_tensor(frames.astype(np.float32) / 255).to(device)` converts before it copies, and
    `loss.mean().item()` launches before it reads. What a function does between taking data from
    the device and sending it back, the device could do. Code in an identified phase has another
    purpose.
    """
    lines = {(each.file, each.line) for each in analysis.notes.transfer_lines}
    detours = _detours(analysis)
    inferred = {p.path for p in analysis.phases if _is_inferred(p)}
    gathers = _gathers(analysis)
    found = 0.0
    for sample in samples_under(analysis):
        name = sample.phase
        unnamed = not name or is_unidentified(name) or name in _AROUND_COPIES
        if sample.path in gathers or not (unnamed or sample.path in inferred):
            continue
        line = sample.line
        if line is None:
            continue
        on_line = unnamed and (line.file, line.line) in lines
        if on_line or any(detour.holds(line) for detour in detours):
            found += sample.seconds
    return found


def _is_inferred(phase: Phase) -> bool:
    """Whether code around known calls may be in this phase."""
    # A recognized function for advantages hides the code around it, which fetches its arguments.
    return phase.how == INFERRED or (phase.name == "advantage" and phase.how != "named")


#: Calls that take data from a device, and those that may send it there.
_TO_HOST = frozenset({".cpu()", ".numpy()", ".tolist()"})
_TO_DEVICE = frozenset({".to()", ".cuda()", "torch.tensor()", "torch.as_tensor()"})


@dataclass(frozen=True)
class _Detour:
    """Lines of one function from where data leaves the device to where it returns."""

    file: str
    function: str
    first: int
    last: int

    def holds(self, line: SourceLine) -> bool:
        here = (line.file, line.function.rpartition(".")[2])
        return here == (self.file, self.function) and self.first <= line.line <= self.last


def _detours(analysis: Analysis) -> list[_Detour]:
    """Functions that fetch about as many bytes as they send back, further down."""
    rows = [each for each in analysis.notes.transfer_lines if each.bytes]
    found = []
    for away in (row for row in rows if row.what in _TO_HOST):
        for back in (row for row in rows if row.what in _TO_DEVICE):
            same = (away.file, away.function) == (back.file, back.function)
            alike = min(away.bytes, back.bytes) >= 0.25 * max(away.bytes, back.bytes)
            if same and alike and away.line < back.line:
                name = away.function.rpartition(".")[2]
                found.append(_Detour(away.file, name, away.line, back.line))
    return found


def _lines(analysis: Analysis) -> list[SourceLine]:
    """Lines of the program that move or read the most, as they were counted."""
    found = analysis.notes.transfer_lines[:3]
    return [SourceLine(each.file, each.line, each.function) for each in found]


def _sync_per_step(
    analysis: Analysis, each: float, seconds: float, lines: list[SourceLine]
) -> list[Finding]:
    if each < FEW_READS:
        return []
    return [
        finding(
            analysis,
            "sync-per-step",
            title=f"Python reads {units.amount(each)} values from the device per "
            f"step{at(lines)} and waits "
            f"for each: {of_loop(analysis, seconds):.0%} of the loop",
            phase="transfer",
            seconds=seconds,
            saves=SYNC_WINS,
            confidence=LOW,
            where=lines,
            evidence={"syncs_per_step": each},
            fix="Every `.item()` blocks the host until the device is done, so it cannot launch "
            "what comes next. Sum values on the device and read them once every hundred steps.",
            before="log(loss.item())",
            after="total += loss.detach()\nif step % 100 == 0:\n    log(total.item() / 100)",
        )
    ]


def _host_transfers(
    analysis: Analysis,
    each: tuple[float, float],
    seconds: tuple[float, float, float],
    lines: list[SourceLine],
) -> list[Finding]:
    """`each` is copies and bytes per step; `seconds` those of copying, gathering and preparing."""
    transfers, size = each
    if transfers < FEW_READS:
        return []
    _, gathered, prepared = seconds
    whole = sum(seconds)
    low, high = (
        sum(part * wins for part, wins in zip(seconds, all_wins, strict=True)) / whole
        for all_wins in zip(COPY_WINS, GATHER_WINS, PREPARE_WINS, strict=True)
    )
    beside = ", with gathering batches on the host" if gathered else ""
    if of_loop(analysis, prepared) >= SMALLEST_PART:
        beside += ", with what the host does to the data around them"
    before, after = _example(seconds)
    return [
        finding(
            analysis,
            "host-transfers",
            title=f"{units.plural(transfers, 'copy')} ({units.size(size)}) between "
            f"host and device per "
            f"step{at(lines)}: {of_loop(analysis, whole):.0%} of the loop{beside}",
            phase="transfer",
            seconds=whole,
            saves=(low, high),
            confidence=MEDIUM,
            where=lines,
            evidence={
                "transfers_per_step": transfers,
                "bytes_per_step": size,
                "gathering_s": gathered,
                "preparing_s": prepared,
            },
            fix="Keep what the device needs on the device: the replay buffer if it fits, "
            "observations of a simulator that runs there, statistics. Batches are then "
            "gathered on the device. If data comes from the host, copy a whole batch at "
            "once from pinned memory, as the smallest type (`uint8` frames), and convert and "
            "scale it on the device.",
            before=before,
            after=after,
        )
    ]


def _example(seconds: tuple[float, float, float]) -> tuple[str, str]:
    """Before and after, for what takes longest."""
    copied, gathered, prepared = seconds
    if gathered >= prepared and gathered:
        frames = "frames = torch.zeros(size, *shape"
        return f"{frames})", f'{frames}, device="cuda")'
    if prepared >= copied:
        made = "x = torch.as_tensor(frames"
        return (
            f"{made}.astype(np.float32) / 255).to(device)",
            f"{made}).to(device).float() / 255   # copies a quarter of the bytes",
        )
    return (
        "for i in range(n):\n    buffer.add(obs[i].cpu().numpy())",
        "buffer.add(obs)            # one tensor that stays on the device",
    )


# -- pinned memory --

#: Smaller copies take their time to start, not to move: pinning does not shorten them.
PINNED_FROM_BYTES = 64_000
#: From pinned memory a copy is two to four times as fast, and can overlap with kernels.
PINNED_WINS = (0.3, 0.8)


def pageable_copies(analysis: Analysis) -> list[Finding]:
    """Large copies go through memory that is not pinned, so the host waits for each."""
    use = analysis.device
    if not on_device(analysis) or use is None or gathering(analysis):
        return []  # a buffer on the device removes these copies altogether
    seconds = size = number = 0.0
    for phase in use.phases:
        copied = phase.to_device_bytes + phase.to_host_bytes
        if copied > 0 and phase.pageable_bytes > 0:
            share = min(phase.pageable_bytes / copied, 1.0)
            seconds += share * max(phase.moving * phase.host_s, phase.pageable_s)
            size += phase.pageable_bytes
            number += share * (phase.to_device + phase.to_host)
    if not number or size / number < PINNED_FROM_BYTES:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "pageable-copies",
            title=f"Copies of {units.size(size / number)} go through memory that is not pinned: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="transfer",
            seconds=seconds,
            saves=PINNED_WINS,
            confidence=MEDIUM,
            where=_lines(analysis) or where(analysis, "transfer"),
            evidence={"pageable_bytes": size, "bytes_per_copy": size / number},
            fix="Allocate what is copied in pinned memory once and copy with `non_blocking=True`: "
            "the copy is faster and overlaps with kernels. A `DataLoader` has `pin_memory=True`.",
            before="batch = torch.as_tensor(array).to(device)",
            after="staging = torch.empty(shape, pin_memory=True)          # once\n"
            "staging.copy_(torch.as_tensor(array))\n"
            "batch = staging.to(device, non_blocking=True)",
        )
    ]


RULES: tuple[Rule, ...] = (waits_and_copies, pageable_copies)
