"""Cards as their driver sees them: a stand-in for NVIDIA's library, a folder for AMD's files."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from hotloop.measure.cards import AmdCard, CardError, CardWatch, NvidiaCard, Reading


class Nvml:
    """NVIDIA's library with two cards, as far as hotloop asks it."""

    def __init__(self, **answers: int) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.asked.append(name)
            answer = self.answers.get(name, 0)
            if answer == 0:
                self._fill(name, [getattr(a, "_obj", None) for a in arguments])
            return answer

        return call

    @staticmethod
    def _fill(name: str, places: list[Any]) -> None:
        last = places[-1] if places else None
        if name == "nvmlDeviceGetCount_v2":
            last.value = 2
        elif name == "nvmlDeviceGetUtilizationRates":
            last.gpu = 40
        elif name == "nvmlDeviceGetMemoryInfo":
            last.used = 5_000_000
        elif name == "nvmlDeviceGetPowerUsage":
            last.value = 250_000
        elif name == "nvmlDeviceGetClockInfo":
            last.value = 1980
        elif isinstance(last, ctypes.c_void_p):
            last.value = 1


def test_one_look() -> None:
    card = NvidiaCard("GPU-1", 0, Nvml())
    assert card.cards == 2
    assert card.read() == Reading(0.4, 5_000_000, 250.0, 1980.0)


def test_a_card_that_has_no_such_name_is_found_by_number() -> None:
    nvml = Nvml(nvmlDeviceGetHandleByUUID=6)
    NvidiaCard("GPU-1", 1, nvml)
    assert nvml.asked[-1] == "nvmlDeviceGetHandleByIndex_v2"


@pytest.mark.parametrize(
    ("answer", "why"), [(9, "not loaded"), (4, "no permission"), (77, "NVML returned error 77")]
)
def test_a_driver_that_does_not_answer(answer: int, why: str) -> None:
    with pytest.raises(CardError, match=why):
        NvidiaCard("", 0, Nvml(nvmlInit_v2=answer))


def test_what_is_not_permitted_is_left_out() -> None:
    reading = NvidiaCard("", 0, Nvml(nvmlDeviceGetPowerUsage=4)).read()
    assert reading.power_w is None
    assert reading.clock_mhz == 1980.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def watched(nvml: Any, clock: Clock) -> CardWatch:
    return CardWatch(lambda uuid, index: NvidiaCard(uuid, index, nvml), clock)


def test_looks_become_gauges() -> None:
    clock, gauges = Clock(), {}
    watch = watched(Nvml(), clock)
    watch.read(gauges, "", 0, used=2)
    clock.now += 2.0
    watch.read(gauges, "", 0, used=2)
    assert gauges == {
        "gpu_memory": 5_000_000,
        "gpu_power_w": 250.0,
        "gpu_clock_mhz": 1980.0,
        "gpu_busy_ns": 0.4 * 2e9,
    }
    assert watch.remarks == []


def test_two_cards_of_which_one_is_used() -> None:
    watch = watched(Nvml(), Clock())
    watch.read({}, "", 0, used=1)
    watch.read({}, "", 0, used=1)
    (remark,) = watch.remarks
    assert remark.startswith("2 GPUs, 1 in use")


def test_a_card_that_is_lost_while_training() -> None:
    nvml, gauges = Nvml(), {}
    watch = watched(nvml, Clock())
    watch.read(gauges, "", 0, used=2)
    nvml.answers["nvmlDeviceGetUtilizationRates"] = 15
    watch.read(gauges, "", 0, used=2)
    nvml.asked.clear()
    watch.read(gauges, "", 0, used=2)
    assert nvml.asked == []
    assert "gpu_power_w" not in gauges
    assert watch.remarks == [
        "The GPU's load, memory, power and clocks are not known: the GPU was lost."
    ]


def test_no_library_is_one_line() -> None:
    def find(uuid: str, index: int) -> NvidiaCard:
        raise CardError("the driver's library (NVML) was not found")

    watch = CardWatch(find, Clock())
    watch.read({}, "", 0, used=1)
    assert "NVML" in watch.remarks[0]


def test_an_amd_card(tmp_path: Path) -> None:
    device = tmp_path / "sys/class/drm/card1/device"
    (device / "hwmon/hwmon3").mkdir(parents=True)
    (tmp_path / "sys/class/drm/card0/device").mkdir(parents=True)  # not a GPU of AMD's
    (device / "gpu_busy_percent").write_text("37\n")
    (device / "mem_info_vram_used").write_text("123456\n")
    (device / "hwmon/hwmon3/power1_average").write_text("90000000\n")
    card = AmdCard(0, tmp_path)
    assert card.cards == 1
    assert card.read() == Reading(0.37, 123456, 90.0, None)
    (device / "gpu_busy_percent").write_text("")
    (device / "mem_info_vram_used").unlink()
    with pytest.raises(CardError):
        card.read()


def test_no_amd_card(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="no card"):
        AmdCard(0, tmp_path)
