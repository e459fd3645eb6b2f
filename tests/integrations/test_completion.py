"""Completion in the real shells: what they offer is what the parsers know."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hotloop.cli import COMMANDS
from hotloop.integrations.completion import commands
from hotloop.report.output import FORMATS
from hotloop.words import PHASES

BASH = """
source hotloop.bash
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_hotloop
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def need(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed here")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place where somebody works: a script, a capture, and the three scripts."""
    tmp_path = tmp_path_factory.mktemp("work")
    (tmp_path / "train.py").touch()
    (tmp_path / "runs" / "hotloop" / "train-1").mkdir(parents=True)
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [sys.executable, "-m", "hotloop", "completion", shell],
            capture_output=True,
            text=True,
            check=True,
        )
        (tmp_path / f"hotloop.{shell}").write_text(done.stdout)
    return tmp_path


def in_bash(folder: Path, typed: str) -> set[str]:
    words = " ".join(f"'{word}'" for word in typed.split(" "))
    done = subprocess.run(
        [need("bash"), "--norc", "-c", BASH.format(words=words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def in_fish(folder: Path, typed: str) -> set[str]:
    done = subprocess.run(
        [need("fish"), "--no-config", "-c", f"source hotloop.fish; complete -C {typed!r}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.stderr == ""
    return {line.partition("\t")[0].rstrip("/") for line in done.stdout.splitlines()}


def in_zsh(folder: Path, typed: str) -> set[str]:
    """Typed into a real zsh on a terminal, with two tabs after it."""
    return _on_terminal(
        [need("zsh"), "-f", "-i"],
        folder,
        "PS1='@''> '; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; "
        "source ./hotloop.zsh; zstyle ':completion:*' list-separator ''; setopt auto_list "
        "no_list_ambiguous no_always_last_prompt; LISTMAX=1000; no_prompt_sp\n",
        typed,
    )


def _on_terminal(command: list[str], folder: Path, prepare: str, typed: str) -> set[str]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder), COLUMNS="200", LINES="200")
        os.execv(command[0], command)
    try:
        os.write(terminal, prepare.encode())
        _read_until(terminal, "@> ")  # the prompt: only then keys are read one by one
        # Ctrl-U takes the line away again; keys are read in their order.
        os.write(terminal, f"{typed}\t\t\x15print do''ne\n".encode())
        shown = _read_until(terminal, "done\r\n")
    finally:
        os.close(terminal)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return set(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07|\x08", " ", shown).split())


def _read_until(terminal: int, end: str) -> str:
    """All that is shown up to some text."""
    text = ""
    deadline = time.monotonic() + 20
    while end not in text and time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        if ready:
            text += os.read(terminal, 65536).decode(errors="replace")
    assert end in text, text
    return text


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}
PRINTED = {name for name, each in FORMATS.items() if each.text}

#: What is typed -> words that must be offered.
OFFERED = {
    "hotloop re": {"report"},
    "hotloop ": set(COMMANDS),
    "hotloop report --for": {"--force", "--format"},
    "hotloop report --format ": PRINTED,
    "hotloop run --functions ": {"samples", "exact", "off"},
    "hotloop run --skip learn.": {name for name in PHASES if name.startswith("learn.")},
    "hotloop demo ": {"snake", "petri", "portfolio", "ricochet", "trading"},
    "hotloop run --stop-after 60s --s": {"--skip", "--slow", "--stop-after", "--summary-every"},
    "hotloop completion ": {"bash", "zsh", "fish"},
}


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_offered(folder: Path, shell: str) -> None:
    for typed, words in OFFERED.items():
        found = SHELLS[shell](folder, typed)
        if len(words) == 1:  # one word alone is put into the line, ending and all
            assert words <= found, typed
        else:
            assert words <= found, (typed, words - found)
    assert not {"--format", "--sort"} & SHELLS[shell](folder, "hotloop run --")


@pytest.mark.parametrize("shell", SHELLS)
def test_options_end_with_the_program(folder: Path, shell: str) -> None:
    """After the script its own words follow, and files."""
    before = SHELLS[shell](folder, "hotloop run --q")
    assert "--quiet" in before
    assert "--quiet" not in SHELLS[shell](folder, "hotloop run train.py --q")
    assert "--quiet" not in SHELLS[shell](folder, "hotloop run -m package --q")


@pytest.mark.parametrize("shell", SHELLS)
def test_captures_by_their_names(folder: Path, shell: str) -> None:
    found = SHELLS[shell](folder, "hotloop report runs/hotloop/tr")
    assert any(word.rstrip("/").endswith("runs/hotloop/train-1") for word in found), found


def test_bash_equals_signs(folder: Path) -> None:
    assert in_bash(folder, "hotloop report --format = js") == {"json"}
    assert in_bash(folder, "hotloop report --format =") >= {"json", "text"}
    assert in_bash(folder, "hotloop report --format = json --so") == {"--sort"}


def test_every_option_is_there() -> None:
    """Nothing is copied by hand: a command that is added is completed."""
    known = commands()
    assert [each.name for each in known] == list(COMMANDS)
    for each in known:
        assert ("--help" in {n for option in each.options for n in option.names}) is True
    run = next(each for each in known if each.name == "run")
    assert {"--stop-after", "--phase", "-o"} <= set(run.valued)
    assert "--foot" not in {n for c in known for o in c.options for n in o.names}  # hidden


def test_an_unknown_shell_is_named(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "completion", "tcsh"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "bash" in done.stderr


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
    script = "set -e\n" + "\n".join(lines) + "\ndeclare -F _hotloop"
    done = subprocess.run(
        [need("bash"), "--norc", "-c", script],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{command.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "_hotloop\n"
    assert (tmp_path / ".zfunc/_hotloop").read_text().startswith("#compdef hotloop")
    assert "complete -c hotloop" in (tmp_path / ".config/fish/completions/hotloop.fish").read_text()
