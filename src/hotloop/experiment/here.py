"""Runs on this machine, one after the other. `cluster` has the same interface for Ray."""

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
    #: Whether to run the others after one has failed.
    keep_going: bool = False


class Place(Protocol):
    """A place where jobs run."""

    #: Whether several jobs may be under way at once.
    does_many: bool

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        """Each job with how its runs went, as they are done."""
        ...

    def close(self) -> None: ...


class Here:
    """This machine: one run at a time, so that no run disturbs another."""

    does_many = False

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        for job in jobs:
            yield job, do(job)

    def close(self) -> None:
        """Nothing to release."""


def do(job: Job, retry: bool = False) -> list[Outcome]:
    """Make the runs of a job, unless they are on disk already."""
    done: list[Outcome] = []
    for launch in job.launches:
        outcome = read_outcome(launch) or run(launch)
        if outcome.failure and retry:
            outcome = run(launch, again=True)
        done.append(outcome)
        if outcome.failure and not job.keep_going:
            break
    return done
