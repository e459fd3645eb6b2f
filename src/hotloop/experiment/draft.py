"""Drafts an investigation's plan from a capture: its findings first, then its largest phases.

A finding becomes a change to try: a fix that hotloop makes at run time, or the command that checks
the finding. If it needs an edit, the plan leaves room for the user's patch. A large phase becomes a
`skip`: the gain without it is the most that any work on it can gain, and never a fix.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.experiment.command import check_exists, parse_command
from hotloop.experiment.fixes import run_time_fixes
from hotloop.phases import PARENTS

#: A phase with less of the loop than this is not worth an experiment.
SMALLEST_SHARE = 0.1
#: Nor is a finding with a smaller predicted gain.
SMALLEST_GAIN = 1.02
#: Phases to skip at most: the record should stay readable.
MOST_PHASES = 4
#: Each run of the drafted plan should take about this long.
RUN_SECONDS = 15.0
#: Phases without work of their own, or that a program cannot run without.
NOT_SKIPPED = ("wait", "import", "startup", "compile")


def draft_plan(analysis: Analysis, findings: Sequence[Finding]) -> str:
    """A plan as TOML, ready to run."""
    lines = [
        "# Drafted by `hotloop investigate --from`. Change whatever you know better, then run:",
        "#   hotloop investigate plan.toml",
        "",
        "[baseline]",
        f"command = {_quoted(shlex.join(analysis.run.command))}",
        *_amount(analysis),
        "",
        "[goal]",
        'minimum = "1.5x"',
    ]
    for finding in findings:
        if finding.severity != "healthy" and finding.gain.high >= SMALLEST_GAIN:
            lines += ["", *_from_finding(analysis, finding)]
    phases = largest_phases(analysis)
    if phases:
        lines += ["", "# Measures how much each large phase matters; these change the training."]
    for phase in phases:
        lines += ["", *_from_phase(phase)]
    return "\n".join(lines) + "\n"


def _amount(analysis: Analysis) -> list[str]:
    run = analysis.run
    if not run.env_steps:
        return [f'stop_after = "{RUN_SECONDS:g}s"']
    enough = max(int(run.steps_per_s * RUN_SECONDS), 1)
    return [f"steps = {min(run.env_steps, enough)}"]


def _from_finding(analysis: Analysis, finding: Finding) -> list[str]:
    lines = [
        "[[hypothesis]]",
        f"name = {_quoted(finding.id)}",
        f"claim = {_quoted(finding.title)}",
        f'expected = "{finding.gain.low:.3g}x to {max(finding.gain.high, finding.gain.low):.3g}x"',
        f"confidence = {_quoted(finding.confidence)}",
    ]
    lines += [f"# {line}" for line in finding.fix.splitlines()]
    fix = _run_time_fix(analysis, finding)
    if fix is not None:
        return [*lines, *fix]
    changed = _verified_command(finding)
    if changed is not None and _exists(changed):
        return [*lines, f"command = {_quoted(changed)}"]
    # Without a command that can be run, the finding waits for the user's own change.
    lines.append(
        '# Write the change here: arguments = "...", patch = "fix.patch", environment = {}'
    )
    lines += [f"command = {_quoted(changed)}"] if changed is not None else []
    return [f"# {line}" if not line.startswith("#") else line for line in lines]


def _run_time_fix(analysis: Analysis, finding: Finding) -> list[str] | None:
    """The change as a fix that needs no edit of the program, if there is one."""
    for fix in run_time_fixes(analysis, finding):
        if fix.diff or fix.every or not (fix.fixes or fix.environment):
            continue
        lines = [f"# Tried at run time as: {fix.how}"]
        if fix.fixes:
            lines.append("fix = [" + ", ".join(map(_quoted, fix.fixes)) + "]")
        if fix.environment:
            pairs = ", ".join(f"{name} = {_quoted(v)}" for name, v in fix.environment.items())
            lines.append(f"environment = {{ {pairs} }}")
        return lines
    return None


def _verified_command(finding: Finding) -> str | None:
    """The changed command of `hotloop compare "before" "after"`, if it can be run unchanged."""
    try:
        words = shlex.split(finding.verify)
    except ValueError:
        return None
    if words[:2] != ["hotloop", "compare"]:
        return None
    commands = [word for word in words[2:] if not word.startswith("--")]
    if len(commands) < 2 or any(mark in commands[1] for mark in ("<", "…", "...")):
        return None
    return commands[1]


def _exists(command: str) -> bool:
    """Whether the changed program is there, or is still to be written."""
    try:
        check_exists(parse_command(command))
    except HotloopError:
        return False
    return True


def largest_phases(analysis: Analysis) -> list[Phase]:
    """Phases that are worth skipping once, the largest first."""
    by_name: dict[str, Phase] = {}
    for phase in analysis.training_phases:
        if phase.how == "named" and phase.name not in NOT_SKIPPED:
            known = by_name.get(phase.name)
            if known is None or phase.share > known.share:
                by_name[phase.name] = phase
    ordered = sorted(by_name.values(), key=lambda phase: -phase.share)
    large = [p for p in ordered if SMALLEST_SHARE <= p.share < 0.98 and p.name not in PARENTS[:1]]
    return large[:MOST_PHASES]


def _from_phase(phase: Phase) -> list[str]:
    most = 1.0 / (1.0 - phase.share)
    least = 1.0 / (1.0 - 0.7 * phase.share)
    return [
        "[[hypothesis]]",
        f"name = {_quoted('without ' + phase.name)}",
        f"claim = {_quoted(f'{phase.name} is {phase.share:.0%} of the loop')}",
        f"skip = {_quoted(phase.name)}",
        f'expected = "{least:.2f}x to {most * 1.1:.2f}x"',
        'confidence = "medium"',
    ]


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04X}" for c in escaped) + '"'
