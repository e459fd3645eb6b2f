"""How large pages are, how long they take to make, and how long to open in a real browser.

    python -m benchmarks.pages FOLDER

Records twenty seconds of each training program, makes its page and opens it three times in headless
Chromium; then stretches a run with environment workers to eight hours and 64 workers (`stretch`)
and does the same. Needs what the programs need, Playwright and Chromium; takes some minutes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.scale import make
from benchmarks.stretch import stretch
from hotloop.analyze.processes.training import read_capture

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
PROGRAMS = {
    "snake_dqn": ["--slow"],
    "petri_ppo": [],
    "portfolio_ppo": [],
    "ricochet_rgb": [],
    "trading_dqn": [],
}
#: The run that is stretched: one with workers in processes of their own.
WITH_WORKERS = ("portfolio_ppo", ["--vec", "subproc", "--envs", "4"], "24000steps")
HOURS, WORKERS = 8.0, 64


def record(folder: Path, name: str, arguments: list[str], stop_after: str) -> Path:
    """A capture of a training program, made by the real command."""
    script = WORKLOADS / name / "train.py"
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(folder)]
    command += ["--stop-after", stop_after, str(script), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


def make_page(capture: Path) -> tuple[Path, str]:
    """The page of a capture, and what making it took."""
    page = capture.with_suffix(".html")
    command = [sys.executable, "-m", "hotloop", "report", str(capture), "-o", str(page), "-f"]
    made = make(command)
    size = page.stat().st_size / 1000
    took = f"{made.cpu_s:.1f} s of processor, {made.wall_s:.1f} s wall, {made.peak_mb:.0f} MB"
    return page, f"{size:.0f} KB in {took}"


def open_page(browser: Any, page: Path) -> str:
    """Seconds until two frames are drawn, three times, and what the console printed."""
    times, printed = [], []
    for _ in range(3):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.on("console", lambda message: printed.append(message.text))
        tab.on("pageerror", lambda error: printed.append(str(error)))
        begin = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        times.append(time.perf_counter() - begin)
        context.close()
    return f"opens in {', '.join(f'{t:.2f}' for t in times)} s; console: {printed or 'silent'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder for captures and pages")
    folder: Path = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        options = ["--no-sandbox", "--disable-gpu"]
        browser = running.chromium.launch(executable_path=chromium, args=options)
        captures = [record(folder / n, n, words, "20s") for n, words in PROGRAMS.items()]
        name, words, stop_after = WITH_WORKERS
        workers = record(folder / "workers", name, words, stop_after)
        stretch(read_capture(workers), folder / "eight-hours", HOURS, WORKERS)
        for capture in [*captures, folder / "eight-hours"]:
            page, made = make_page(capture)
            print(f"{capture.name}: {made}; {open_page(browser, page)}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
