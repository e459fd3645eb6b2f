"""The record of an investigation: every claim, and nothing that a site would take for markup."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("scipy")
from made_experiments import investigation

from hotloop.report.results.investigation import (
    goal_in_words,
    investigation_document,
    investigation_markdown,
    verdict_in_words,
)


def test_the_record_has_a_row_and_a_section_for_each_claim() -> None:
    made = investigation()
    record = investigation_markdown(made, "2026-01-02", "x86_64")
    assert record.startswith("# Investigation of `train.py --slow`\n")
    rows = [line for line in record.splitlines() if line.startswith("| ")]
    assert sum(line.startswith("### ") for line in record.splitlines()) == len(made.tried)
    assert all(row.count(" | ") >= 3 for row in rows)
    assert "<" not in record
    assert "\x1b" not in record


def test_verdicts_and_goals_in_words() -> None:
    made = investigation()
    assert verdict_in_words(made.tried[0]) == "confirmed"
    assert verdict_in_words(made.tried[3]).startswith("could not be tried (it printed")
    assert goal_in_words(made)[0].startswith("The minimum goal of 1.5x: met")


def test_json_has_the_slope_of_a_delay_and_nothing_for_what_was_not_measured() -> None:
    document = json.loads(json.dumps(investigation_document(investigation())))
    measured = [each["measured"] for each in document["hypotheses"]]
    assert measured[2]["low"] < 1.0 < measured[2]["high"]
    assert measured[3] is None
