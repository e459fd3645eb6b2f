"""Waiting for kernels counts for the phase that launched them."""

from __future__ import annotations

import pytest
from device_windows import GPU, phase, window

from hotloop.analyze.critical import add_critical_path
from hotloop.analyze.device_use import device_use
from hotloop.analyze.model import Phase
from hotloop.capture.device_delta import DeviceDelta

MS = 1_000_000


def recorded(**figures: int) -> DeviceDelta:
    """Ten calls of 100 ms in all."""
    return DeviceDelta(host_ns=100 * MS, millicalls=10_000, **figures)


def analyzed(device: dict[str, DeviceDelta], *phases: Phase) -> None:
    loop_s = sum(each.self_s for each in phases)
    use = device_use([window(device=device)], list(phases), GPU, loop_s)
    add_critical_path(phases, use, loop_s)


def test_waiting_moves_to_the_phase_whose_kernels_ran() -> None:
    """Reads wait nine tenths of their time for kernels that the backward pass launched."""
    backward = phase("learn.backward", 1.0, 100)
    read = phase("transfer", 9.0, 100)
    analyzed(
        {
            "learn.backward": recorded(kernel_ns=900 * MS, awaited_ns=800 * MS),
            "transfer": recorded(waited_ns=90 * MS),
        },
        backward,
        read,
    )
    assert read.critical_s == pytest.approx(0.9)
    assert backward.critical_s == pytest.approx(1.0 + 8.1)
    assert backward.share == pytest.approx(0.91)
    assert backward.share + read.share == pytest.approx(1.0)
    assert read.total_s == 9.0  # host time stays what it was


def test_a_parent_has_what_its_children_have() -> None:
    parent, child = phase("learn", 0.0, 10), phase("learn/learn.backward", 5.0, 100)
    read = phase("transfer", 5.0, 100)
    analyzed(
        {
            "learn/learn.backward": recorded(kernel_ns=90 * MS, awaited_ns=40 * MS),
            "transfer": recorded(waited_ns=50 * MS),
        },
        parent,
        child,
        read,
    )
    assert parent.critical_s == child.critical_s == pytest.approx(7.5)


def test_without_waiting_nothing_changes() -> None:
    only = phase("learn.backward", 5.0, 100)
    analyzed({"learn.backward": recorded(kernel_ns=10 * MS)}, only)
    assert only.critical_s is None
    add_critical_path([only], None, 5.0)
    assert only.critical_s is None
