"""The dashboard of a run in progress, as lines; and one line for where none can be drawn."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.live_state import LivePhase, LiveState
from hotloop.diagnose.busy_machine import BUSY_MACHINE
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.verdict import too_short
from hotloop.report.console.terminal import Style, clean, fit, fit_phase
from hotloop.report.words.gains import promised

_BLOCKS = "▁▂▃▄▅▆▇█"
#: Colors that a terminal has, nearest to those of the page.
_COLORS = {
    "Environment": "green",
    "Rendering": "green",
    "Policy": "cyan",
    "Transfer": "yellow",
    "Buffer": "yellow",
    "Waiting": "dim",
}


def dashboard(
    now: LiveState, analysis: Analysis, findings: list[Finding], style: Style, height: int
) -> list[str]:
    """At most `height` lines, each no wider than the style's width."""
    head = [_title(now, analysis, style), *_state(now, analysis, style)]
    finding = _finding(analysis, findings, style) if height >= 7 else []
    room = height - len(head) - len(finding)
    curve = _curve(now, style) if room >= 12 else []
    room -= len(curve) + 1
    rows = [_phase(phase, style) for phase in now.phases if max(phase.share, phase.recent) > 0.0005]
    lines = [*head, *curve, _heading(now, style), *rows[: max(room, 0)], *finding]
    return lines[:height]


def status_line(now: LiveState, analysis: Analysis) -> str:
    """All in one line, for a pipe or a terminal that cannot be drawn on."""
    parts = [units.seconds(now.elapsed_s), *_starved(analysis)]
    if analysis.run.env_steps:
        parts.append(f"{units.rate(now.steps_per_s)} steps/s")
        parts += _returned(now)
        parts.append(f"{units.count(analysis.run.env_steps)} steps")
    elif not now.in_loop:
        parts.append("starting up")
    recent = sorted(now.phases, key=lambda phase: -phase.recent)[:3]
    parts += [f"{clean(p.name)} {p.recent:.0%}" for p in recent if p.recent >= 0.005]
    if now.memory_mb:
        parts.append(units.megabytes(now.memory_mb))
    if now.state in ("ended", "killed"):
        parts.append(now.state)
    return "hotloop: " + " · ".join(parts)


def _returned(now: LiveState) -> list[str]:
    """The mean return of the last 100 episodes."""
    return [] if now.recent_return is None else [f"return {units.value(now.recent_return)}"]


def _starved(analysis: Analysis) -> list[str]:
    """A warning about waiting for a CPU core, shown first because it affects all figures."""
    if analysis.bound is None or analysis.bound.cores <= BUSY_MACHINE:
        return []
    return [f"waits for a CPU core {analysis.bound.cores:.0%} of the time"]


def _title(now: LiveState, analysis: Analysis, style: Style) -> str:
    right = f"{now.state} {units.seconds(now.elapsed_s)}"
    room = style.width - len("hotloop  ") - len(right) - 2
    command = fit(clean(" ".join(analysis.run.command)), room)
    return f"{style.paint('hotloop', 'bold', 'cyan')}  {command}  {style.paint(right, 'bold')}"


def _state(now: LiveState, analysis: Analysis, style: Style) -> list[str]:
    run = analysis.run
    parts = _starved(analysis)
    if run.env_steps:
        mean = units.rate(now.mean_steps_per_s)
        parts.append(f"{units.rate(now.steps_per_s)} steps/s now, {mean} on average")
        parts += _returned(now)
        parts.append(f"{units.count(run.env_steps)} steps")
    if now.updates_per_s:
        parts.append(f"{units.rate(now.updates_per_s)} updates/s")
    if now.memory_mb:
        parts.append(f"memory {units.megabytes(now.memory_mb)}")
    if now.cores:
        parts.append(f"{now.cores:.1f} cores busy")
    if now.gpu_busy is not None:
        parts.append(f"GPU busy {units.percent(now.gpu_busy)}")
    if now.gpu_memory_mb is not None:
        parts.append(f"GPU memory {units.megabytes(now.gpu_memory_mb)}")
    if run.processes > 1:
        parts.append(f"{run.processes} processes")
    return _joined(parts, style.width)


def _joined(parts: list[str], width: int) -> list[str]:
    """Parts on as many lines as they need, so that no number is cut or left out."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if len(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def _curve(now: LiveState, style: Style) -> list[str]:
    if not style.unicode or len(now.curve) < 2 or not max(now.curve) > 0:
        return []
    most = max(now.curve)
    blocks = "".join(_BLOCKS[min(int(value / most * 8), 7)] for value in now.curve)
    label = f"steps/s, at most {units.rate(most)}  "
    return ["", style.paint(label, "dim") + style.paint(blocks, "cyan"), ""]


def _columns(style: Style) -> tuple[int, int]:
    """Widths of a phase's name and of its bar."""
    bar = max(min(style.width - 56, 30), 10)
    return style.width - bar - 32, bar


def _heading(now: LiveState, style: Style) -> str:
    name, bar = _columns(style)
    last = f"last {now.recent_s:.0f} s"
    text = f"{'':<{name}} {'':<{bar}} {last:>9} {'so far':>8} {'per step':>10}"
    return style.paint(text, "dim")


def _phase(phase: LivePhase, style: Style) -> str:
    name, bar = _columns(style)
    drawn = style.bar(phase.recent, bar)
    color = _COLORS.get(phase.category)
    step = units.seconds(phase.step_s) if phase.step_s is not None else ""
    figures = f"{units.percent(phase.recent):>9} {units.percent(phase.share):>8} {step:>10}"
    painted = style.paint(drawn, color) if color else drawn
    return f"{fit_phase(clean(phase.name), name)} {painted} {figures}"


def _finding(analysis: Analysis, findings: list[Finding], style: Style) -> list[str]:
    """The first finding so far on one line, with the caution that the final report has."""
    short = too_short(analysis)
    if short:
        return [style.paint(f"too early to judge: {clean(short)}", "dim")]
    if not findings:
        return [style.paint("no known cause matched so far", "dim")]
    first = findings[0]
    promise = promised(first)
    gain = f"  {promise} ({first.confidence} confidence)" if promise else ""
    # If the title does not fit, the id says more than a truncated title.
    room = style.width - len(gain)
    title = f"so far: {clean(first.title)}"
    title = title if len(title) <= room else fit(f"so far: {first.id}", room).rstrip()
    return [style.paint(title, "bold") + style.paint(gain, "yellow")]
