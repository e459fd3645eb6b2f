"""Print what lets a shell complete hotloop's commands and options.

bash    hotloop completion bash > ~/.local/share/bash-completion/completions/hotloop
        (or, in ~/.bashrc:  source <(hotloop completion bash))
zsh     hotloop completion zsh > ~/.zfunc/_hotloop     (a folder of your $fpath)
fish    hotloop completion fish > ~/.config/fish/completions/hotloop.fish
"""

from __future__ import annotations

import argparse
import sys

from hotloop.integrations.completion import commands
from hotloop.integrations.shells import SHELLS
from hotloop.report.terminal import write

HELP = "let bash, zsh or fish complete hotloop's commands and options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(SHELLS), help="which shell")


def main(options: argparse.Namespace) -> int:
    write(sys.stdout, SHELLS[options.shell](commands()))
    return 0
