"""The dashboard of a run in progress, as lines; and one line for where none can be drawn."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.analyze.now import Now, PhaseNow
from hotloop.diagnose.finding import Finding
from hotloop.report import units
from hotloop.report.terminal import Style, clean, fit

_BLOCKS = "▁▂▃▄▅▆▇█"
#: Colours that a terminal has, nearest to those of the page.
_COLOURS = {
    "Environment": "green",
    "Rendering": "green",
    "Policy": "cyan",
    "Transfer": "yellow",
    "Buffer": "yellow",
    "Waiting": "dim",
}


def dashboard(
    now: Now, analysis: Analysis, findings: list[Finding], style: Style, height: int
) -> list[str]:
    """At most `height` lines, each no wider than the style's width."""
    head = [_title(now, analysis, style), *_state(now, analysis, style)]
    finding = _finding(findings, style) if height >= 7 else []
    room = height - len(head) - len(finding)
    curve = _curve(now, style) if room >= 12 else []
    room -= len(curve) + 1
    rows = [_phase(phase, style) for phase in now.phases if max(phase.share, phase.recent) > 0.0005]
    lines = [*head, *curve, _heading(now, style), *rows[: max(room, 0)], *finding]
    return lines[:height]


def status_line(now: Now, analysis: Analysis) -> str:
    """All in one line, for a pipe or a terminal that cannot be drawn on."""
    parts = [units.seconds(now.elapsed_s)]
    if analysis.run.env_steps:
        parts.append(f"{units.rate(now.steps_per_s)} steps/s")
        parts.append(f"{units.count(analysis.run.env_steps)} steps")
    elif not now.in_loop:
        parts.append("starting up")
    recent = sorted(now.phases, key=lambda phase: -phase.recent)[:3]
    parts += [f"{clean(p.name)} {p.recent:.0%}" for p in recent if p.recent >= 0.005]
    if now.memory_mb:
        parts.append(units.megabytes(now.memory_mb))
    if now.ended:
        parts.append("ended")
    return "hotloop: " + " · ".join(parts)


def _title(now: Now, analysis: Analysis, style: Style) -> str:
    state = "ended" if now.ended else "running" if now.in_loop else "starting up"
    right = f"{state} {units.seconds(now.elapsed_s)}"
    room = style.width - len("hotloop  ") - len(right) - 2
    command = fit(clean(" ".join(analysis.run.command)), room)
    return f"{style.paint('hotloop', 'bold', 'cyan')}  {command}  {style.paint(right, 'bold')}"


def _state(now: Now, analysis: Analysis, style: Style) -> list[str]:
    run = analysis.run
    parts: list[str] = []
    if run.env_steps:
        parts.append(f"{units.rate(now.steps_per_s)} steps/s ({units.rate(now.mean_steps_per_s)})")
        parts.append(f"{units.count(run.env_steps)} steps")
    if now.updates_per_s:
        parts.append(f"{units.rate(now.updates_per_s)} updates/s")
    if now.memory_mb:
        parts.append(units.megabytes(now.memory_mb))
    if now.cores:
        parts.append(f"{now.cores:.1f} cores")
    if now.gpu_busy is not None:
        parts.append(f"GPU {units.percent(now.gpu_busy)}")
    if now.gpu_memory_mb is not None:
        parts.append(f"GPU {units.megabytes(now.gpu_memory_mb)}")
    if run.processes > 1:
        parts.append(f"{run.processes} processes")
    return _joined(parts, style.width)


def _joined(parts: list[str], width: int) -> list[str]:
    """Parts in as many lines as they need: a number is neither cut nor left out."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if len(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def _curve(now: Now, style: Style) -> list[str]:
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


def _heading(now: Now, style: Style) -> str:
    name, bar = _columns(style)
    last = f"last {now.recent_s:.0f} s"
    text = f"{'':<{name}} {'':<{bar}} {last:>9} {'loop':>8} {'per step':>10}"
    return style.paint(text, "dim")


def _phase(phase: PhaseNow, style: Style) -> str:
    name, bar = _columns(style)
    drawn = style.bar(phase.recent, bar)
    colour = _COLOURS.get(phase.category)
    step = units.seconds(phase.step_s) if phase.step_s is not None else ""
    figures = f"{units.percent(phase.recent):>9} {units.percent(phase.share):>8} {step:>10}"
    painted = style.paint(drawn, colour) if colour else drawn
    return f"{fit(clean(phase.name), name)} {painted} {figures}"


def _finding(findings: list[Finding], style: Style) -> list[str]:
    """The finding so far, on one line."""
    if not findings:
        return [style.paint("no finding so far", "dim")]
    first = findings[0]
    gain = f"  {first.gain.low:.2g} to {first.gain.high:.2g}x"
    if first.severity == "healthy" or first.gain.high <= 1.005:
        gain = ""
    title = fit(clean(first.title), style.width - len(gain)).rstrip()
    return [style.paint(title, "bold") + style.paint(gain, "yellow")]
