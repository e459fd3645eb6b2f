"""Ray actors of a program's own."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.ray import with_invitation
from hotloop.hooks.libraries.ray_actors import ActorWaits, time_methods
from hotloop.measure.profiler import Profiler

pytestmark = pytest.mark.framework

PROGRAMS = Path(__file__).parents[1] / "library_programs"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray keeps results and its cluster's token in the home folder; not in the user's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_actors_of_the_program_itself_keep_their_methods(profile: Any) -> None:
    run = profile(PROGRAMS / "ray_actors.py")
    assert run.out.split()[-2:] == ["27", "23"]
    assert "wait" in {phase["name"] for phase in run.report["phases"] + run.report["startup"]}
    actors = {phase["process"] for phase in run.phases} - {"main"}
    assert len(actors) == 2
    assert all(actor.startswith("Walk-") for actor in actors)
    steps = {p["path"]: 0 for p in run.phases if p["name"] == "env.step"}
    for phase in run.phases:
        if phase["name"] == "env.step":
            steps[phase["path"]] += phase["calls"]
    # Each method of an actor is a region; one that is called to test is an evaluation.
    assert steps == {
        "Walk.step/env.step": 40,
        "Walk.play/env.step": 3,
        "evaluate/Walk.play/env.step": 7,
    }
    assert run.counter("env_steps") == 43
    assert {row["process"] for row in run.report["run_table"]} >= {"main"}
    assert "who is waited for" not in str(run.report)


def test_a_note_that_fails_leaves_the_call_alone() -> None:
    profiler = Profiler()
    context = HookContext(profiler)
    waits = ActorWaits(context)
    assert waits.get(lambda object_refs, timeout=0: object_refs)(object_refs=[7], timeout=1) == [7]
    assert waits.wait(lambda ray_waitables: None)(ray_waitables=[7]) is None
    assert "who is waited for" in context.failures
    make = time_methods(context)(lambda self, *more: more)
    assert make(1, 2) == (2,)  # as many arguments as another version of Ray may pass
    assert make(1, 2, 3, 4) == (2, 3, 4)


def test_a_runtime_environment_is_added_to_not_replaced() -> None:
    invitation = {"HOTLOOP_SESSION": "{}", "PYTHONPATH": "/hotloop:/of/this/machine"}
    assert with_invitation(None, invitation) == {
        # The cluster's own path stays: Ray puts it in.
        "env_vars": {"HOTLOOP_SESSION": "{}", "PYTHONPATH": "/hotloop:${PYTHONPATH}"}
    }
    given = {"pip": ["torch"], "env_vars": {"PYTHONPATH": "/own", "SEED": "1"}}
    assert with_invitation(given, invitation) == {
        "pip": ["torch"],
        "env_vars": {
            "HOTLOOP_SESSION": "{}",
            "PYTHONPATH": "/hotloop:/own",
            "SEED": "1",
        },
    }
    assert given["env_vars"] == {"PYTHONPATH": "/own", "SEED": "1"}
