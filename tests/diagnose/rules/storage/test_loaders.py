"""Rules about data loaders."""

from __future__ import annotations

import pytest
from analyses import Make, found_by, frame, ids, phase, sample

from hotloop.diagnose.rules.storage import loaders


@pytest.mark.parametrize(("inline_s", "said"), [(4.0, True), (0.8, False)])
def test_batches_loaded_by_the_loop_itself(make: Make, inline_s: float, said: bool) -> None:
    own = frame("Demonstrations.__getitem__", line=12)
    analysis = make(phase("data.load", inline_s, 100), samples=[sample("data.load", inline_s, own)])
    found = loaders.loader_bound(analysis)
    assert bool(found) is said
    if said:
        assert found[0].where[0].line == 12
        assert "40.0 ms per batch" in found[0].title


@pytest.mark.parametrize(("loading_s", "said"), [(7.0, True), (2.0, False)])
def test_workers_that_load_all_the_time(make: Make, loading_s: float, said: bool) -> None:
    """Workers that hardly load are not what the loop waits for."""
    analysis = make(
        phase("data.wait", 7.0, 100),
        phase("data.load", loading_s, 100, process="DataLoader-0"),
        gauges={"loader_workers": 1},
    )
    found = loaders.loader_bound(analysis)
    assert ids(found) == ["loader-bound"] * said
    if said:
        assert found[0].title.startswith("The loop waits for 1 DataLoader worker 70%")
        # No line of the program is in the loading: torch collates item by item.
        assert found[0].before.startswith("loader = DataLoader(TensorDataset")


def test_with_cores_to_spare_more_workers_leave_nothing_to_wait_for(make: Make) -> None:
    own = frame("Flights.__getitem__", line=12)

    def most(cores: int) -> float:
        analysis = make(
            phase("data.wait", 7.0, 100),
            phase("data.load", 7.0, 100, process="DataLoader-0"),
            samples=[sample("data.load", 5.0, own, process="DataLoader-0")],
            gauges={"loader_workers": 1},
            header={"cores": cores},
        )
        (found,) = loaders.loader_bound(analysis)
        return found.gain.high

    assert most(16) > 1 / (1 - 0.7 * 0.985)
    assert most(16) >= most(2)


def test_workers_that_are_idle_are_not_waited_for(make: Make) -> None:
    """While the loop waits for items, all workers load one; these hand over what they have."""
    workers = [phase("data.load", 0.2, 25, process=f"DataLoader-{i}") for i in range(4)]
    gauges = {"loader_workers": 4}
    waiting = phase("data.wait", 1.5, 100)
    assert loaders.loader_bound(make(waiting, *workers, gauges=gauges)) == []
    # An evaluation loads its batches itself: the workers have no part in that.
    inline = phase("data.load", 3.0, 50)
    (found,) = loaders.loader_bound(
        make(waiting, inline, phase("learn", 1.0), *workers, gauges=gauges)
    )
    assert "in the training process takes 30% of the loop (60.0 ms per batch)" in found.title


def test_a_pipeline_without_workers_of_its_own(make: Make) -> None:
    analysis = make(phase("data.wait", 6.0, 100), notes={"libraries": {"TensorFlow": {}}})
    (found,) = loaders.loader_bound(analysis)
    assert found.title == "The loop waits for its data pipeline 60% of the time (60.0 ms per batch)"
    assert "py_function" in found.fix


def test_workers_that_start_again_every_epoch(make: Make) -> None:
    analysis = make(phase("data.workers", 2.0, 20))
    assert ids(found_by(loaders.RULES, analysis)) == ["loader-workers-restarted"]
    assert found_by(loaders.RULES, make(phase("data.workers", 2.0, 1))) == []


def test_a_dataset_that_is_a_replay_buffer_or_steps_environments(make: Make) -> None:
    """Its time is the buffer's and the environment's."""
    inside = [phase("data.load/buffer.sample", 3.0), phase("data.load/env.step", 3.5)]
    again = phase("data.load/env.step/env.reset", 1.0)
    assert found_by(loaders.RULES, make(phase("data.load", 7.0), *inside, again)) == []
