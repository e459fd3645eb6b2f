"""Rules on accelerators, on analyses made by hand: no accelerator, no finding."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from analyses import Make, found_by, phase, window

from hotloop.analyze.bounds import Bound
from hotloop.analyze.device_use import DeviceUse, PhaseDevice
from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.rules.frameworks import accelerators


def known(where: str = "cuda", size: int = 20_000, **more: Any) -> dict[str, Any]:
    network = {"device": where, "parameters": size, "convolutions": 0}
    return {
        "machine": {"accelerators": ["CUDA"]},
        "networks": [network],
        "torch_build": "cuda",
    } | more


def loop(busy: float | None = None, **counters: float) -> Any:
    gauges = {} if busy is None else {"gpu_busy_ns": busy * 1e9}
    each = {name: amount / 10 for name, amount in counters.items()}
    return [window(i, {}, counters=each, gauges=gauges) for i in range(10)]


def ids(analysis: Analysis) -> list[str]:
    return [finding.id for finding in found_by(accelerators.RULES, analysis)]


def ppo(make: Make, busy: float | None = 0.05, rows: float = 64, **more: Any) -> Analysis:
    given = {"notes": known()} | more
    analysis = make(
        phase("policy.act", 3.0, 3000),
        phase("learn.forward", 2.0, 1000),
        phase("learn.backward", 3.0, 1000),
        windows=loop(busy, gradient_steps=1000, samples=rows * 1000, env_steps=3000),
        **given,
    )
    analysis.run.counters.update({"gradient_steps": 1000, "samples": rows * 1000})
    return analysis


def test_a_small_network_on_a_device_that_idles(make: Make) -> None:
    (found,) = found_by(accelerators.RULES, ppo(make))
    assert found.id == "small-work-on-gpu"
    assert 1.3 < found.gain.low < found.gain.high
    assert 'device="cpu"' in found.after


@pytest.mark.parametrize(("busy", "said"), [(0.29, True), (0.31, False), (None, False)])
def test_a_device_is_idle_below_three_tenths(make: Make, busy: float | None, said: bool) -> None:
    assert ("small-work-on-gpu" in ids(ppo(make, busy))) is said


def test_a_network_that_the_processor_would_not_do_faster(make: Make) -> None:
    assert ids(ppo(make, rows=2048, notes=known(size=5_000_000))) == []


@pytest.mark.parametrize("shown", [[], None, "CUDA"])
def test_without_an_accelerator_nothing_is_said(make: Make, shown: Any) -> None:
    notes = known() | {"machine": {"accelerators": shown}}
    assert ids(ppo(make, notes=notes)) == []


def on_processor(
    make: Make, step_s: float = 0.05, acts: tuple[Phase, ...] = (), **more: Any
) -> Analysis:
    given = {"notes": known("cpu", 4_000_000)} | more
    analysis = make(
        *acts,
        phase("learn.forward", 80 * step_s, 80),
        phase("learn.backward", 80 * step_s, 80),
        windows=loop(gradient_steps=160, samples=160 * 256),
        **given,
    )
    analysis.run.counters.update({"gradient_steps": 160, "samples": 160 * 256})
    return analysis


def test_a_device_that_nobody_uses(make: Make) -> None:
    (found,) = found_by(accelerators.RULES, on_processor(make))
    assert found.id == "device-unused"
    assert found.gain.low > 2


def test_acting_on_large_batches_moves_with_the_network(make: Make) -> None:
    def ceiling(act_s: float, calls: int) -> float:
        acts = (phase("policy.act", act_s * calls, calls),)
        (found,) = found_by(accelerators.RULES, on_processor(make, acts=acts))
        assert found.ceiling is not None
        return found.ceiling

    assert ceiling(5e-3, 200) > 1.1 * ceiling(0.5e-3, 2000)


@pytest.mark.parametrize(("step_s", "said"), [(0.009, False), (0.02, True)])
def test_a_step_must_be_worth_a_device(make: Make, step_s: float, said: bool) -> None:
    assert (ids(on_processor(make, step_s)) == ["device-unused"]) is said


def test_a_build_that_cannot_use_the_device_is_named(make: Make) -> None:
    notes = known("cpu", 4_000_000, torch_build="cpu")
    (found,) = found_by(accelerators.RULES, on_processor(make, notes=notes))
    assert "built for cpu only" in found.title


def test_a_small_network_belongs_on_the_processor(make: Make) -> None:
    assert ids(on_processor(make, notes=known("cpu", 20_000))) == []


def used(**more: Any) -> DeviceUse:
    """What recordings say: a tenth of the loop's kernels, all launched in `learn.backward`."""
    work = {field.name: 0.0 for field in fields(PhaseDevice)}
    of_phase = work | {"path": "learn.backward", "host_s": 8.0, "kernel_s": 1.0, "known": True}
    phase_use = PhaseDevice(**(of_phase | more))  # type: ignore[arg-type]
    return DeviceUse(
        "CUDA", "a card", "windows", kernel_s=1.0, kernel_share=0.1, phases=[phase_use]
    )


