"""The command that checks a fix, ready to paste."""

from __future__ import annotations

import shlex

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import SourceLine

#: Fixes that change how many rows or gradient steps there are for each environment step.
OTHER_WORK = frozenset({"update-ratio", "per-sample-update", "unbounded-rollout", "single-env"})


def verify_command(
    analysis: Analysis,
    lines: list[SourceLine] | None = None,
    environment: str = "",
    any_work: bool = False,
) -> str:
    """The command that checks a fix: the unchanged program against the changed one.

    `environment` is a setting that is the whole change, such as `OMP_NUM_THREADS=1`. Any other
    change has to be written first; a comment behind the command says what and where. A change of
    how much is learned needs `any_work`, without which `compare` calls the two not comparable.
    """
    command = list(analysis.run.command)
    if not command or command[0].startswith("%"):  # a notebook's cell is no command
        command = ["train.py"]
    before = shlex.join(command)
    if environment:
        return f"hotloop compare {shlex.quote(before)} {shlex.quote(f'{environment} {before}')}"
    script = next((i for i, part in enumerate(command) if part.endswith(".py")), None)
    if script is None:
        script = command.index("-m") + 1 if "-m" in command[:-1] else 0
    own = command[script]
    copy = own[:-3] + "_fixed.py" if own.endswith(".py") else own + "_fixed"
    after = shlex.join([*command[:script], copy, *command[script + 1 :]])
    names = f"after copying {base_name(own)} to {base_name(copy)}"
    change = f"{names} and making the change there"
    where_it_is = base_name(lines[0].file) if lines else ""
    if where_it_is and where_it_is != base_name(own):
        change = f"{names}, and using a changed {where_it_is} there"
    option = " --any-work" if any_work else ""
    return f"hotloop compare {shlex.quote(before)} {shlex.quote(after)}{option}  # {change}"


def base_name(file: str) -> str:
    """The last part of a path of any system."""
    return file.replace("\\", "/").rpartition("/")[2]
