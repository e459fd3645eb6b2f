"""What a compiled function of TensorFlow called while it was traced."""

from __future__ import annotations

import threading

from hotloop.hooks.inference.traces import Traced, Traces


def test_notes_go_to_the_innermost_function() -> None:
    traces, outer, inner = Traces(), Traced(), Traced()
    traces.note_network()  # nothing is traced
    with traces.calling(outer):
        with traces.calling(inner):
            traces.note_gradient()
            traces.note_optimizer(7)
            traces.note_optimizer(7)
        traces.note_network()
    assert (inner.gradients, inner.networks, inner.optimizers) == (True, False, [7])
    assert (outer.gradients, outer.networks, outer.optimizers) == (False, True, [])


def test_each_thread_has_its_own() -> None:
    traces, about = Traces(), Traced()
    with traces.calling(about):
        other = threading.Thread(target=traces.note_network)
        other.start()
        other.join()
    assert not about.networks
