"""Rules on what moves between host and device, on analyses made by hand."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from analyses import Make, found_by, frame, phase, sample, window

from hotloop.analyze.device_use import DeviceUse, PhaseDevice
from hotloop.analyze.model import Analysis
from hotloop.diagnose.rules.frameworks import copies


def known(where: str = "cuda") -> dict[str, Any]:
    network = {"device": where, "parameters": 5_000_000, "convolutions": 0}
    return {"machine": {"accelerators": ["CUDA"]}, "networks": [network], "torch_build": "cuda"}


def ids(analysis: Analysis) -> list[str]:
    return [finding.id for finding in found_by(copies.RULES, analysis)]


def transfers(make: Make, size: float, count: float = 4000, *more: Any, **given: Any) -> Analysis:
    counters = {
        "transfers": count, "syncs": count, "transfer_bytes": size * count, "env_steps": 1000
    }  # fmt: skip
    each = {name: amount / 10 for name, amount in counters.items()}
    return make(
        phase("env.step", 3.0, 1000),
        *(more or (phase("transfer", 3.0, 4000),)),
        windows=[window(i, {}, counters=each) for i in range(10)],
        **({"notes": known()} | given),
    )


def test_lines_that_were_counted_are_named(make: Make) -> None:
    analysis = transfers(make, 8)
    lines = [["/p/train.py", 41, "push", ".item()", 4000, 32000, 4000]]
    analysis.notes = analysis.notes.changed({"transfer_lines": lines})
    (found,) = found_by(copies.RULES, analysis)
    assert (found.where[0].file, found.where[0].line) == ("/p/train.py", 41)
    assert "train.py:41" in found.title


@pytest.mark.parametrize(("size", "id"), [(8, "sync-per-step"), (513, "host-transfers")])
def test_values_read_and_data_copied(make: Make, size: float, id: str) -> None:
    (found,) = found_by(copies.RULES, transfers(make, size))
    assert found.id == id
    assert found.severity == "warning"


@pytest.mark.parametrize("size", [8, 5000])
def test_less_than_one_a_step_is_silent(make: Make, size: float) -> None:
    assert ids(transfers(make, size, count=900)) == []


def stepping_device(launches: float) -> DeviceUse:
    work: dict[str, Any] = {each.name: 0.0 for each in fields(PhaseDevice)}
    step = work | {"path": "env.step", "host_s": 3.0, "known": True, "launches": launches}
    return DeviceUse("CUDA", "a card", "windows", phases=[PhaseDevice(**step)])


@pytest.mark.parametrize(
    ("learns_from", "device", "said"),
    [
        (0, stepping_device(0.0), False),
        (1100, stepping_device(0.0), True),
        (0, stepping_device(20_000.0), True),
        (0, None, True),  # where environments run is not known
    ],
    ids=["acts only", "learns from copies", "simulated on the device", "unknown"],
)
def test_an_environment_on_the_host_needs_two_copies_each_step(
    make: Make, learns_from: int, device: DeviceUse | None, said: bool
) -> None:
    analysis = transfers(make, 5000, 2100 + learns_from)
    lines = [
        ["/p/train.py", 85, "main", ".to()", 1000, 5_000_000, 0],
        ["/p/train.py", 89, "main", ".cpu()", 1000, 500_000, 1000],
        ["/p/train.py", 92, "main", ".to()", 100 + learns_from, 500_000, 0],
    ]
    analysis.notes = analysis.notes.changed({"transfer_lines": lines})
    analysis.device = device
    assert ids(analysis) == ["host-transfers"] * said


def test_reads_on_the_processor_wait_for_nothing(make: Make) -> None:
    assert ids(transfers(make, 8, notes=known("cpu"))) == []


@pytest.mark.parametrize(("size", "id"), [(8, "sync-per-step"), (5_000_000, "host-transfers")])
def test_work_on_the_line_that_copies_goes_with_it(make: Make, size: int, id: str) -> None:
    copies_here, elsewhere = frame("to_tensor", line=61), frame("to_tensor", line=60)
    gap = "between optimizer and act"
    analysis = transfers(
        make,
        size,
        4000,
        phase("transfer", 1.0, 4000),
        phase("buffer.add", 2.0),
        phase(gap, 2.0),
        samples=[
            sample("buffer.add", 1.5, copies_here),
            sample("buffer.add", 0.5, elsewhere),
            sample(gap, 2.0, copies_here),
            sample("env.step", 3.0, copies_here),  # `env.step(action.cpu())`: the simulator stays
            sample("transfer", 1.0, copies_here),
        ],
    )
    lines = [[copies_here.file, 61, "to_tensor", ".to()", 4000, 4000 * size, 0]]
    analysis.notes = analysis.notes.changed({"transfer_lines": lines})
    assert copies.preparing(analysis) == pytest.approx(3.5)
    (found,) = found_by(copies.RULES, analysis)
    assert found.id == id
    assert found.evidence["seconds"] == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("name", "how", "sent", "seconds"),
    [
        ("learn.loss", "inferred", 4_000_000, 2.5),
        ("learn.loss", "inferred", 400_000, 0.0),
        ("advantage", "shape", 4_000_000, 2.5),
        ("advantage", "named", 4_000_000, 0.0),
    ],
)
def test_work_between_fetching_and_sending_back(
    make: Make, name: str, how: str, sent: int, seconds: float
) -> None:
    analysis = transfers(
        make,
        5e6,
        2000,
        phase("transfer", 1.0, 2000),
        phase(name, 3.0, how=how),
        samples=[
            sample(name, 2.5, frame("Norm.__call__", line=57)),
            sample(name, 0.5, frame("Norm.__call__", line=70)),
            sample("env.step", 1.0, frame("Norm.__call__", line=57)),
        ],
    )
    file = frame("main").file
    lines = [
        [file, 53, "__call__", ".cpu()", 1000, 4_000_000, 1000],
        [file, 60, "__call__", ".to()", 1000, sent, 0],
    ]
    analysis.notes = analysis.notes.changed({"transfer_lines": lines})
    assert copies.preparing(analysis) == pytest.approx(seconds)


def test_gathering_goes_away_with_the_copy(make: Make) -> None:
    analysis = transfers(
        make,
        5e6,
        2000,
        phase("buffer.sample", 6.0, 1000, self_s=5.0),
        phase("buffer.sample/transfer", 1.0, 2000),
    )
    (found,) = found_by(copies.RULES, analysis)
    assert found.id == "host-transfers"
    assert found.evidence["gathering_s"] == pytest.approx(5.0)
    # 0.9 of five seconds and half of one at least; both wholly at most: of ten seconds.
    assert 1.6 < found.gain.low < 2.0
    assert 2.4 < found.gain.high <= 2.5
    assert "gathering" in found.title


@pytest.mark.parametrize(
    ("pageable", "said"), [(1.0, True), (0.0, False)], ids=["pageable", "pinned"]
)
def test_large_copies_of_memory_that_is_not_pinned(make: Make, pageable: float, said: bool) -> None:
    analysis = transfers(make, 5e6, 900)
    work: dict[str, Any] = {field.name: 0.0 for field in fields(PhaseDevice)}
    phase_use = PhaseDevice(
        **work
        | {
            "path": "transfer",
            "host_s": 3.0,
            "moving": 0.9,
            "to_device": 900.0,
            "to_device_bytes": 900 * 5e6,
            "pageable_bytes": pageable * 900 * 5e6,
        }
    )
    analysis.device = DeviceUse("CUDA", "a card", "windows", kernel_s=1.0, phases=[phase_use])
    assert (ids(analysis) == ["pageable-copies"]) is said


@pytest.mark.parametrize("rule", copies.RULES)
@pytest.mark.parametrize("missing", ["machine", "networks"])
def test_without_facts_every_rule_is_silent(make: Make, rule: Any, missing: str) -> None:
    notes = {key: value for key, value in known().items() if key != missing}
    assert rule(make()) == []
    assert rule(transfers(make, 8, notes=notes)) == []
