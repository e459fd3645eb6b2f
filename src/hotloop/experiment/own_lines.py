"""Adds to findings patches of the user's own lines, and the lines that create what is fixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hotloop.analyze.model import Analysis
from hotloop.capture.proofs import CONFIRMED
from hotloop.diagnose.finding import Finding
from hotloop.sources import is_unchanged


def with_patches(findings: list[Finding], analysis: Analysis) -> list[Finding]:
    """The findings, each with a patch where one can be written and the source is as it was."""
    patched = [
        replace(each, patch=_confirmed_patch(each) or _patch_of(each, analysis))
        for each in findings
    ]
    return [_with_lines_to_edit(each, analysis) for each in patched]


def _confirmed_patch(finding: Finding) -> str:
    """The change that `hotloop prove` tried and measured; it is shown rather than a new one."""
    tried = finding.proof
    return tried.diff if tried is not None and tried.verdict == CONFIRMED else ""


def _with_lines_to_edit(finding: Finding, analysis: Analysis) -> Finding:
    # Parsing needs `ast`, as below.
    from hotloop.experiment.made_at import MADE_BY, with_lines_to_edit

    if finding.id not in MADE_BY:
        return finding
    files = {
        frame.file for sample in analysis.samples for frame in sample.frames if frame.of_program
    }
    unchanged = [file for file in sorted(files) if is_unchanged(file, analysis.run.header.started)]
    return with_lines_to_edit(finding, unchanged)


def _patch_of(finding: Finding, analysis: Analysis) -> str:
    # Parsing needs `ast`; a run without a finding to patch does without.
    from hotloop.experiment.fixes import IF_UNCHANGED
    from hotloop.experiment.patches import SHAPES, source_fixes

    started = analysis.run.header.started
    unchanged = [line for line in finding.where if is_unchanged(line.file, started)]
    if finding.id not in SHAPES or not unchanged:
        return ""
    folder = Path(unchanged[0].file).parent
    fixes = source_fixes(replace(finding, where=unchanged), folder)
    # A change that is only right for some programs is for `prove`, which compares the weights.
    return next((fix.diff for fix in fixes if fix.learning != IF_UNCHANGED), "")
