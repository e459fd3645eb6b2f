"""The figures of a run in one line."""

from __future__ import annotations

from analyses import Make, phase
from small_analyses import analysis

from hotloop.capture.episodes import EpisodeDelta
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report
from hotloop.report.markdown import render
from hotloop.report.words.headline import headline_parts


def test_an_episode_that_has_not_ended_does_not_make_the_others_longer() -> None:
    seen = analysis()
    seen.run.counters |= {"env_steps": 2500, "episodes": 12}
    seen.returns.training = EpisodeDelta(episodes=12, length_sum=2400)
    assert "12 episodes of 200 steps" in text_report(make_report(seen, []), Style(100))


def test_only_what_was_counted_is_listed(make: Make) -> None:
    assert headline_parts(make()) == ["10.0 s total", "cpu"]
    games = headline_parts(make(games=20, searches=500))
    assert games[1:3] == ["20 games, 2/s", "500 searches, 50/s"]


def test_training_without_environments_has_its_own_rates(make: Make) -> None:
    made = make(gradient_steps=100)
    made.run.counters["samples"] = 6400
    (updates,) = [part for part in headline_parts(made) if "gradient" in part]
    assert updates == (
        "100 gradient steps (batch size 64), 10 gradient steps/s, 640 training examples/s"
    )


def test_markdown_has_the_figures_of_the_terminal(make: Make) -> None:
    made = make(completions=8, tokens_generated=800, prompt_tokens=80)
    for part in headline_parts(made):
        assert part in render(make_report(made, []))


def test_training_from_data_leads_with_gradient_steps(make: Make) -> None:
    made = make(phase("data.load", 1.0), gradient_steps=100, env_steps=400)
    parts = headline_parts(made)
    assert parts[1:3] == [
        "100 gradient steps, 10 gradient steps/s",
        "400 steps outside of training",
    ]
    assert "per step" not in text_report(make_report(made, []), Style(120))
