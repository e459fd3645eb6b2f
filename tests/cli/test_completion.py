"""Completion in bash: what it offers is what the parsers know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import check_refused

from hotloop.cli import COMMANDS
from hotloop.cli.completion import SHELLS
from hotloop.phases import PHASES
from hotloop.report.formats import FORMATS

pytestmark = pytest.mark.programs

BASH = """
source hotloop.bash
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_hotloop
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completion(shell: str) -> str:
    command = [sys.executable, "-m", "hotloop", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in: a script, a capture, and the completion for bash."""
    tmp_path = tmp_path_factory.mktemp("work")
    (tmp_path / "train.py").touch()
    (tmp_path / "runs" / "hotloop" / "train-1").mkdir(parents=True)
    (tmp_path / "hotloop.bash").write_text(completion("bash"))
    return tmp_path


def offered(folder: Path, typed: str) -> set[str]:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed here")
    words = " ".join(f"'{word}'" for word in typed.split(" "))
    done = subprocess.run(
        [bash, "--norc", "-c", BASH.format(words=words)], cwd=folder, capture_output=True, text=True
    )
    return set(done.stdout.split())


PRINTED = {name for name, each in FORMATS.items() if each.text}

#: What is typed -> words that must be offered.
OFFERED = {
    "hotloop re": {"report"},
    "hotloop ": set(COMMANDS),
    "hotloop report --for": {"--force", "--format"},
    "hotloop report --format ": PRINTED,
    "hotloop report runs/hotloop/tr": {"runs/hotloop/train-1"},
    "hotloop run tr": {"train.py"},
    "hotloop run --functions ": {"samples", "exact", "off"},
    "hotloop run --skip learn.": {name for name in PHASES if name.startswith("learn.")},
    "hotloop demo ": {"snake", "petri", "portfolio", "ricochet", "trading"},
    "hotloop run --stop-after 60s --s": {"--skip", "--slow", "--stop-after", "--summary-every"},
    "hotloop completion ": {"bash", "zsh", "fish"},
}


@pytest.mark.parametrize("typed", OFFERED)
def test_what_is_offered(folder: Path, typed: str) -> None:
    assert OFFERED[typed] <= offered(folder, typed)


def test_options_of_another_command_are_not(folder: Path) -> None:
    assert not {"--format", "--sort"} & offered(folder, "hotloop run --")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_command(shell: str) -> None:
    text = completion(shell)
    assert all(name in text for name in COMMANDS)
    assert "--foot" not in text  # hidden


def test_without_shtab_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['shtab'] = None; from hotloop.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "completion", "bash"]
    done = subprocess.run(command, capture_output=True, text=True)
    check_refused(done, "pip install 'hotloop[completion]'")


def test_an_unknown_shell_is_named() -> None:
    command = [sys.executable, "-m", "hotloop", "completion", "elvish"]
    done = subprocess.run(command, capture_output=True, text=True)
    check_refused(done, "bash")


def test_the_documented_lines(tmp_path: Path) -> None:
    """What docs/integrations.md tells people to type leaves what their shells read."""
    text = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    lines = re.findall(r"^\$ (.*hotloop completion .*)$", text.partition("## Shells")[2], re.M)
    assert len(lines) == 3
    command = tmp_path / "bin" / "hotloop"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m hotloop "$@"\n')
    command.chmod(0o755)
    for folder in (".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    script = "set -e\n" + "\n".join(lines) + "\ndeclare -F _shtab_hotloop"
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", script],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "_shtab_hotloop\n"
    assert (tmp_path / ".zfunc/_hotloop").read_text().startswith("#compdef hotloop")
    assert "complete -c hotloop" in (tmp_path / ".config/fish/completions/hotloop.fish").read_text()
