"""The accelerator in the text report: its work, idle time, transfers and memory."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.bounds import TITLES
from hotloop.analyze.device_use import FEW_CALLS, DeviceUse
from hotloop.analyze.kind import span_of
from hotloop.analyze.model import Analysis
from hotloop.analyze.samples.functions import short_file
from hotloop.phases import NO_PHASE_LABEL, name_at
from hotloop.report.console.terminal import Style, clean, fit, wrapped
from hotloop.report.document import transfer_lines

#: From this share of the loop on, the block begins with the wait for kernels.
_GPU_BOUND = 0.5
#: A share of the loop below this is left out of a sentence.
_SMALLEST = 0.005
_MOST_LINES = 5


def limits_in_words(analysis: Analysis, process: str) -> list[str]:
    """How a process spent its time, largest share first; shares add up."""
    is_main = process in ("all", "main")
    bound = analysis.bound if is_main else analysis.process_bounds.get(process)
    if bound is None:
        return []
    shares = sorted(vars(bound).items(), key=lambda item: -item[1])
    return [f"{TITLES[name]} {share:.0%}" for name, share in shares if share >= _SMALLEST]


def bound_line(analysis: Analysis, process: str = "main") -> str:
    """The same as a sentence; empty if it is not known."""
    is_main = process in ("all", "main")
    parts, bound = limits_in_words(analysis, process), analysis.bound
    if not parts:
        return ""
    what = f"the {span_of(analysis)} (host time)" if is_main else clean(process)
    sentence = f"What limits {what}: " + ", ".join(parts) + "."
    if is_main and bound is not None and bound.kernels >= _GPU_BOUND:
        sentence = f"GPU-bound: {_waits_for(analysis)} {sentence}"
    return sentence


def _waits_for(analysis: Analysis) -> str:
    """The phases whose kernels the host waits for."""
    assert analysis.bound is not None
    phases = analysis.device.phases if analysis.device is not None else []
    awaited = sorted(phases, key=lambda each: -each.awaited_s)
    names = [name_at(each.path) for each in awaited[:3] if each.path and each.awaited_s > 0]
    whose = f", most of them launched by {', '.join(names)}" if names else ""
    return f"{analysis.bound.kernels:.0%} of the loop waits for kernels{whose}."


def device_text(analysis: Analysis, style: Style) -> str:
    """The block on the device; empty for a run without one."""
    use = analysis.device
    if use is None:
        return ""
    lines = [style.paint(f"Device: {clean(use.card or use.kind)}", "bold")]
    sentences = [_kernels(use), _idle(use), _card(use), _memory(use), *use.remarks]
    lines += [wrapped(sentence, style, indent=2) for sentence in sentences if sentence]
    if use.phases:
        lines += _table(use, style)
    lines += _moves(analysis, style)
    return "\n".join(lines)


def _kernels(use: DeviceUse) -> str:
    if use.kernel_s is None or use.kernel_share is None:
        return ""
    return (
        f"Kernels (device time) took {units.seconds(use.kernel_s)}, "
        f"{units.percent(use.kernel_share)} of the loop, from {units.count(use.launches or 0)} "
        f"launches; the host waited {units.count(use.syncs or 0)} times. From {use.stretches} "
        f"recordings, {units.seconds(use.recorded_s)} in all."
    )


def _idle(use: DeviceUse) -> str:
    if use.idle is None:
        return ""
    idle = use.idle
    causes = [
        ("the host had launched nothing", idle.host_late),
        ("work was in the queue", idle.queue),
        ("the device was copying", idle.copying),
    ]
    named = [f"{units.percent(share)} {what}" for what, share in causes if share >= _SMALLEST]
    return "No kernel ran: " + ", ".join(named) + "." if named else ""


def _card(use: DeviceUse) -> str:
    known = use.figures
    parts = []
    if known.busy is not None:
        parts.append(f"some kernel was running {units.percent(known.busy)} of the time")
    if known.power_w is not None:
        parts.append(f"{known.power_w:.0f} W")
    if known.clock_mhz is not None:
        parts.append(f"{known.clock_mhz:.0f} MHz")
    if known.memory_mb is not None:
        parts.append(f"{units.megabytes(known.memory_mb)} in use on the card")
    return "Driver: " + ", ".join(parts) + "." if parts else ""


def _memory(use: DeviceUse) -> str:
    if use.allocated_mb is None:
        return ""
    text = f"Device memory: {units.megabytes(use.allocated_mb)} allocated at most"
    if use.reserved_mb is not None:
        text += f", {units.megabytes(use.reserved_mb)} reserved"
    growth = use.growth_mb_per_minute
    # Less than a megabyte per minute is normal variation of an allocator.
    if growth is not None and growth >= 1:
        text += f"; it grows by {growth:.0f} MB per minute"
    return text + " (read 10 times per second)."


def _table(use: DeviceUse, style: Style) -> list[str]:
    head = f"  {'phase':<28}{'host time':>11}{'device time':>12}{'launches':>11}"
    head += f"{'to device':>11}{'to host':>11}"
    lines = [style.paint(head, "dim")]
    for each in [p for p in use.phases if p.host_s or p.kernel_s][:8]:
        mark = "~" if each.recorded_calls < FEW_CALLS and each.kernel_s else ""
        line = f"  {fit(clean(each.path or NO_PHASE_LABEL), 28)}"
        line += f"{units.seconds(each.host_s):>11}{mark + units.seconds(each.kernel_s):>12}"
        line += f"{units.count(round(each.launches)):>11}"
        line += f"{units.size(each.to_device_bytes):>11}"
        line += f"{units.size(each.to_host_bytes):>11}"
        lines.append(line.rstrip())
    return lines


def _moves(analysis: Analysis, style: Style) -> list[str]:
    rows = transfer_lines(analysis)[:_MOST_LINES]
    if not rows:
        return []
    lines = [style.paint("  transfers  waits       bytes  where (counted, all of them)", "dim")]
    for row in rows:
        place = f"{short_file(str(row['file']))}:{row['line']} {row['what']}"
        cells = f"  {units.count(row['transfers']):>9}{units.count(row['syncs']):>7}"
        cells += f"{units.size(row['bytes']):>12}  "
        lines.append((cells + fit(clean(place), style.width - len(cells))).rstrip())
    return lines
