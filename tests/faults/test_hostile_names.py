"""Hostile names in regions, arguments, files, processes and metadata, in everything that is written.

The tests of each renderer have the names that are hardest for it; here are all of them, from a real
run, through every format, on a real terminal's emulator and in a real browser.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotloop.cli import main as hotloop_main
from hotloop.report.formats import FORMATS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="such file names are Unix's")

HOSTILE = {
    "a terminal's escapes": "\x1b[2J\x1b]0;pwned\x07\x1b]52;c;cHduZWQ=\x07\x9b31m\x90q\x9c",
    "lines": "one\r\ntwo\rthree\x0b\x0c\x85\u2028\u2029four",
    "bidi": "\u202eevil\u2066\u2069\u200f\u061c",
    "markup": "</script></style><img src=x onerror=window.pwned=1><!--<script>window.pwned=2//",
    "attributes": "\" onmouseover='window.pwned=3' x=\"{{7*7}}${7*7}",
    "markdown": "|a| `b` [c](javascript:window.pwned=4) ![d](http://evil.example/x) <b>e</b> ~~f~~ # g",
    "formula": "=HYPERLINK(\"http://evil.example\")",
    "path": "../../../../../../tmp/pwned",
    "absolute": "/etc/passwd",
    "nothing": "",
    "NUL": "a\x00b",
    "half a letter": "\ud800\udfff",
    "huge": "x" * 20_000,
    "separators": "a/b//c/@thread-1/",
}  # fmt: skip

PROGRAM = """
import json, multiprocessing, sys, time
from hotloop import count, profile
from hotloop.run.current import current_session

HOSTILE = json.load(open("names.json"))
for name in HOSTILE:
    current_session().recorder.note("remarks", HOSTILE)
    current_session().profiler.core.failures[name] = name
    current_session().recorder.note("libraries", {name: {"version": name, "places": 1, "missing": [name]}})

def worker():
    with profile("env.step"):
        time.sleep(0.01)

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

if __name__ == "__main__":
    # Functions of files with such names.
    spaces = []
    for name in HOSTILE:
        space = {"busy": busy}
        exec(compile("def work():\\n    busy(0.03)\\n", name.replace("\\0", "") or "?", "exec"), space)
        spaces.append(space["work"])
    with profile("collect"):
        for name, work in zip(HOSTILE, spaces):
            with profile(name, category=name), profile("inner"):
                work()
            count(name)
        count("env_steps")
    for name in HOSTILE:
        process = multiprocessing.get_context("fork").Process(target=worker, name=name)
        process.start()
        process.join()
"""

#: What no line on a terminal may hold.
FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

SCRIPT = "tr\x1b[2J\u202e<img src=x onerror=window.pwned=5>.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of such a program, and all that hotloop can make of it."""
    folder = tmp_path_factory.mktemp("hostile") / "a" / "b" / "c"
    folder.mkdir(parents=True)
    (folder / SCRIPT).write_text(PROGRAM)
    (folder / "names.json").write_text(json.dumps(list(HOSTILE.values())))
    arguments = [
        name.replace("\0", "") for name in HOSTILE.values() if name != HOSTILE["half a letter"]
    ]
    words = [
        os.fsencode(each) for each in (sys.executable, "-m", "hotloop", "run", "--trace", SCRIPT)
    ]
    done = subprocess.run(
        [*words, *map(os.fsencode, arguments), b"\xff\xfe"],
        cwd=folder, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "told.txt").write_bytes(done.stderr)
    (capture,) = (folder / "runs" / "hotloop").iterdir()
    for name, each in FORMATS.items():
        if name == "png":
            continue
        which = "export" if each.export else "report"
        out = (
            folder
            / f"out{each.endings[0] if each.endings[0].startswith('.') else '.' + each.endings[0]}"
        )
        assert hotloop_main([which, str(capture), "-o", str(out), "-f"]) == 0, name
    return folder


def test_nothing_is_written_outside_the_folder(made: Path, say) -> None:
    top = made.parents[2]
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    all_files = {path for path in top.rglob("*") if path.is_file()}
    assert len(all_files) == len(files)
    assert not Path("/tmp/pwned").exists()
    (capture,) = (made / "runs" / "hotloop").iterdir()
    assert re.fullmatch(r"[\w.-]+", capture.name), capture.name
    names = [path.name for path in capture.iterdir()]
    assert all(re.fullmatch(r"[\w.-]+", name) and not name.startswith(".") for name in names), names
    assert len([name for name in names if name.endswith(".jsonl")]) == len(HOSTILE) + 1
    say(
        f"{len(HOSTILE)} hostile names: {len(names)} files of a capture, each with a plain name in its folder"
    )


