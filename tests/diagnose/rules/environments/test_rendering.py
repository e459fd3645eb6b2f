"""Rules about pictures: drawn and resized."""

from __future__ import annotations

import pytest
from analyses import STEP, Make, found_by, frame, ids, phase, sample

from hotloop.analyze.model import Analysis
from hotloop.diagnose.rules.environments import rendering


def test_rendering_each_step_is_told_from_a_look_now_and_then(make: Make) -> None:
    often = make(phase("env.step", 2.0, 1000), phase("env.render", 3.0, 1000), env_steps=1000)
    rarely = make(phase("env.step", 2.0, 1000), phase("env.render", 3.0, 100), env_steps=1000)
    assert ids(rendering.render_in_step(often)) == ["render-in-step"]
    assert rendering.render_in_step(rarely) == []


@pytest.mark.parametrize(
    ("calls", "title"),
    [
        (10_400, "Every environment step draws 10 frames"),
        (1000, "Every environment step draws a frame"),
        (250, "A frame is drawn every 4 environment steps"),
    ],
)
def test_frames_are_counted_per_step(make: Make, calls: int, title: str) -> None:
    drawn = make(phase("env.step", 2.0, 1000), phase("env.render", 6.0, calls), env_steps=1000)
    assert rendering.render_in_step(drawn)[0].title.startswith(title)


def test_a_card_that_is_drawn_is_no_picture(make: Make) -> None:
    def analysis(drawn: str) -> Analysis:
        samples = [sample("env.step", 5.0, frame(drawn), STEP)]
        return make(phase("env.step", 5.0), samples=samples, env_steps=9)

    for drawn in ("draw_card", "draw_hand", "Deck.draw_cards", "draw_samples", "draw_from"):
        assert rendering.render_in_step(analysis(drawn)) == []
    for drawn in ("draw", "Board._draw", "draw_board", "render_frame", "draw_text"):
        assert ids(rendering.render_in_step(analysis(drawn)))


def test_a_picture_that_is_the_observation_wins_less(make: Make) -> None:
    def analysis(by: str) -> Analysis:
        stack = (frame("Board.draw_walls"), frame(by), STEP)
        return make(phase("env.step", 5.0), samples=[sample("env.step", 5.0, *stack)], env_steps=9)

    seen = rendering.render_in_step(analysis("Board.get_observation"))[0]
    shown = rendering.render_in_step(analysis("Board.show"))[0]
    assert seen.evidence["frame_is_observation"]
    assert seen.gain.low < shown.gain.low


def test_resizing_a_frame_that_nobody_sees_goes_away_with_it(make: Make) -> None:
    pillow = frame("Image.resize", "/venv/lib/python3.11/site-packages/PIL/Image.py")
    samples = [
        sample("env.step/env.render", 3.0, frame("Game.render"), STEP),
        sample("env.step/env.render", 4.0, pillow, frame("Game.render"), STEP),
    ]

    def analysis(**known: object) -> Analysis:
        phases = phase("env.step", 7.0, 9), phase("env.step/env.render", 7.0, 9)
        return make(*phases, samples=samples, env_steps=9, **known)  # type: ignore[arg-type]

    unseen, pixels = analysis(), analysis(gauges={"observation_bytes": 84 * 84})
    assert rendering.render_in_step(unseen)[0].evidence["seconds"] == pytest.approx(7.0)
    assert rendering.image_resize(unseen) == []
    # It may be what the agent sees, which has to be made in some way.
    assert rendering.render_in_step(pixels)[0].evidence["seconds"] == pytest.approx(3.0)
    assert ids(rendering.image_resize(pixels)) == ["image-resize"]


def test_resizing_is_known_by_what_it_is_called(make: Make) -> None:
    pillow = frame("Image.resize", "/venv/lib/python3.11/site-packages/PIL/Image.py")
    analysis = make(
        phase("env.step", 5.0), samples=[sample("env.step", 4.0, pillow, STEP)], env_steps=9
    )
    assert ids(rendering.image_resize(analysis)) == ["image-resize"]
    assert rendering.image_resize(make(phase("env.step", 5.0), env_steps=9)) == []


@pytest.mark.parametrize(
    ("path", "called", "id"),
    [
        ("env.step", "cv2.resize", "image-resize"),
        ("policy.act", "cv2.resize", "image-resize"),
        ("learn/learn.forward", "cv2.resize", None),
        ("env.step", "pygame.transform.scale", "image-resize"),
        ("env.step", "pygame.draw.circle", "render-in-step"),
        ("env.step", "self.screen.blit", "render-in-step"),
        ("env.step", "self.clock.tick", None),
    ],
)
def test_pictures_by_the_lines_that_call_c(
    make: Make, path: str, called: str, id: str | None
) -> None:
    line = frame("Game.look", line=7)
    analysis = make(
        phase("env.step", 5.0),
        samples=[sample(path, 5.0, line, frame("Game.step", line=3))],
        notes={"lines": {line.file: {"7": [[called], 0]}}},
        env_steps=1000,
    )
    found = found_by(rendering.RULES, analysis)
    assert ids(found) == ([id] if id else [])
    if found:
        assert (found[0].where[0].line, found[0].where[0].function) == (7, "Game.look")


def test_layers_of_a_network_that_resize_are_its_own(make: Make) -> None:
    layer = frame("Upsample.forward", "/venv/lib/python3.11/site-packages/torch/nn/modules/up.py")
    torchs = frame("interpolate", "/venv/lib/python3.11/site-packages/torch/nn/functional.py")
    analysis = make(
        phase("env.step", 2.0),
        samples=[sample("policy.act", 5.0, torchs, layer, frame("act"))],
        env_steps=1000,
    )
    assert rendering.image_resize(analysis) == []


def test_a_resize_in_the_training_loop_is_not_all_of_that_loop(make: Make) -> None:
    pillow = frame("Image.resize", "/venv/lib/python3.11/site-packages/PIL/Image.py")
    analysis = make(
        phase("env.step", 1.0),
        samples=[
            sample("policy.act", 2.0, pillow, frame("train", line=9)),
            sample("", 7.0, frame("train", line=12)),
        ],
        env_steps=1000,
    )
    (found,) = rendering.image_resize(analysis)
    assert found.evidence["seconds"] == pytest.approx(2.0 * rendering.MOST_AROUND)
    assert found.phase == "collect"


def test_actions_that_are_rescaled_are_no_pictures(make: Make) -> None:
    for name, said in (("rescale_action", False), ("resize_frame", True)):
        analysis = make(samples=[sample("policy.act", 5.0, frame(name))], env_steps=100)
        assert bool(rendering.image_resize(analysis)) is said


def test_a_frame_that_the_agent_does_not_see_is_removed_where_it_is_asked_for(make: Make) -> None:
    draw, step = frame("Lander.render", line=50), frame("Recorder.step", line=62)
    drawn = [sample("env.step/env.render", 5.0, draw, step, frame("main", line=80))]
    phases = [phase("env.step", 6.0), phase("env.step/env.render", 5.0)]
    (found,) = rendering.render_in_step(make(*phases, samples=drawn, env_steps=1000))
    assert [line.line for line in found.where] == [62]
    assert "does not see" in found.fix
    seen = make(
        phase("env.step", 6.0),
        samples=[sample("env.step", 5.0, frame("Catcher.draw", line=30), step)],
        gauges={"observation_bytes": 92_160},
        env_steps=1000,
    )
    (found,) = rendering.render_in_step(seen)
    assert "The image is the observation" in found.fix