@pytest.mark.parametrize(("launches", "said"), [(49_000, False), (51_000, True)])
def test_many_small_kernels(make: Make, launches: float, said: bool) -> None:
    analysis = make(
        phase("learn.backward", 8.0, 1000),
        notes=known(size=5_000_000),
        windows=loop(gradient_steps=1000),
    )
    assert ids(analysis) == []  # nothing was recorded
    analysis.device = used(launches=launches)
    assert (ids(analysis) == ["launch-bound"]) is said


def test_launches_explain_no_more_time_than_they_take(make: Make) -> None:
    def ceiling(launches: float) -> float:
        analysis = make(
            phase("learn.backward", 8.0, 100),
            notes=known(size=5_000_000),
            windows=loop(gradient_steps=100),
        )
        analysis.device = used(launches=launches)
        (found,) = accelerators.launch_bound(analysis)
        assert found.ceiling is not None
        return found.ceiling

    assert ceiling(10_000) < 1.06 < 3 < ceiling(200_000)


def test_a_simulator_that_launches_in_pieces(make: Make) -> None:
    analysis = make(
        phase("collect", 8.2, 10),
        phase("collect/env.step", 8.0, 1000),
        phase("learn.backward", 0.5, 10),
        notes=known(size=5_000_000),
        windows=loop(gradient_steps=10, env_steps=1000),
    )
    analysis.device = used(path="collect/env.step", launches=800_000)
    (found,) = accelerators.launch_bound(analysis)
    assert found.phase == "env.step"
    assert "800 kernels are launched for each call of `env.step`" in found.title
    assert found.gain.low > 1.4


def test_kernel_time_counts_before_the_drivers_figure(make: Make) -> None:
    analysis = ppo(make, busy=0.9)
    assert accelerators.busy_share(analysis) == pytest.approx(0.9)
    analysis.device = used()
    assert accelerators.busy_share(analysis) == pytest.approx(0.1)


def test_what_moving_to_the_processor_wins_for_certain(make: Make) -> None:
    analysis = ppo(make)
    analysis.device = used()
    guessed = accelerators.small_work_on_gpu(analysis)
    assert guessed == []  # no bounds: nothing of the networks' time is known to go away
    analysis.bounds = {
        name: Bound(python=0.4, native=0.4, launching=0.2)
        for name in ("policy.act", "learn.forward", "learn.backward")
    }
    (found,) = accelerators.small_work_on_gpu(analysis)
    assert 1.1 < found.gain.low < 1.3 < 2 < found.gain.high


@pytest.mark.parametrize(("busy", "said"), [(0.39, True), (0.41, False), (None, False)])
def test_mixed_precision_on_an_idle_device(make: Make, busy: float | None, said: bool) -> None:
    analysis = make(
        phase("learn.backward", 8.0, 1000),
        notes=known(size=5_000_000),
        windows=loop(busy, autocasts=1000),
    )
    assert (ids(analysis) == ["mixed-precision-no-gain"]) is said


@pytest.mark.parametrize(("share", "said"), [(0.4, True), (0.05, False)])
def test_float32_products_that_the_loop_waits_for(make: Make, share: float, said: bool) -> None:
    analysis = make(
        phase("learn.backward", 8.0, 1000),
        notes=known(size=50_000_000),
        windows=loop(0.95, gradient_steps=1000),
    )
    analysis.device = used(kernel_s=7.5, awaited_s=7.0, float32_s=7.5 * share)
    analysis.device.kernel_s, analysis.device.kernel_share = 7.5, 0.75
    found = found_by(accelerators.RULES, analysis)
    assert ([each.id for each in found] == ["tf32-off"]) is said
    for each in found:
        assert each.evidence["seconds"] == pytest.approx(7.0 * share)
        assert each.gain.high <= 1 / (1 - 0.7 * share)


@pytest.mark.parametrize("rule", accelerators.RULES)
@pytest.mark.parametrize("missing", ["machine", "networks"])
def test_without_facts_every_rule_is_silent(make: Make, rule: Any, missing: str) -> None:
    notes = {key: value for key, value in known().items() if key != missing}
    assert rule(make()) == []
    assert rule(ppo(make, notes=notes)) == []


@pytest.mark.parametrize(("size", "said"), [(10_000, True), (50_000_000, False)])
def test_mixed_precision_of_a_small_network_on_the_cpu(make: Make, size: int, said: bool) -> None:
    analysis = make(
        phase("learn.backward", 8.0, 1000),
        notes=known("cpu", size, machine={}),
        windows=loop(gradient_steps=1000, autocasts=1000),
        gradient_steps=1000,
    )
    analysis.run.counters["samples"] = 64_000
    found = accelerators.mixed_precision_no_gain(analysis)
    assert bool(found) is said
