"""Where runs take place: here, one after the other. `cluster` has the same shape for Ray."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hotloop.experiment.launch import Launch, Outcome, read_outcome, run


@dataclass(frozen=True)
class Job:
    """Runs that belong together: made one after the other, on the same machine."""

    number: int
    launches: tuple[Launch, ...]


class Place(Protocol):
    """Somewhere that jobs can be done."""

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        """Each job with how its runs went, as they are done; a failed run ends its job."""
        ...

    def close(self) -> None: ...


class Here:
    """This machine: one run at a time, so that no run disturbs another."""

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        for job in jobs:
            yield job, do(job)

    def close(self) -> None:
        """Nothing to give back."""


def do(job: Job) -> list[Outcome]:
    """Make the runs of a job, unless they are on disk already; stop at the first that fails."""
    done: list[Outcome] = []
    for launch in job.launches:
        outcome = read_outcome(launch) or run(launch)
        done.append(outcome)
        if outcome.failure:
            break
    return done
