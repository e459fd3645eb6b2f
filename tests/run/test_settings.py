"""Settings of a run reach its children through the environment, and leave nothing there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotloop.run.settings import BOOTSTRAP, ENVIRONMENT, Invitation, Settings


@pytest.fixture(autouse=True)
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def test_a_child_reads_what_its_parent_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("/runs/a", phases=["data=loader:load"], skip=["log"], trace=5, quiet=True)
    monkeypatch.setenv(ENVIRONMENT, settings.environment()[ENVIRONMENT])
    assert Settings.from_environment() == settings


def test_settings_of_another_version_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, '{"folder": "/runs/a", "tomorrow": 1}')
    assert Settings.from_environment() == Settings("/runs/a")


def test_the_bootstrap_comes_first_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/lib", str(BOOTSTRAP), "", "/more"]))
    path = Settings("/runs/a").environment()["PYTHONPATH"]
    assert path.split(os.pathsep) == [str(BOOTSTRAP), "/lib", "/more"]
    assert (Path(BOOTSTRAP) / "sitecustomize.py").is_file()


@pytest.mark.parametrize("before", [None, "/lib"])
def test_an_invitation_is_taken_back(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    invitation = Invitation()
    invitation.put(Settings("/runs/a"))
    assert ENVIRONMENT in os.environ
    invitation.remove()
    assert ENVIRONMENT not in os.environ
    assert os.environ.get("PYTHONPATH") == before
