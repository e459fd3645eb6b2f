"""Clocks that a test replaces are asked by the program alone."""

import time
from unittest import mock

begin = time.perf_counter()
with (
    mock.patch("time.monotonic", side_effect=[1.0, 2.0, 3.0]),
    mock.patch("time.time", return_value=7.0) as wall,
):
    print(time.monotonic())
    while time.perf_counter() - begin < 2.5:
        pass
    print(time.monotonic(), time.monotonic(), time.time(), wall.call_count)
with mock.patch("time.sleep") as sleep, mock.patch("time.perf_counter", side_effect=[1.0]):
    print(time.perf_counter(), sleep.call_count)
