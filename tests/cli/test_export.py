"""`hotloop export` and `report -o`: formats by ending, nothing overwritten, clear mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

from hotloop.errors import HotloopError
from hotloop.report.formats import FORMATS, format_of

PROGRAM = """
import time
from hotloop import count, profile
for _ in range(30):
    with profile("env.step"):
        time.sleep(0.002)
        count("env_steps")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "hotloop", "run", "-q", "--trace", "-o", "cap", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "cap"


def test_an_unknown_ending_lists_the_known(hotloop: Hotloop, recorded: Path) -> None:
    for command in ("export", "report"):
        done = hotloop(command, str(recorded), "-o", "report.doc")
        assert done.returncode == 2
        assert done.stderr.startswith("hotloop: report.doc: unknown file ending; use one of ")
        assert done.stderr.count("\n") == 1
        assert all(ending in done.stderr for f in FORMATS.values() for ending in f.endings)
    with pytest.raises(HotloopError):
        format_of(Path("detailed.jsonx"))


@pytest.mark.parametrize("ending", [ending for each in FORMATS.values() for ending in each.endings])
def test_every_format_is_written_and_never_over_another(
    hotloop: Hotloop, recorded: Path, tmp_path: Path, ending: str
) -> None:
    if ending in (".png", ".svg"):
        pytest.importorskip("matplotlib")
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    name = ending if ending.startswith("detailed") else "run" + ending
    done = hotloop("report", str(recorded), "-o", name)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"hotloop: wrote {name}\n"
    content = (tmp_path / name).read_bytes()
    assert content
    done = hotloop("report", str(recorded), "-o", name)
    check_refused(done, "already exists; use -f to overwrite")
    assert (tmp_path / name).read_bytes() == content
    assert hotloop("report", str(recorded), "-f", "-o", name).returncode == 0


def test_printing(hotloop: Hotloop, recorded: Path) -> None:
    done = hotloop("export", str(recorded), "--format", "speedscope")
    assert json.loads(done.stdout)["profiles"]
    done = hotloop("export", str(recorded), "--format", "collapsed")
    assert "[env.step]" in done.stdout
    done = hotloop("report", str(recorded), "--format", "markdown")
    assert done.stdout.startswith("# ")


def test_bytes_go_to_a_pipe(recorded: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "hotloop", "export", str(recorded), "--format", "parquet"]
    done = subprocess.run(command, capture_output=True)
    assert done.stdout.startswith(b"PAR1")


def test_mistakes_are_one_line(hotloop: Hotloop, recorded: Path, tmp_path: Path) -> None:
    for options in ([], ["-o", "a.csv", "--format", "csv"]):
        done = hotloop("export", str(recorded), *options)
        check_refused(done, "choose an output")
    done = hotloop("export", "nothing", "-o", "a.csv")
    assert (done.returncode, done.stderr) == (
        2,
        "hotloop: nothing: no such capture; `hotloop list` shows them\n",
    )
    done = hotloop("export", str(recorded), "-o", "no/such/folder.csv")
    check_refused(done, "cannot be written")
    assert done.stderr.count("\n") == 1


def test_a_trace_needs_single_calls(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    hotloop("run", "-q", "-o", "cap", "train.py")
    done = hotloop("export", "cap", "-o", "run.perfetto.json")
    check_refused(done, "hotloop run --trace")
    done = hotloop("run", "--trace", "--trace-limit", "0", "train.py")
    assert done.returncode == 2


def test_a_closed_pipe_is_silent(recorded: Path) -> None:
    import shlex

    hotloop = f"{shlex.quote(sys.executable)} -m hotloop"
    done = subprocess.run(
        f"{hotloop} export {shlex.quote(str(recorded))} --format csv | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("process,")
    assert done.stderr == ""
