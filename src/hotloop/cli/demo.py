"""Profile one of five real training programs that come with hotloop, and show the report.

hotloop demo                 the default one, which needs only PyTorch
hotloop demo trading         another one; later arguments are passed to the program
hotloop demo --list          list them
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hotloop.cli import run
from hotloop.errors import HotloopError
from hotloop.run import program as programs


@dataclass(frozen=True)
class Demo:
    """A training program, the arguments that make it slow, and the packages it needs."""

    folder: str
    what: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...]


DEMOS = {
    "snake": Demo(
        "snake_dqn",
        "DQN on 256 Snake games as tensors, with settings that make it slow",
        ("--slow", "--steps", "40960", "--no-evaluation"),
        ("torch", "numpy"),
    ),
    "petri": Demo(
        "petri_ppo",
        "TorchRL PPO that schedules jobs on machines, a timed Petri net",
        (),
        ("torch", "torchrl", "tensordict"),
    ),
    "portfolio": Demo(
        "portfolio_ppo",
        "Stable-Baselines3 PPO that manages a portfolio",
        (),
        ("torch", "stable_baselines3", "gymnasium", "pandas"),
    ),
    "ricochet": Demo(
        "ricochet_rgb",
        "a ConvLSTM agent that sees a board as a picture; uses hotloop's own regions",
        (),
        ("torch", "PIL", "numpy"),
    ),
    "trading": Demo(
        "trading_dqn",
        "a Keras DQN that trades",
        (),
        ("tensorflow", "keras", "gymnasium", "pandas"),
    ),
}
DEFAULT = "snake"
#: The folder for copies of installed programs.
COPIES = Path("runs/demo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop demo [--list] [name] [arguments of the program]"
    parser.add_argument("--list", action="store_true", help="list the programs")
    parser.add_argument(
        "name", nargs="?", default=DEFAULT, metavar=f"{{{','.join(DEMOS)}}}", help="which one"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    if options.list:
        for name, demo in DEMOS.items():
            print(f"{name:<10} {demo.what}")
        sys.stdout.flush()  # a program's output is flushed when Python exits
        return 0
    if options.name not in DEMOS:
        raise HotloopError(f"no demo {options.name!r}; choose one of {', '.join(DEMOS)}")
    demo = DEMOS[options.name]
    missing = [module for module in demo.needs if not _is_installed(module)]
    if missing:
        raise HotloopError(
            f"the {options.name} demo needs {', '.join(missing)}; "
            f"run: pip install 'hotloop[{options.name}]'"
        )
    script = program_folder(demo.folder) / "train.py"
    arguments = options.arguments or list(demo.arguments)
    print(f"hotloop: {demo.what}", file=sys.stderr)
    print(f"hotloop: hotloop run {script} {' '.join(arguments)}\n", file=sys.stderr)
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    settings = parser.parse_args(["--name", demo.folder])
    settings.words = [str(script), *arguments]
    settings.program = programs.find_script(str(script), arguments)
    return run.main(settings)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def program_folder(name: str) -> Path:
    """The program's folder as one would type it here.

    Inside an installed package it would be a library, which is neither searched for phases nor
    patched. It is copied, once: the copy is the user's to change.
    """
    folder = workloads_folder() / name
    package = Path(__file__).resolve().parent.parent
    if folder.is_relative_to(package):
        copy = COPIES / name
        if not copy.is_dir():
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        return copy
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def workloads_folder() -> Path:
    """Inside the package once installed; next to `src` in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "workloads", package.parent.parent / "workloads"):
        if folder.is_dir():
            return folder
    raise HotloopError("the training programs are not installed; reinstall hotloop")
