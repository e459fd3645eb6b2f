"""Every command and every program in the documentation is run, page by page, as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_blocks import SHELLS, Block, blocks_of, outside_blocks

ROOT = Path(__file__).resolve().parents[2]
#: Tests of their own run what is on these: tests/integrations has notebooks and shells.
TESTED_THERE = ("integrations.md",)
ALL_PAGES = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [page for page in ALL_PAGES if page.name not in TESTED_THERE]
#: Blocks that cannot be run here (installing, a cluster, a server that never ends).
MOST_NOT_RUN = 12

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are written for a Unix shell")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader stands: a training program of their own, and hotloop installed."""
    shutil.copytree(Path(__file__).parent / "folder", tmp_path / "work")
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, words in (("hotloop", "-m hotloop"), ("python", "")):
        script = bin / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return tmp_path / "work"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": _source(), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def _source() -> str:
    return os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])


def commands_of(block: Block) -> list[str]:
    shorter = block.marks.get("run as")
    if shorter is None:
        return block.commands
    for one, other in zip(block.commands, shorter, strict=False):
        assert one.split()[:2] == other.split()[:2], (
            f"line {block.line}: {other} is another command"
        )
    return shorter


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_works(page: Path, folder: Path) -> None:
    for block in blocks_of(page):
        if "not run" in block.marks or "runs" in block.marks:
            continue
        if "file" in block.marks:
            (folder / block.marks["file"][0]).write_text(block.text)
            continue
        if block.language == "python":
            (folder / "block.py").write_text(block.text)
            commands = ["python block.py"]
        elif block.language in SHELLS:
            commands = commands_of(block)
        else:
            continue
        for command in commands:
            done = run(command, folder)
            said = f"{page.name}:{block.line}: {command}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == 0, said
            assert "Traceback" not in done.stderr, said


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    left_out = [
        b.marks["not run"] for page in PAGES for b in blocks_of(page) if "not run" in b.marks
    ]
    assert all(why and len(why[0]) > 5 for why in left_out)
    assert len(left_out) <= MOST_NOT_RUN


def test_what_other_tests_run_is_run_there() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "integrations").glob("*.py"))
    names = [name for page in PAGES for b in blocks_of(page) for name in b.marks.get("runs", [])]
    assert [name for name in names if not re.search(rf"\b{name}\b", tests)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_hides_from_the_test(page: Path) -> None:
    """A command that is only indented would never be run."""
    hidden = [
        line
        for line in outside_blocks(page)
        if re.match(r"\s{4,}(\$ |hotloop |pip |python )", line)
    ]
    assert hidden == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_are_there(page: Path) -> None:
    text = "\n".join(outside_blocks(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, part = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), f"{page.name}: {target}"
        if part:
            assert part in headings(path), f"{page.name}: {target}"
        if path.suffix == ".png":
            assert path.stat().st_size < 200_000, target


def headings(page: Path) -> set[str]:
    """The anchors that a page has, as sites make them."""
    titles = [line.lstrip("#").strip() for line in outside_blocks(page) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_the_index() -> None:
    listed = "".join((ROOT / "docs" / name).read_text() for name in ("README.md", "workloads.md"))
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in ALL_PAGES]
    assert [page for page in pages if page != "README.md" and f"({page})" not in listed] == []


def test_the_plans_that_are_shown_can_be_read(folder: Path) -> None:
    from hotloop.experiment.plan import read_plan

    pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")
    shown = [b for page in PAGES for b in blocks_of(page) if b.text.startswith("[baseline]")]
    assert shown
    for block in shown:
        (folder / "shown.toml").write_text(block.text)
        assert read_plan(folder / "shown.toml").hypotheses
