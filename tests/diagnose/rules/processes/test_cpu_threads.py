"""Rules on threads and cores: at their thresholds, and silent without what they need."""

from __future__ import annotations

from typing import Any

import pytest
from analyses import Make, frame, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.capture.window import PhaseDelta
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.rules.processes import cpu_threads
from hotloop.histogram import bucket_of


def notes(torch: int = 8, cores: int = 2, quota: float | None = None) -> dict[str, Any]:
    return {
        "threads": {"torch": torch},
        "machine": {"cores": cores, "quota_cores": quota},
    }


def loop(**gauges: float) -> Any:
    """Ten seconds with gauges that rise to these."""
    return [
        window(i, {}, gauges={name: value * i / 9 for name, value in gauges.items()})
        for i in range(10)
    ]


def crowded(make: Make, waiting: float = 0.8, **more: Any) -> Analysis:
    given = {"notes": notes(), "windows": loop(run_delay_s=20.0)} | more
    return make(
        phase("policy.act", 2.0, waiting_share=waiting),
        phase("learn.backward", 6.0, waiting_share=waiting),
        **given,
    )


def test_more_threads_than_cores_that_wait_for_each_other(make: Make) -> None:
    (found,) = cpu_threads.thread_oversubscription(crowded(make))
    assert found.id == "thread-oversubscription"
    assert found.severity == "critical"
    assert found.confidence == "high"
    # 8 of 10 seconds in networks, of which a fifth is work.
    assert found.gain.low < 1 / (1 - 0.8 * 0.8) < found.gain.high
    assert "set_num_threads(1)" in found.after


@pytest.mark.parametrize(("waiting", "said"), [(0.29, False), (0.31, True)])
def test_at_least_three_tenths_must_be_waiting(make: Make, waiting: float, said: bool) -> None:
    assert bool(cpu_threads.thread_oversubscription(crowded(make, waiting))) is said


def test_as_many_threads_as_cores_wait_for_other_programs(make: Make) -> None:
    analysis = crowded(make, notes=notes(torch=2), windows=loop(run_delay_s=50.0))
    assert cpu_threads.thread_oversubscription(analysis) == []


def test_the_number_during_the_loop_counts_not_the_one_at_the_end(make: Make) -> None:
    """A collector sets its own number and puts the old one back when it is shut down."""
    windows = loop(run_delay_s=20.0)
    for each in windows:
        each.gauges["torch_threads"] = 1
    assert cpu_threads.thread_oversubscription(crowded(make, windows=windows)) == []


def test_one_thread_is_never_too_many(make: Make) -> None:
    analysis = crowded(make, notes=notes(torch=1), windows=loop(run_delay_s=50.0))
    assert cpu_threads.thread_oversubscription(analysis) == []


def test_workers_count(make: Make) -> None:
    analysis = crowded(
        make,
        notes=notes(torch=2),
        windows=[],
        worker_notes={"Process-1": {"threads": {"torch": 2}}},
    )
    assert cpu_threads.thread_oversubscription(analysis) == []  # it uses no network
    analysis.phases.append(phase("policy.act", 5.0, process="Process-1"))
    (found,) = cpu_threads.thread_oversubscription(analysis)
    assert found.evidence["processes"] == 2
    assert found.confidence == "medium"  # waiting for cores was not recorded


def test_networks_that_hardly_run_do_not_matter(make: Make) -> None:
    analysis = make(
        phase("policy.act", 0.4, waiting_share=0.9), notes=notes(), windows=loop(run_delay_s=20.0)
    )
    assert cpu_threads.thread_oversubscription(analysis) == []


# -- containers --


def container(make: Make, quota: float | None = 2.0, periods: float = 100, **more: Any) -> Analysis:
    gauges = {"throttled_s": 24.0, "throttled_periods": 60.0, "quota_periods": periods} | more
    return make(
        phase("learn.backward", 6.0, waiting_share=0.8),
        notes=notes(torch=8, cores=8, quota=quota),
        windows=loop(**gauges),
        header={"cores": 8},
    )


def test_threads_beyond_the_containers_share(make: Make) -> None:
    analysis = container(make)
    (found,) = cpu_threads.cpu_quota(analysis)
    assert found.id == "cpu-quota"
    assert "set_num_threads(2)" in found.after
    assert 1.1 < found.gain.low < found.gain.high < 2
    assert cpu_threads.thread_oversubscription(analysis) == []


