"""`--functions exact` and `--functions off`."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import LOOP, Hotloop, report


@pytest.mark.real_time
def test_exact_functions_leave_a_file_that_pstats_opens(hotloop: Hotloop, tmp_path: Path) -> None:
    import pstats

    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(50)\n")
    hotloop("run", "-q", "-o", "cap", "--functions", "exact", str(script))
    stats = pstats.Stats(str(tmp_path / "cap" / "main.prof"))
    assert any(name == "busy" for _, _, name in stats.stats)
    document = report(hotloop)
    rows = {row["function"]: row for row in document["exact_functions"]}
    assert rows["busy"]["calls"] == 100
    assert not any("hotloop" in f"{row['file']} {row['function']}" for row in rows.values())
    assert rows["train"]["total_s"] >= rows["busy"]["total_s"] > 0
    assert "by cumulative time" in hotloop("report", "cap").stdout


THREADS = """
import threading, time

def inner():
    time.sleep(0.001)

def beside():
    while not done:
        inner_of_the_other()

def inner_of_the_other():
    time.sleep(0.0005)

def outer():
    for _ in range(200):
        inner()

done = False
thread = threading.Thread(target=beside)
thread.start()
outer()
done = True
thread.join()
"""


@pytest.mark.parametrize("pure", ["0", "1"])
def test_calls_of_other_threads_are_not_taken_for_the_main_threads(
    hotloop: Hotloop, tmp_path: Path, pure: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(THREADS)
    environment = {"HOTLOOP_PURE": pure}
    hotloop("run", "-q", "-o", "cap", "--functions", "exact", str(script), env=environment)
    rows = {row["function"]: row for row in report(hotloop)["exact_functions"]}
    assert "inner_of_the_other" not in rows
    assert rows["outer"]["total_s"] >= rows["inner"]["total_s"] >= 0.2


def test_functions_off(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(100)\n")
    hotloop("run", "-q", "-o", "cap", "--functions", "off", str(script))
    document = report(hotloop)
    assert document["functions"] == []
    assert document["coverage"] > 0.97
