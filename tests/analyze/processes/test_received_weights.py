"""What `load_state_dict` is in a process that the program started."""

from __future__ import annotations

import pytest
from made_captures import made_shard

from hotloop.analyze.processes.received_weights import name_weights
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import LOADED


@pytest.mark.parametrize(
    ("beside", "name"), [("env.step", "sync.weights"), ("learn.optimizer", "learn.target")]
)
def test_weights_of_a_learner_or_of_a_target_network(beside: str, name: str) -> None:
    phases = {
        f"collect/{LOADED}": PhaseDelta(3, 30, 30),
        f"collect/{name}": PhaseDelta(1, 10, 10),
        beside: PhaseDelta(5, 50, 50),
    }
    samples = {(f"collect/{LOADED}", 1, 0): [2, 20], (f"collect/{name}", 1, 0): [1, 10]}
    shard = made_shard("actor-1", windows=[Window(0, 0, 0, 100, phases, samples=samples)])
    (window,) = name_weights(shard).windows
    assert set(window.phases) == {f"collect/{name}", beside}
    assert window.phases[f"collect/{name}"].calls == 4
    assert window.samples == {(f"collect/{name}", 1, 0): [3, 30]}
    # The reader may ask again: the windows that were read stay as they were.
    assert shard.windows[0].phases[f"collect/{name}"].calls == 1


def test_a_process_that_loads_no_weights_stays_as_it_is() -> None:
    shard = made_shard("actor-1", windows=[Window(0, 0, 0, 100, {"env.step": PhaseDelta(1, 1, 1)})])
    assert name_weights(shard) is shard