def test_no_text_can_steer_a_terminal(made: Path, say) -> None:
    files = [
        made / name
        for name in ("told.txt", "out.txt", "out.md", "out.csv", "out.collapsed", "out.svg")
    ]
    for path in files:
        text = path.read_bytes().decode()
        if path.name == "told.txt":
            assert "collect" in text
        found = FORBIDDEN.search(text)
        assert found is None, (
            f"{path.name}: {found[0]!r} in {text[max(found.start() - 40, 0) :][:80]!r}"
        )
    assert max(map(len, (made / "out.txt").read_text().splitlines())) <= 120
    assert len((made / "out.md").read_text()) < 500_000
    say(f"{len(files)} files of text: no control character, no line that is turned around")


def test_errors_cannot_steer_a_terminal_either(capsys: pytest.CaptureFixture[str], say) -> None:
    for name in HOSTILE.values():
        for words in (
            ["report", name],
            ["run", name],
            ["export", name, "-o", "x.csv"],
            [name],
            ["live", name],
        ):
            if not name or "\0" in name or (words[0], name) == ("run", HOSTILE["absolute"]):
                continue
            assert hotloop_main(words) == 2
            told = capsys.readouterr().err
            assert FORBIDDEN.search(told) is None, (words[0], told[:200])
    say(
        f"{len(HOSTILE) - 2} hostile names as arguments of 5 commands: errors without control characters"
    )


def test_other_tools_can_read_what_is_written_for_them(made: Path, say) -> None:
    for name in ("out.json", "out.detailed.json", "out.speedscope.json", "out.perfetto.json"):
        text = (made / name).read_text(encoding="utf-8")
        assert json.loads(text)
        assert FORBIDDEN.search(text) is None, name
    rows = list(csv.reader(io.StringIO((made / "out.csv").read_text())))
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if re.match(r"[=+@]|-\D", cell)]
    for line in (made / "out.collapsed").read_text().splitlines():
        assert re.fullmatch(r".+ \d+", line)
    parser = (
        pytest.importorskip("markdown_it")
        .MarkdownIt("gfm-like", {"linkify": False})
        .enable("table")
    )
    tokens = parser.parse((made / "out.md").read_text())
    inline = {child.type for token in tokens for child in token.children or []}
    assert not {"html_inline", "link_open", "image"} & inline
    assert "html_block" not in {token.type for token in tokens}
    svg = (made / "out.svg").read_text()
    assert "<script" not in svg
    assert "onerror=window.pwned" not in re.sub(r"&lt;.*?&gt;", "", svg)
    say("JSON, CSV, Markdown, SVG and stacks: parsed, no formula, no link, no markup")


def test_the_page_in_a_real_browser(made: Path, browser: Any, say) -> None:
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("dialog"), dialog.dismiss()))
    page.goto((made / "out.html").as_uri())
    page.wait_for_timeout(300)
    for target in page.locator("#phases tbody td:first-child a").all()[:3]:
        target.click(timeout=30_000)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("[onerror], [onmouseover], [onclick], [onload]").count() == 0
    assert FORBIDDEN.search(page.inner_text("body").replace("\n", " ")) is None
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1"
    )
    assert (len(asked), said) == (1, [])
    page.close()
    say("the page in Chromium: nothing ran, nothing was asked for, nothing stands out of it")


@pytest.mark.parametrize(
    "name", ["path", "absolute", "a terminal's escapes", "markup", "huge", "bidi"]
)
def test_a_captures_name_stays_in_its_folder(
    name: str, hotloop: Callable[..., Any], tmp_path: Path
) -> None:
    done = hotloop("run", "-q", "--name", HOSTILE[name], "-c", "pass")
    assert done.returncode == 0, done.stderr
    (made,) = (tmp_path / "runs" / "hotloop").iterdir()
    assert re.fullmatch(r"[\w.-]{1,120}", made.name)
    assert not made.name.startswith(".")
