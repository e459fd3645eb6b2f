"""Makes the pictures of the documentation again, from real runs: `make pictures`.

Each command below is run and the page that it leaves is photographed. A run on a busy machine says
so in its report and is no picture for a first screen: nothing is overwritten then.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

REPOSITORY = Path(__file__).resolve().parent.parent
IMAGES = REPOSITORY / "docs" / "images"
#: Of the loop, waiting for a CPU core: above it the report leads with the busy machine.
MOST_WAITING = 0.05
WIDTH, SCALE = 1180, 1.5
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
TERMINAL = """<body style="margin:0;background:#16181d;display:inline-block">
<style>pre {{ font: 14px/1.35 'DejaVu Sans Mono', monospace; color: #d8dce4 }}</style>
<pre style="padding: 18px 22px; margin: 0">{}</pre>
"""


def hotloop(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "hotloop", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def record(folder: Path) -> float:
    """A run of the demo; returns the share of its loop that waited for a CPU core."""
    shutil.copytree(REPOSITORY / "workloads" / "snake_dqn", folder / "snake_dqn")
    program = ["snake_dqn/train.py", "--slow", "--no-evaluation", "--steps", "25600"]
    hotloop(folder, "run", "-q", "-o", "capture", *program)
    hotloop(folder, "report", "capture", "-o", "page.html")
    text = hotloop(folder, "report", "capture", "--top", "6")
    page = TERMINAL.format(html.escape("$ hotloop run " + " ".join(program) + "\n" + text))
    (folder / "terminal.html").write_text(page, encoding="utf-8")
    document: dict[str, Any] = json.loads(hotloop(folder, "report", "capture", "--format", "json"))
    return float(document["bounds"]["whole"]["cores"])


def photograph(folder: Path) -> None:
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": 820}, device_scale_factor=SCALE
        )
        page = context.new_page()
        page.goto((folder / "page.html").as_uri())
        page.screenshot(path=IMAGES / "page.png")
        page.locator("#breakdown").screenshot(path=IMAGES / "breakdown.png")
        page.goto((folder / "terminal.html").as_uri())
        page.locator("pre").screenshot(path=IMAGES / "terminal.png")
        browser.close()
    for name in ("page", "breakdown", "terminal"):
        shrink(IMAGES / f"{name}.png")


def shrink(path: Path) -> None:
    """Text needs few colors: a third of the size."""
    Image.open(path).convert("RGB").quantize(16).save(path, optimize=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        waited = record(folder)
        if waited > MOST_WAITING and "--anyway" not in sys.argv:
            print(f"the main thread waited for a core {waited:.0%} of the loop: no picture")
            return 1
        photograph(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
