"""A real Chromium for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)  # fmt: skip


# Not for the whole session: while it runs, Playwright's event loop is this thread's.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium, without a screen."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    options = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=options)
        yield chromium
        chromium.close()


class Opened:
    """A page with everything that it said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; at the end it must have been silent and asked for nothing."""
    opened: list[Opened] = []
    contexts = []

    def open_at(path: Path, place: str = "", width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **options
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        opened.append(Opened(context.new_page()))
        opened[-1].page.goto(path.as_uri() + place)
        return opened[-1].page

    yield open_at
    for each in opened:
        assert each.said == []
        assert all(url.startswith("file://") for url in each.asked)
        assert len(each.asked) == 1
    for context in contexts:
        context.close()
