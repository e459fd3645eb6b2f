"""What `compare`, `sweep` and `investigate` share on the command line."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from hotloop.cli import experiments
from hotloop.errors import HotloopError


def test_the_ending_of_a_file_selects_its_format() -> None:
    formats = {**experiments.FORMATS, "plan": (".toml",)}
    assert experiments.format_of(Path("a.HTML"), formats) == "html"
    for name in ("a.toml", "a.docx"):  # a plan is drafted, never a result
        with pytest.raises(HotloopError, match="unknown file ending"):
            experiments.format_of(Path(name), formats)


@pytest.mark.parametrize("names", ["off", "off,off", "off,", "a,b,c"])
def test_two_different_names_are_needed(names: str) -> None:
    assert experiments.names_of(Namespace(names="off, on")) == ("off", "on")
    assert experiments.names_of(Namespace(names=None)) is None
    with pytest.raises(HotloopError, match="two different names"):
        experiments.names_of(Namespace(names=names))


def test_a_result_that_cannot_be_written_fails_before_the_runs(tmp_path: Path) -> None:
    kept = tmp_path / "kept.html"
    kept.write_text("mine")
    options = Namespace(format="text", output=str(kept), force=False, formats=experiments.FORMATS)
    with pytest.raises(HotloopError, match="already exists"):
        experiments.check_output(options)
    options.output = str(tmp_path / "gone" / "new.html")
    with pytest.raises(HotloopError, match="no such folder"):
        experiments.check_output(options)
    options.output, options.force = str(kept), True
    experiments.check_output(options)


def test_how_long_runs_are() -> None:
    both = Namespace(steps=5000, stop_after="60s")
    with pytest.raises(HotloopError, match="cannot be combined"):
        experiments.stop_after(both)
    assert experiments.stop_after(Namespace(steps=5000, stop_after=None)) == "5000steps"
    assert experiments.timeout(Namespace(timeout="2m")) == 120.0
    assert experiments.timeout(Namespace(timeout=None)) is None
    with pytest.raises(HotloopError, match="--timeout 50steps: a time"):
        experiments.timeout(Namespace(timeout="50steps"))


def test_cores_can_only_be_asked_of_a_cluster() -> None:
    with pytest.raises(HotloopError, match="--cpus needs --on ray"):
        experiments.place(Namespace(on="here", cpus=2, gpus=None))


def test_captures_of_two_programs_go_by_their_names() -> None:
    fast, slow = Path("fast-20261119-040000"), Path("slow-20261119-041500-2")
    assert experiments._names_of_captures(fast, slow) == ("fast", "slow")
    again = Path("fast-20261119-041500")
    assert experiments._names_of_captures(fast, again) == (fast.name, again.name)
