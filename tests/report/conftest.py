"""What the tests of reports share: a real run with all that a report can show, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import browser as browser  # a fixture
from recorded_run import HOSTILE, findings, record

from hotloop.analyze.analysis import analyze
from hotloop.capture.reader import read_capture
from hotloop.report.output import Material


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with workers, a thread, an evaluation, single calls and hostile names."""
    return record(tmp_path_factory.mktemp("recorded"), HOSTILE, "--trace")


@pytest.fixture(scope="session")
def material(recorded: Path) -> Material:
    """That run, read and understood, with hostile findings."""
    capture = read_capture(recorded)
    return Material(analyze(capture), findings(HOSTILE[0]), capture=capture)


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
