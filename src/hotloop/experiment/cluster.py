"""Runs on a Ray cluster: each job is one task, so that the two sides of a pair share a node.

`ray.init` finds a cluster as usual (RAY_ADDRESS, a cluster that runs here); where there is none,
Ray starts on this machine. The captures come back over the file system where the nodes share one,
and through Ray where they do not. Belongs to the extra `hotloop[ray]`.
"""

from __future__ import annotations

import io
import os
import platform
import shutil
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hotloop import units
from hotloop.errors import HotloopError
from hotloop.experiment.here import Job, do
from hotloop.experiment.launch import Launch, Outcome

#: A task that was cancelled gets this long to end its program.
PATIENCE_S = 15.0


class OnRay:
    """A Ray cluster."""

    does_many = True

    def __init__(
        self, cpus: int | None, gpus: float | None, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._ray = _ray()
        self._started = False
        self._connect()
        self._needs: dict[str, float] = {"num_cpus": cpus or 1, "num_gpus": gpus or 0}
        self._check_resources()
        self._pending: list[Any] = []
        nodes = [node for node in self._ray.nodes() if node.get("Alive")]
        counted = units.plural(len(nodes), "node")
        say(f"on Ray: {counted}, {_needs(self._needs)} per run")

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, list[Outcome]]]:
        if not jobs:
            return
        shared = _Shared(Path(jobs[0].launches[0].capture).parent.parent)
        # Spread: pairs that share a node share its noise.
        task = self._ray.remote(max_retries=1, scheduling_strategy="SPREAD", **self._needs)(
            do_on_node
        )
        waiting = {task.remote(_at(job), str(shared.token)): job for job in jobs}
        self._pending = list(waiting)
        try:
            while waiting:
                done, _ = self._ray.wait(list(waiting), num_returns=1)
                job = waiting.pop(done[0])
                yield job, shared.bring_back(job, self._get(done[0]))
        finally:
            self._cancel(list(waiting))
            shared.close()

    def close(self) -> None:
        """Leave the cluster; stop Ray if it was started for this."""
        if self._started:
            self._ray.shutdown()

    def _get(self, reference: Any) -> Answer:
        try:
            return self._ray.get(reference)  # type: ignore[no-any-return]
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            raise HotloopError(f"a Ray task failed: {first[0]}") from None

    def _cancel(self, references: list[Any]) -> None:
        for reference in references:
            with suppress(Exception):
                self._ray.cancel(reference)
        if references:
            with suppress(Exception):
                self._ray.wait(references, num_returns=len(references), timeout=PATIENCE_S)

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": "error"}
        try:
            self._ray.init(address=os.environ.get("RAY_ADDRESS", "auto"), **quiet)
        except (ConnectionError, ValueError) as error:
            if "RAY_ADDRESS" in os.environ:
                raise HotloopError(
                    f"no Ray cluster at RAY_ADDRESS={os.environ['RAY_ADDRESS']}: {error}"
                ) from None
            self._ray.init(include_dashboard=False, **quiet)
        self._started = True

    def _check_resources(self) -> None:
        for name, key in (("num_cpus", "CPU"), ("num_gpus", "GPU")):
            largest = max(
                (n["Resources"].get(key, 0) for n in self._ray.nodes() if n.get("Alive")), default=0
            )
            if self._needs[name] > largest:
                self.close()
                raise HotloopError(
                    f"--{name[4:]} {self._needs[name]:g}: no node of the cluster has more than "
                    f"{largest:g}"
                )


def _needs(needs: dict[str, float]) -> str:
    gpus = f" and {needs['num_gpus']:g} GPU" if needs["num_gpus"] else ""
    return units.plural(needs["num_cpus"], "core") + gpus


def _ray() -> ModuleType:
    try:
        return import_module("ray")
    except ImportError:
        raise HotloopError("--on ray needs Ray: pip install 'hotloop[ray]'") from None


def _at(job: Job) -> Job:
    """The job with the folder in which it is to run: a node's own is another."""
    here = os.getcwd()
    launches = tuple(
        replace(
            launch,
            command=replace(launch.command, folder=launch.command.folder or here),
            capture=os.path.abspath(launch.capture),
        )
        for launch in job.launches
    )
    return replace(job, launches=launches)


# -- on the node --


@dataclass
class Answer:
    """The answer of a node."""

    outcomes: list[Outcome]
    #: The files of the runs, by the folder that they belong to; empty on a shared file system.
    packed: bytes = b""


def do_on_node(job: Job, token: str) -> Answer:
    """A job on the current node; a failed run is tried once more."""
    launches = tuple(_fit_to_node(launch) for launch in job.launches)
    missing = next(
        (each for each in launches if not Path(each.command.folder or ".").is_dir()), None
    )
    if missing is not None:
        why = (
            f"cannot start: there is no folder {missing.command.folder} on {platform.node()}; "
            "use a shared file system, or submit with `ray job submit --working-dir .`"
        )
        return Answer([Outcome(missing.name, missing.capture, None, 0.0, failure=why)])
    if os.path.exists(token):
        outcomes = do(replace(job, launches=launches), retry=True)
        return Answer([replace(outcome, node=platform.node()) for outcome in outcomes])
    return _in_own_folder(replace(job, launches=launches))


def _fit_to_node(launch: Launch) -> Launch:
    command = launch.command
    if not os.path.exists(command.python):
        command = replace(command, python=sys.executable)
    if not os.path.isdir(command.folder or ".") and (Path.cwd() / command.words[0]).exists():
        command = replace(command, folder=os.getcwd())
    return replace(launch, command=command)


def _in_own_folder(job: Job) -> Answer:
    """Without a shared file system: run in a temporary folder and send it back."""
    folder = Path(tempfile.mkdtemp(prefix="hotloop-"))
    try:
        launches = tuple(
            replace(launch, capture=str(folder / Path(launch.capture).name))
            for launch in job.launches
        )
        wanted = {
            mine.capture: launch.capture
            for mine, launch in zip(launches, job.launches, strict=True)
        }
        outcomes = [
            replace(outcome, capture=wanted[outcome.capture], node=platform.node())
            for outcome in do(replace(job, launches=launches), retry=True)
        ]
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.add(folder, arcname=".")
        return Answer(outcomes, buffer.getvalue())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- back here --


class _Shared:
    """Finds out whether a node sees our files: it does if it sees this one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.token = (folder / f".hotloop-{uuid.uuid4().hex}").absolute()
        self.token.touch()

    def bring_back(self, job: Job, answer: Answer) -> list[Outcome]:
        """The outcomes, their files where they belong."""
        by_path = {os.path.abspath(launch.capture): launch.capture for launch in job.launches}
        if answer.packed:
            target = Path(job.launches[0].capture).parent
            target.mkdir(parents=True, exist_ok=True)
            with tarfile.open(fileobj=io.BytesIO(answer.packed)) as archive:
                for member in archive:
                    _extract(archive, member, target)
        return [
            replace(o, capture=by_path.get(os.path.abspath(o.capture), o.capture))
            for o in answer.outcomes
        ]

    def close(self) -> None:
        self.token.unlink(missing_ok=True)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Accept only plain files and folders below the target from the archive."""
    path = (target / member.name).resolve()
    if not path.is_relative_to(target.resolve()):
        return
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.isfile():
        path.parent.mkdir(parents=True, exist_ok=True)
        source = archive.extractfile(member)
        if source is not None:
            path.write_bytes(source.read())
