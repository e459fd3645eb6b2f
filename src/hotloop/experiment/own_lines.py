"""Findings with the change written into the user's own lines, where its shape is mechanical, and
with the lines that make what a fix changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding


def with_patches(findings: list[Finding], analysis: Analysis) -> list[Finding]:
    """The findings, each with a patch where one can be written and the source is as it was."""
    patched = [replace(each, patch=_patch_of(each, analysis)) for each in findings]
    return [_with_lines_to_edit(each, analysis) for each in patched]


def _with_lines_to_edit(finding: Finding, analysis: Analysis) -> Finding:
    # Parsing needs `ast`, as below.
    from hotloop.experiment.made_at import MADE_BY, with_lines_to_edit

    if finding.id not in MADE_BY:
        return finding
    frames = {frame for sample in analysis.samples for frame in sample.frames if frame.of_program}
    lines = {frame.file: SourceLine(frame.file, frame.line, frame.function) for frame in frames}
    files = [file for file, line in sorted(lines.items()) if _is_unchanged(line, analysis)]
    return with_lines_to_edit(finding, files)


def _patch_of(finding: Finding, analysis: Analysis) -> str:
    # Parsing needs `ast`; a run without a finding to patch does without.
    from hotloop.experiment.fixes import IF_UNCHANGED
    from hotloop.experiment.patches import SHAPES, source_fixes

    unchanged = [line for line in finding.where if _is_unchanged(line, analysis)]
    if finding.id not in SHAPES or not unchanged:
        return ""
    folder = Path(unchanged[0].file).parent
    fixes = source_fixes(replace(finding, where=unchanged), folder)
    # A change that is only right for some programs is for `prove`, which compares the weights.
    return next((fix.diff for fix in fixes if fix.learning != IF_UNCHANGED), "")


def _is_unchanged(line: SourceLine, analysis: Analysis) -> bool:
    """Whether a file has not been written since the run began: its lines are those recorded."""
    started = analysis.run.header.started
    try:
        return started is not None and Path(line.file).stat().st_mtime <= started
    except OSError:
        return False
