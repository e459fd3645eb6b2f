"""How every command behaves on a terminal: closed pipes, narrow screens, no colors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import check_refused

from hotloop.cli import COMMANDS, main, parser_of

pytestmark = pytest.mark.programs

PROGRAM = """
import time
from hotloop import count, profile

for _ in range(40):
    with profile("collect"):
        with profile("env.step"):
            time.sleep(0.001)
        count("env_steps", 8)
    with profile("learn"), profile("learn.backward"):
        time.sleep(0.001)
        count("gradient_steps")
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manners")
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", "cap", "train.py"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder / "cap"


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "report --help",
        "demo --list",
        "report CAPTURE",
        "report CAPTURE --format json",
        "export CAPTURE --format collapsed",
        "export CAPTURE --format pstats",
        "compare CAPTURE CAPTURE",
        "compare CAPTURE CAPTURE --format html",
        "investigate --from CAPTURE",
    ],
)
def test_a_closed_pipe_is_silent(capture: Path, arguments: str) -> None:
    if "compare" in arguments:
        pytest.importorskip("scipy")
    words = arguments.replace("CAPTURE", str(capture)).split()
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hotloop", *words],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", ["report CAPTURE", "compare CAPTURE CAPTURE"])
@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_and_no_number_is_cut(capture: Path, arguments: str, columns: int) -> None:
    pytest.importorskip("scipy")
    words = arguments.replace("CAPTURE", str(capture)).split()
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", *words],
        env={**os.environ, "COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    lines = done.stdout.splitlines()
    # A command that is to be pasted stays in one piece; everything else fits.
    assert [line for line in lines if len(line) > columns and str(capture) not in line] == []
    assert "\x1b" not in done.stdout
    # A name may be cut in its middle, a number never.
    assert not any("…" in word and any(c.isdigit() for c in word) for word in done.stdout.split())


def test_a_program_that_fails_at_once_is_not_hidden_by_a_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import nothing_of_that_name\n")
    command = [sys.executable, "-m", "hotloop", "run", "-o", "cap", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    *traceback, last = done.stderr.splitlines()
    assert done.returncode == 1
    assert traceback[-1].startswith("ModuleNotFoundError")
    assert last == "hotloop: the program failed before its first training step; its capture is cap"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["compare", "a", "b", "--runs", "3"], "unknown option --runs; `hotloop compare --help`"),
        (["report", "--fromat", "json"], "unknown option --fromat; did you mean --format?"),
        (
            ["run", "--stop-aftr", "5s", "t.py"],
            "unknown option --stop-aftr; did you mean --stop-after?",
        ),
        (["train.py", "--lr", "1"], "did you mean `hotloop run train.py --lr 1`?"),
    ],
)
def test_what_was_meant_is_suggested(typed: list[str], said: str) -> None:
    command = [sys.executable, "-m", "hotloop", *typed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check_refused(done, said)


def test_options_behind_the_program_get_a_hint(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint(sys.argv[1:])\n")
    command = [
        sys.executable,
        "-m",
        "hotloop",
        "run",
        "-o",
        "cap",
        "train.py",
        "--stop-after",
        "5s",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "['--stop-after', '5s']\n"
    assert (
        "--stop-after is passed to the program; hotloop's own options go before it" in done.stderr
    )


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_has_a_help_text(name: str) -> None:
    for action in parser_of(name)._actions:
        assert action.help, f"hotloop {name} {action.option_strings or action.dest}"


def test_the_list_of_commands_imports_no_analysis() -> None:
    code = (
        "import sys; from hotloop.cli import main, parser_of; main(['--help']); "
        "[parser_of(name) for name in ('run', 'report', 'compare', 'sweep', 'investigate')]; "
        "print([name for name in sys.modules if name.startswith('hotloop.diagnose') "
        "or name == 'hotloop.analyze.analysis'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "train.py"], "missing argument: SECOND"),
        (["report", "--format", "jsn"], "--format: no 'jsn'; did you mean json?"),
        (["list", "--format", "yaml"], "--format: no 'yaml'; use one of text, json"),
        (["clean", "--older-than", "7x"], "--older-than: '7x' is not an age"),
    ],
)
def test_a_mistake_is_two_lines_without_the_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"hotloop: {said}")
    assert second == f"`hotloop {arguments[0]} --help` explains the options"


def test_prose_of_a_help_is_wrapped_and_examples_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = (parser_of("run").format_help().split("options:")[0]).splitlines()
    assert "  hotloop run [options] -m module arguments…" in lines
    prose = [line for line in lines[1:] if not line.startswith("  hotloop ")]
    assert len(prose) > 6
    assert max(map(len, prose)) <= 60
