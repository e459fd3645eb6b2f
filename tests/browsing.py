"""A real Chromium for the tests of pages; a conftest or a test imports the fixture from here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
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
