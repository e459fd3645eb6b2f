"""Returns in words and as data."""

from __future__ import annotations

import json

import pytest
from analyses import Make

from hotloop.analyze.over_time.returns import ReturnPoint, RunReturns
from hotloop.capture.episodes import EpisodeDelta
from hotloop.report.words.returns import headline_part, returns_document, small_print

TEN = EpisodeDelta(10, 0, 100.0, 1040.0, 8.0, 12.0, 500, 40, 60)


def test_the_headline_has_the_last_tenth_and_evaluations(make: Make) -> None:
    seen = make(env_steps=500)
    assert headline_part(seen) == ""
    seen.returns = RunReturns(training=TEN, last=10.0)
    assert headline_part(seen) == "return 10 (last tenth)"
    seen.returns.evaluation_last = 11.5
    assert headline_part(seen) == "return 10 (last tenth; evaluation 11.5)"


@pytest.mark.parametrize(
    ("returns", "words"),
    [
        (RunReturns(training=TEN), ""),
        (RunReturns(why_none="no episode ended"), "No return is shown: no episode ended."),
        (RunReturns(training=EpisodeDelta(unknown=1)), "1 episode had a return that is not"),
        (RunReturns(training=TEN, shaped=EpisodeDelta(10, 0, 20.0)), "mean return 2 instead of 10"),
    ],
)
def test_remarks(make: Make, returns: RunReturns, words: str) -> None:
    seen = make(env_steps=500)
    seen.returns = returns
    assert words in small_print(seen)
    assert bool(small_print(seen)) is bool(words)


def test_the_document_is_json_and_empty_without_episodes(make: Make) -> None:
    seen = make(env_steps=500)
    assert returns_document(seen) is None
    seen.returns = RunReturns(training=TEN, points=[ReturnPoint(2.0, 500.0, 10.0, TEN)])
    document = json.loads(json.dumps(returns_document(seen)))
    assert document["training"]["mean"] == 10.0
    assert document["training"]["deviation"] == 2.0
    assert document["curve"][0]["mean_length"] == 50.0
    assert document["shaped"] is None
