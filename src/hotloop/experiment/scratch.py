"""Runs in copies of the program's folder: nothing that a run writes there reaches the user's."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hotloop.experiment import remover
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Outcome
from hotloop.experiment.patch import LEFT_OUT, copy_folder, linked_in_copy

#: Links that are named; the others are counted.
MOST_NAMED = 3


def links_in_words(program: Path) -> str:
    """The files that runs share with the user's folder, as a sentence; empty if none."""
    links = linked_in_copy(program)
    if not links:
        return ""
    names = [str(each.relative_to(program)) for each in links[:MOST_NAMED]]
    more = f" and {len(links) - MOST_NAMED} more" if len(links) > MOST_NAMED else ""
    return f"too large to copy, so the runs use your own: {', '.join(names)}{more}"


def why_not_again(lines: Sequence[str]) -> str:
    """A hint why a program failed in a copy of its folder, from its last lines."""
    if any("FileNotFoundError" in line or "No such file" in line for line in lines):
        left_out = ", ".join(f"{name}/" for name in sorted(LEFT_OUT & {"runs", ".git"}))
        return (
            f"it runs in a copy of its folder without {left_out}, and paths such as ../data lead "
            "elsewhere from there: pass absolute paths"
        )
    if any("no training step was recognized" in line for line in lines):
        return "it may need longer to start than the budget allows: --budget 10m"
    return "a file that an earlier run left may be in its way"


@contextmanager
def removed_after(folder: Path) -> Iterator[Path]:
    """A folder for copies, removed when the block ends, also if hotloop is killed in it."""
    words = [sys.executable, "-I", "-S", remover.__file__, str(folder.absolute())]
    # A session of its own: Ctrl-C in the terminal does not reach it.
    process = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield folder
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


class ScratchPlace:
    """This machine, each run in a copy of the program's folder; none starts when time is up.

    A program writes checkpoints and databases where it is started: in the copy, which is removed
    when the run ends. Both sides of a pair run at the same path.
    """

    does_many = False

    def __init__(
        self,
        place: Place,
        scratch: Path,
        until: float,
        job_s: float,
        clock: Callable[[], float],
        name: str = "",
    ) -> None:
        self._place = place
        self._scratch = scratch
        self._until = until
        #: Seconds that a job takes: as expected, then as the last one took.
        self.job_s = job_s
        self._clock = clock
        self._name = name

    @classmethod
    def unlimited(cls, place: Place, scratch: Path) -> ScratchPlace:
        """The same without a deadline."""
        return cls(place, scratch, math.inf, 0.0, time.monotonic)

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        for job in jobs:
            begin = self._clock()
            if begin + self.job_s > self._until:
                return
            outcomes: list[Outcome] = []
            for launch in job.launches:
                outcomes += self._run(replace(job, launches=(launch,)))
                if outcomes[-1].failure:
                    break
            yield job, outcomes
            self.job_s = self._clock() - begin

    def _run(self, job: Job) -> list[Outcome]:
        command = job.launches[0].command
        try:
            program = Path(command.folder or ".").absolute()
            # The captures' source lines then read as in the program's own folder.
            name = self._name or program.name or "program"
            folder = copy_folder(program, self._scratch / name)
            launch = replace(job.launches[0], command=replace(command, folder=str(folder)))
            return [
                outcome
                for _, found in self._place.outcomes([replace(job, launches=(launch,))])
                for outcome in found
            ]
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def close(self) -> None: ...