@pytest.mark.parametrize(("periods", "said"), [(1300, False), (1100, True)])
def test_held_back_in_a_twentieth_of_the_periods(make: Make, periods: float, said: bool) -> None:
    assert bool(cpu_threads.cpu_quota(container(make, periods=periods))) is said


@pytest.mark.parametrize("quota", [None, 8.0, 16.0])
def test_no_limit_below_the_threads(make: Make, quota: float | None) -> None:
    assert cpu_threads.cpu_quota(container(make, quota)) == []


@pytest.mark.parametrize("rule", cpu_threads.RULES)
@pytest.mark.parametrize(
    "known", [{}, {"threads": {}}, {"threads": {"torch": "8"}}, {"machine": 3}, notes(torch=8)]
)
def test_without_facts_every_rule_is_silent(make: Make, rule: Any, known: dict[str, Any]) -> None:
    assert rule(make(notes=known, header={})) == []
    assert rule(make(phase("learn.backward", 6.0), notes=known, header={})) == []


def slowed(make: Make, networks: float, threads: int = 2) -> Analysis:
    """Calls whose fastest tenth take a millisecond, and which take this long on the whole."""
    analysis = make(
        phase("learn.backward", networks, calls=100),
        phase("env.step", 0.4, calls=100),
        notes=notes(torch=threads),
        windows=loop(main_delay_s=6.0),
        env_steps=100,
    )
    for path, total_s in (("learn.backward", networks), ("env.step", 0.4)):
        counts = {bucket_of(1_000_000): 10, bucket_of(round(total_s / 90 * 1e9)): 90}
        analysis.loop_windows[0].phases[path] = PhaseDelta(100, 0, 0, histogram=counts)
    return analysis


def test_threads_wait_for_each_other_on_busy_cores(make: Make) -> None:
    (found,) = cpu_threads.thread_oversubscription(slowed(make, networks=5.0))
    assert found.confidence == "medium"
    assert "OMP_NUM_THREADS=1" in found.verify
    # Other code is slowed down 4 times, networks 50 times: one thread would take a tenth to a fifth.
    assert found.evidence["networks_at_their_fastest_s"] == pytest.approx(0.1, rel=0.1)
    assert 1 / (1 - 0.5 * 0.9) > found.gain.low > 1.3
    assert not cpu_threads.thread_oversubscription(slowed(make, networks=0.7))
    assert not cpu_threads.thread_oversubscription(slowed(make, networks=5.0, threads=1))


def test_threads_of_numpy_that_wait_for_cores(make: Make) -> None:
    """Both the main thread and its helpers wait; not where the helpers hardly compute."""
    einsum = frame("einsum", "/venv/lib/python3.11/site-packages/numpy/_core/einsumfunc.py")
    samples = [sample("", 9.0, einsum, frame("Bandit.scores", line=16))]

    def found(helpers_s: float, waited_s: float) -> list[Finding]:
        windows = loop(main_cpu_s=4.0, main_delay_s=waited_s, run_delay_s=2 * waited_s)
        for each in windows:
            each.gauges["process_cpu_ns"] = (4.0 + helpers_s) * 1e8
        return cpu_threads.threads_of_numpy(make(samples=samples, windows=windows))

    (one,) = found(helpers_s=4.0, waited_s=4.0)
    assert one.id == "thread-oversubscription"
    assert one.where[0].line == 16
    assert "OMP_NUM_THREADS=1" in one.verify
    assert found(helpers_s=0.4, waited_s=4.0) == []
    assert found(helpers_s=4.0, waited_s=0.4) == []


def test_one_thread_is_slowed_down_by_other_programs_too(make: Make) -> None:
    """The gain is smaller where others use the cores than where the run's own threads do."""
    gains = []
    for own_cores in (2.0, 0.2):
        analysis = slowed(make, networks=5.0, threads=8)
        analysis.run.cpu_share = own_cores
        (found,) = cpu_threads.thread_oversubscription(analysis)
        gains.append(found.gain.low)
    assert gains[0] > gains[1] > 1.0
