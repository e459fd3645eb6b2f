"""Findings whose change is written into the user's own lines."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from analyses import Make, frame, sample
from findings_made import found

from hotloop.capture.proofs import CONFIRMED, REFUTED, TriedFix
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding
from hotloop.experiment.own_lines import with_patches

STARTED = 1_700_000_000
SOURCE = "import torch\n\nrows = [1, 2]\nx = torch.tensor(rows)  # the batch\n"


def finding(id: str, file: Path, line: int = 4) -> Finding:
    return found(id, where=[SourceLine(str(file), line, "<module>")])


def test_the_change_is_in_the_users_own_line(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SOURCE)
    analysis = make(header={"started": STARTED})
    os.utime(script, (STARTED - 9, STARTED - 9))
    given = [finding("list-to-tensor", script), finding("env-bound", script)]
    listed, bound = with_patches(given, analysis)
    assert "-x = torch.tensor(rows)  # the batch" in listed.patch
    assert "+x = torch.tensor(np.asarray(rows))  # the batch" in listed.patch
    assert bound.patch == "", "no shape of a patch is known"
    assert script.read_text() == SOURCE


def test_a_confirmed_change_is_shown_as_it_was_tried(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SOURCE)
    analysis = make(header={"started": STARTED})
    given = finding("deepcopy-in-step", script)
    given.proof = TriedFix(
        given.id, "shallow copy", CONFIRMED, diff="--- a\n+++ b\n@@\n-old\n+new\n"
    )
    assert with_patches([given], analysis)[0].patch == given.proof.diff
    given.proof = replace(given.proof, verdict=REFUTED)
    assert with_patches([given], analysis)[0].patch == ""


def test_a_file_that_changed_since_or_is_gone_gets_no_patch(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SOURCE)
    os.utime(script, (STARTED + 9, STARTED + 9))
    analysis = make(header={"started": STARTED})
    for file in (script, tmp_path / "gone.py"):
        (patched,) = with_patches([finding("list-to-tensor", file)], analysis)
        assert patched.patch == ""


def test_a_change_that_may_break_the_program_is_not_recommended(make: Make, tmp_path: Path) -> None:
    """A shallow copy of a game shares its board, and a search plays on it."""
    script = tmp_path / "search.py"
    script.write_text("import copy\n\ngame = {}\nother = copy.deepcopy(game)\n")
    os.utime(script, (STARTED - 9, STARTED - 9))
    (patched,) = with_patches(
        [finding("deepcopy-in-step", script)], make(header={"started": STARTED})
    )
    assert patched.patch == ""


def test_the_line_that_makes_what_a_fix_changes_comes_first(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\n\ntorch.set_num_threads(8)\n\n\ndef main():\n    net(x)\n")
    os.utime(script, (STARTED - 9, STARTED - 9))
    samples = [sample("learn", 5.0, frame("main", str(script), 7))]
    analysis = make(header={"started": STARTED}, samples=samples)
    used = finding("thread-oversubscription", script, 7)
    (patched,) = with_patches([used], analysis)
    assert [line.line for line in patched.where] == [3, 7]
    os.utime(script, (STARTED + 9, STARTED + 9))
    assert with_patches([used], analysis)[0].where == used.where
