"""The page as a notebook shows it: in a frame of its own, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotloop.integrations.notebook import CellReport


def test_the_frame_works(browser: Any, recorded: Path, tmp_path: Path) -> None:
    frame = CellReport(recorded)._repr_html_()
    assert frame is not None
    page_file = tmp_path / "notebook.html"
    page_file.write_text(f"<!doctype html><meta charset=utf-8><title>n</title>{frame}")
    page = browser.new_page()
    errors: list[str] = []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(page_file.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("table").first.wait_for(timeout=20_000)
    assert "env.step" in inside.locator("body").inner_text()
    assert errors == []
    # A page that comes from a program must not reach the notebook around it.
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None
    page.close()
