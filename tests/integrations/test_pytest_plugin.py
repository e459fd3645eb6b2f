"""The plugin in real runs of pytest: it fails what is certain, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "integrations.md").read_text()

#: A training with a set speed: a step takes `step` seconds, and logging `log` of that.
TRAINING = """
import os, time
from hotloop import count, profile

def wait(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def train(steps=2500, step=0.001):
    step *= float(os.environ.get("SLOWER", "1"))
    log = float(os.environ.get("LOG", "0.01"))
    for at in range(min(steps, 2500)):
        with profile("env.step"):
            wait(step * (1 - log))
        with profile("log"):
            wait(step * log)
        count("env_steps", 1)
"""


def documented() -> str:
    match = re.search(r"<!-- runs: pytest -->\n```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert match
    return match[1]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project with the documented test; `project()` runs pytest in a process of its own."""
    pytester.makepyfile(training=TRAINING, test_speed=documented())
    for name in ("SLOWER", "LOG"):
        monkeypatch.delenv(name, raising=False)

    def run(*options: str, **variables: str) -> pytest.RunResult:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            plugin = "hotloop.integrations.pytest_plugin"
            return pytester.runpytest_subprocess("-p", "no:hotloop", "-p", plugin, "-q", *options)

    return run


def test_against_a_baseline(project: Any, pytester: pytest.Pytester) -> None:
    first = project()
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["*no baseline yet*--hotloop-update-baseline*"])
    commands = re.findall(r"^\$ pytest *(.*?) +#", DOCUMENT, re.MULTILINE)
    assert len(commands) == 2  # as documented: now it is good; is it still?
    project(*commands[0].split()).assert_outcomes(passed=1)
    file = pytester.path / ".hotloop-baseline" / "test_speed" / "test_training_stays_fast.jsonl"
    assert file.is_file()
    assert str(pytester.path) not in file.read_text()  # nothing of the machine's folders

    same = project(*commands[1].split())
    same.assert_outcomes(passed=1)
    same.stdout.fnmatch_lines(["*times the baseline's steps per second, at least 0.90*"])

    slower = project(SLOWER="4")
    slower.assert_outcomes(failed=1)
    slower.stdout.fnmatch_lines(
        ["*over its limits by more than noise*", "*0.?? * times the baseline's steps per second*"]
    )
    captures = list(pytester.path.glob("runs/hotloop/test_training_stays_fast-*/main.jsonl"))
    assert captures  # to look into


def test_a_share_that_is_too_large(project: Any) -> None:
    failed = project(LOG="0.4")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["log ??.?% (* to *) of the loop, at most 5.0%"])


SHORT = """
import pytest
from training import train

@pytest.mark.hotloop(max_share={"log": 0.05})
def test_short():
    train(steps=100)

@pytest.mark.hotloop(max_phase_ratio={"env.step": 1.2})
def test_phase():
    train()
"""


def test_what_cannot_be_told_never_fails(project: Any, pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("test_speed.py").unlink()
    pytester.makepyfile(test_short=SHORT)
    project("--hotloop-update-baseline").assert_outcomes(passed=2)
    short = project("test_short.py::test_short", LOG="0.5")
    short.assert_outcomes(passed=1)
    short.stdout.fnmatch_lines(["*log *% of the loop, at most 5.0% (too short*: cannot tell"])
    # The same file as if another machine had made it.
    file = pytester.path / ".hotloop-baseline" / "test_short" / "test_phase.jsonl"
    file.write_text(re.sub(r'"host":"[^"]*"', '"host":"elsewhere"', file.read_text()))
    other = project("test_short.py::test_phase", SLOWER="2")
    other.assert_outcomes(passed=1)
    other.stdout.fnmatch_lines(["*env.step*(different machine*: cannot tell"])


MISTAKES = """
import pytest
from hotloop import count, profile

@pytest.mark.hotloop(max_shares={"log": 0.05})
def test_misspelt(): ...

@pytest.mark.hotloop(max_share={"log": 0.05})
def test_no_training(): ...

@pytest.mark.hotloop(max_share={"loog": 0.05})
def test_no_phase():
    with profile("env.step"):
        count("env_steps", 1)

@pytest.mark.hotloop(max_share={"log": 0.05})
def test_fails_itself():
    with profile("env.step"):
        assert 1 == 2
"""


def test_mistakes_are_told_in_a_line(project: Any, pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("test_speed.py").unlink()
    pytester.makepyfile(test_mistakes=MISTAKES)
    result = project()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "hotloop: the marker takes max_share, *, not max_shares",
            "hotloop: no training loop was recognized*",
            "hotloop: no phase 'loog' was recorded; recorded were env.step",
            "*assert 1 == 2*",
        ]
    )


INERT = """
import sys
def test_nothing_is_loaded():
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & {"numpy", "scipy", "torch", "matplotlib"}
    ours = {name for name in sys.modules if name.startswith("hotloop.")}
    assert "hotloop.integrations.pytest_plugin" in ours
    assert not [n for n in ours if n.startswith(("hotloop.analyze", "hotloop.report", "hotloop.hooks"))]
    from hotloop import get_profiler
    assert not get_profiler().enabled
"""


def test_inert_without_the_mark(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its entry point, as pyproject.toml says; loads nothing, measures nothing."""
    entry = re.search(
        r"\[project.entry-points.pytest11\]\nhotloop = \"(.*)\"",
        (ROOT / "pyproject.toml").read_text(),
    )
    assert entry
    info = pytester.path / "installed" / "hotloop_here-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hotloop-here\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\nhotloop-here = {entry[1]}\n")
    monkeypatch.setenv("PYTHONPATH", f"{info.parent}:{ROOT / 'src'}")
    pytester.makepyfile(INERT)
    result = pytester.runpytest_subprocess(
        "-p",
        "no:hotloop",
        "-p",
        "no:hypothesispytest",
        "-p",
        "no:anyio",
        "-p",
        "no:jaxtyping",
        "--strict-markers",
    )
    result.assert_outcomes(passed=1)
    assert "hotloop ==" not in result.stdout.str()
    assert (
        pytester.runpytest_subprocess("-p", "no:hotloop", "--markers")
        .stdout.str()
        .count("mark.hotloop(")
        == 1
    )


def test_the_plugin_needs_no_new_pluggy() -> None:
    """Before 1.2 there is no `wrapper=True`; a plugin that uses it breaks every run of pytest."""
    from hotloop.integrations import pytest_plugin

    options = pytest_plugin.pytest_runtest_call.pytest_impl  # type: ignore[attr-defined]
    assert options["hookwrapper"]
    assert not options.get("wrapper")


def test_a_failure_with_an_old_pluggy() -> None:
    class OldResult:
        _excinfo: Any = None

    from hotloop.integrations.pytest_plugin import _fail

    outcome = OldResult()
    _fail(outcome, "too slow")
    assert outcome._excinfo[0] is pytest.fail.Exception
    assert outcome._excinfo[1].msg == "too slow"
