"""Device work in a capture."""

from __future__ import annotations

import pytest
from device_windows import BACKWARD, window

from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.lines import parse, read_window, window_line
from hotloop.capture.records import Damage


def test_device_work_in_a_capture() -> None:
    before = window(device={"a": BACKWARD}, device_parts={"": DeviceDelta(host_ns=5)})
    line = window_line(before)
    after = read_window(parse(line.encode()), Damage())
    assert (after.device, after.device_parts) == (before.device, before.device_parts)
    after.add(window(1, device={"a": BACKWARD}))
    assert after.device["a"].kernel_ns == 2 * BACKWARD.kernel_ns
    assert '"d"' not in window_line(window())


@pytest.mark.parametrize("bad", ['{"a":[1.5]}', '{"a":[-1]}', '{"a":3}', "[]", '{"a":["x"]}'])
def test_damaged_device_work_is_not_believed(bad: str) -> None:
    line = window_line(window(device={"a": BACKWARD}))
    begin = line.index('"d":') + 4
    damaged = line[:begin] + bad + "}"
    damage = Damage()
    assert read_window(parse(damaged.encode()), damage).device == {}
    assert damage.values == 1
