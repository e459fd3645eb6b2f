"""Rules on environments: at their thresholds, and silent without what they need."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, frame, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.diagnose import diagnose, drawing, environment, episodes, processes, vectors
from hotloop.diagnose.evidence import callers

PANDAS = "/venv/lib/python3.11/site-packages/pandas/core/indexing.py"
STEP = frame("Market.step", line=40)


def ids(findings: list) -> list[str]:
    return [each.id for each in findings]


# -- inside a step --


@pytest.mark.parametrize(("seconds", "said"), [(0.19, False), (0.21, True)])
def test_pandas_from_two_percent_of_the_loop(make: Make, seconds: float, said: bool) -> None:
    analysis = make(
        phase("env.step", 5.0),
        samples=[
            sample("env.step", seconds, frame("_iLocIndexer._getitem", PANDAS), STEP),
            sample("env.step", 5.0 - seconds, STEP),
        ],
        env_steps=1000,
    )
    found = environment.pandas_in_step(analysis)
    assert bool(found) is said
    if said:
        assert found[0].where[0].function == "Market.step"
        assert found[0].where[0].line == 40


def test_pandas_in_a_worker_counts_on_the_scale_of_the_parent(make: Make) -> None:
    analysis = make(
        phase("env.step", 6.0),
        phase("env.step", 5.0, process="worker-1"),
        phase("env.step", 5.0, process="worker-2"),
        samples=[
            sample("env.step", 4.0, frame("x", PANDAS), STEP, process="worker-1"),
            sample("env.step", 1.0, STEP, process="worker-1"),
        ],
        env_steps=1000,
    )
    (found,) = environment.pandas_in_step(analysis)
    assert found.evidence["seconds"] == pytest.approx(4.0)


def test_deepcopy_is_known_by_its_file(make: Make) -> None:
    library = frame("deepcopy", "/usr/lib/python3.11/copy.py")
    own = frame("deepcopy", "/home/me/copy_of_mine.py")
    for inner, said in ((library, True), (own, False)):
        analysis = make(
            phase("env.step", 5.0), samples=[sample("env.step", 5.0, inner, STEP)], env_steps=9
        )
        assert bool(environment.deepcopy_in_step(analysis)) is said


def test_a_copy_by_way_of_bytes_or_text_is_a_deep_copy(make: Make) -> None:
    line = frame("Agent.remember", line=8)
    for called, id in (
        (["pickle.loads", "pickle.dumps"], "deepcopy-in-step"),
        (["pickle.dumps"], "checkpointing"),
    ):
        analysis = make(
            phase("env.step", 2.0),
            samples=[sample("buffer.add", 4.0, line)],
            notes={"lines": {line.file: {"8": [called, 0]}}},
            env_steps=1000,
        )
        (found,) = diagnose(analysis)
        assert (found.id, found.where[0].line) == (id, 8)


@pytest.mark.parametrize(("share", "said"), [(0.44, False), (0.46, True)])
def test_a_helper_from_its_share_of_the_step(make: Make, share: float, said: bool) -> None:
    helper = frame("Market.indicators", line=20)
    analysis = make(
        phase("env.step", 5.0),
        samples=[
            sample("env.step", 5.0 * share, helper, STEP),
            sample("env.step", 5.0 * (1 - share), STEP),
        ],
        env_steps=1000,
    )
    found = environment.redundant_work(analysis)
    assert bool(found) is said
    if said:
        assert found[0].where[0].line == 20


def test_the_innermost_helper_that_holds_nearly_all_is_the_place(make: Make) -> None:
    outer = frame("Market.observe", line=20)
    analysis = make(
        phase("env.step", 5.0),
        samples=[
            sample("env.step", 4.0, frame("quantiles", line=5), outer, STEP),
            sample("env.step", 0.5, outer, STEP),
            sample("env.step", 0.5, STEP),
        ],
        env_steps=1000,
    )
    (found,) = environment.redundant_work(analysis)
    assert [place.function for place in found.where] == ["quantiles", "Market.observe"]
    assert found.evidence["seconds"] == pytest.approx(4.5)


def test_a_line_that_is_not_known_is_not_the_place(make: Make) -> None:
    """Samples without a line are put on the function's first one."""
    analysis = make(
        phase("env.step", 5.0),
        samples=[
            sample("env.step", 3.0, frame("flood", line=1), STEP),
            sample("env.step", 2.0, frame("flood", line=6), STEP),
        ],
        env_steps=1000,
    )
    (found,) = environment.redundant_work(analysis)
    assert found.where[0].line == 6


def test_the_simulation_itself_is_not_redundant(make: Make) -> None:
    analysis = make(
        phase("env.step", 8.0),
        samples=[sample("env.step", 8.0, frame("World.integrate_physics"), STEP)],
        env_steps=1000,
    )
    assert environment.redundant_work(analysis) == []
    assert ids(environment.env_bound(analysis)) == ["env-bound"]


@pytest.mark.parametrize(
    ("seconds", "steps", "said"), [(5.9, 1000, False), (6.1, 1000, True), (6.1, 70_000, False)]
)
def test_env_bound_needs_a_large_share_and_heavy_steps(
    make: Make, seconds: float, steps: int, said: bool
) -> None:
    analysis = make(phase("env.step", seconds), env_steps=steps)
    assert bool(environment.env_bound(analysis)) is said


def test_pandas_is_the_finding_and_not_env_bound(make: Make) -> None:
    analysis = make(
        phase("env.step", 9.0),
        samples=[sample("env.step", 9.0, frame("x", PANDAS), frame("Market.price"), STEP)],
        env_steps=1000,
    )
    assert ids(diagnose(analysis)) == ["pandas-in-step"]


# -- drawing --


def test_rendering_each_step_is_told_from_a_look_now_and_then(make: Make) -> None:
    often = make(phase("env.step", 2.0, 1000), phase("env.render", 3.0, 1000), env_steps=1000)
    rarely = make(phase("env.step", 2.0, 1000), phase("env.render", 3.0, 100), env_steps=1000)
    assert ids(drawing.render_in_step(often)) == ["render-in-step"]
    assert drawing.render_in_step(rarely) == []


def test_a_card_that_is_drawn_is_no_picture(make: Make) -> None:
    def analysis(drawn: str) -> object:
        samples = [sample("env.step", 5.0, frame(drawn), STEP)]
        return make(phase("env.step", 5.0), samples=samples, env_steps=9)

    for drawn in ("draw_card", "draw_hand", "Deck.draw_cards", "draw_samples", "draw_from"):
        assert drawing.render_in_step(analysis(drawn)) == []  # type: ignore[arg-type]
    for drawn in ("draw", "Board._draw", "draw_board", "render_frame", "draw_text"):
        assert ids(drawing.render_in_step(analysis(drawn)))  # type: ignore[arg-type]


def test_a_picture_that_is_the_observation_wins_less(make: Make) -> None:
    def analysis(by: str) -> object:
        stack = (frame("Board.draw_walls"), frame(by), STEP)
        return make(phase("env.step", 5.0), samples=[sample("env.step", 5.0, *stack)], env_steps=9)

    seen = drawing.render_in_step(analysis("Board.get_observation"))[0]  # type: ignore[arg-type]
    shown = drawing.render_in_step(analysis("Board.show"))[0]  # type: ignore[arg-type]
    assert seen.evidence["frame_is_observation"]
    assert seen.gain.low < shown.gain.low


def test_resizing_is_known_by_what_it_is_called(make: Make) -> None:
    pillow = frame("Image.resize", "/venv/lib/python3.11/site-packages/PIL/Image.py")
    analysis = make(
        phase("env.step", 5.0), samples=[sample("env.step", 4.0, pillow, STEP)], env_steps=9
    )
    assert ids(drawing.image_resize(analysis)) == ["image-resize"]
    assert drawing.image_resize(make(phase("env.step", 5.0), env_steps=9)) == []


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
    found = drawing.rules(analysis)
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
    assert drawing.image_resize(analysis) == []


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
    (found,) = drawing.image_resize(analysis)
    assert found.evidence["seconds"] == pytest.approx(2.0 * drawing.MOST_AROUND)
    assert found.phase == "collect"


# -- over episodes --


def growing(make: Make, times: float, **notes: object) -> object:
    windows = []
    for i in range(12):
        step_s = 1e-3 * (1 + (times - 1) * i / 11)
        steps = 0.8 / step_s
        windows.append(window(i, {"env.step": (0.8, round(steps))}, counters={"env_steps": steps}))
    return make(phase("env.step", 9.6, 5000), windows=windows, notes=notes, loop_s=12.0,
                env_steps=5000)  # fmt: skip


def test_steps_that_grow(make: Make) -> None:
    assert ids(episodes.growing_step_cost(growing(make, 3.0))) == ["growing-step-cost"]  # type: ignore[arg-type]
    assert episodes.growing_step_cost(growing(make, 1.2)) == []  # type: ignore[arg-type]


def test_what_grows_in_resets_is_a_leak(make: Make) -> None:
    leak = {"objects": {"in_steps": 0, "in_resets": 500, "size": 500}}
    history = {"rewards": {"in_steps": 500, "in_resets": 0, "size": 500}}
    (found,) = episodes.growing_step_cost(growing(make, 3.0, env_growth=leak))  # type: ignore[arg-type]
    assert found.id == "reset-leak"
    assert found.evidence["container"] == "objects"
    (found,) = episodes.growing_step_cost(growing(make, 3.0, env_growth=history))  # type: ignore[arg-type]
    assert found.id == "growing-step-cost"


@pytest.mark.parametrize(("reset_s", "said"), [(0.79, False), (0.81, True)])
def test_resets_from_their_share(make: Make, reset_s: float, said: bool) -> None:
    analysis = make(phase("env.step", 2.0, 5000), phase("env.reset", reset_s, 50), env_steps=5000)
    assert bool(episodes.slow_reset(analysis)) is said


def test_a_reset_as_cheap_as_a_step_is_none(make: Make) -> None:
    analysis = make(phase("env.step", 5.0, 1000), phase("env.reset", 2.0, 500), env_steps=1000)
    assert episodes.slow_reset(analysis) == []


def test_a_light_reset_outside_of_the_steps_is_none(make: Make) -> None:
    """Episodes of one or two steps, as card games have: half of the loop, and nothing to load."""
    analysis = make(phase("env.step", 3.0, 15000), phase("env.reset", 5.0, 10000), env_steps=15000)
    assert episodes.slow_reset(analysis) == []


# -- many environments --


@pytest.mark.parametrize(("seconds", "said"), [(3.9, False), (4.1, True)])
def test_one_environment(make: Make, seconds: float, said: bool) -> None:
    analysis = make(phase("env.step", 1.0), phase("policy.act", seconds), env_steps=1000)
    assert bool(vectors.single_env(analysis)) is said


def test_where_actions_are_chosen_leaves_stray_samples_out(make: Make) -> None:
    samples = [
        sample("policy.act", 4.0, frame("main", line=20)),
        sample("policy.act", 0.3, frame("finish_episode", line=90)),
    ]
    analysis = make(phase("policy.act", 8.0), samples=samples, env_steps=1000)
    (found,) = vectors.single_env(analysis)
    assert [place.line for place in found.where] == [20]


@pytest.mark.parametrize(("library", "said"), [("Gymnasium", False), ("PyTorch", True)])
def test_one_environment_and_a_table_is_left_alone(make: Make, library: str, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0),
        phase("policy.act", 8.0),
        env_steps=1000,
        notes={"libraries": {library: {}}},
    )
    assert bool(vectors.single_env(analysis)) is said


def test_one_environment_is_a_choice_and_never_critical(make: Make) -> None:
    analysis = make(phase("env.step", 0.5), phase("policy.act", 9.0), env_steps=1000)
    (found,) = vectors.single_env(analysis)
    assert found.gain.low > 1.5
    assert found.severity == "warning"


def test_one_environment_that_learns_every_step_is_left_alone(make: Make) -> None:
    analysis = make(
        phase("env.step", 1.0), phase("policy.act", 5.0), env_steps=1000, gradient_steps=1000
    )
    assert vectors.single_env(analysis) == []


@pytest.mark.parametrize(("calls", "said"), [(100, False), (1600, True)])
def test_a_forward_pass_for_each_environment(make: Make, calls: int, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0, 1600),
        # The gaps around a call are part of its time, and no calls.
        phase("policy.act", 5.0, calls, how="inferred"),
        gauges={"envs_in_turn": 16},
        env_steps=1600,
    )
    assert bool(vectors.unbatched_policy(analysis)) is said


def with_workers(make: Make, parent_s: float, worker_s: float, **more: object) -> object:
    count = int(more.pop("workers", 4))  # type: ignore[call-overload]
    return make(
        phase("env.step", parent_s),
        phase("env.step/wait", 0.8 * parent_s),
        *[
            phase("env.step", worker_s, process=f"w{i}", **more.get("of_worker", {}))  # type: ignore[arg-type]
            for i in range(count)
        ],
        gauges=more.get("gauges") or {"envs": count, "observation_bytes": 100},
        env_steps=4000,
        header={"cores": more.get("cores", 4)},
    )


@pytest.mark.parametrize(("worker_s", "said"), [(0.7, True), (0.8, False)])
def test_messages_dearer_than_steps(make: Make, worker_s: float, said: bool) -> None:
    found = processes.subprocess_overhead(with_workers(make, 5.0, worker_s))  # type: ignore[arg-type]
    assert bool(found) is said


@pytest.mark.parametrize(("waits", "said"), [(4000, True), (40, False)])
def test_workers_behind_pipes_of_the_programs_own(make: Make, waits: int, said: bool) -> None:
    """Nothing in the parent has the name of a step; it waits once for each, or for rollouts."""
    analysis = make(
        phase("wait", 4.0, waits),
        phase("transfer", 2.0, 2 * waits),
        phase("learn/wait", 1.0, 5000),
        *[phase("env.step", 0.3, 1000, process=f"w{i}") for i in range(4)],
        samples=[sample("wait", 4.0, frame("Remote.gather", line=33))],
        gauges={"envs": 4},
        env_steps=4000,
    )
    found = processes.subprocess_overhead(analysis)
    assert bool(found) is said
    if said:
        assert found[0].evidence["parent_env_step_s"] == pytest.approx(6.0)
        assert found[0].where[0].line == 33


def test_large_observations_are_another_cause(make: Make) -> None:
    large = {"envs": 4, "observation_bytes": 1e6}
    analysis = with_workers(make, 5.0, 0.1, gauges=large)
    assert processes.subprocess_overhead(analysis) == []  # type: ignore[arg-type]
    assert ids(processes.pickled_observations(analysis)) == ["pickled-observations"]  # type: ignore[arg-type]


def test_workers_beyond_the_cores(make: Make) -> None:
    crowded = with_workers(make, 8.0, 4.0, workers=9, cores=4)
    enough = with_workers(make, 8.0, 4.0, workers=8, cores=4)
    assert ids(processes.too_many_envs(crowded)) == ["too-many-envs"]  # type: ignore[arg-type]
    assert processes.too_many_envs(enough) == []  # type: ignore[arg-type]


def test_waiting_for_the_slowest(make: Make) -> None:
    uneven = with_workers(make, 8.0, 2.0, of_worker={"p50_s": 1e-4, "p99_s": 2e-2})
    even = with_workers(make, 8.0, 2.0)
    assert ids(processes.stragglers(uneven)) == ["stragglers"]  # type: ignore[arg-type]
    assert processes.stragglers(even) == []  # type: ignore[arg-type]
    # Other programs on the same cores make any steps uneven, but not as much as that.
    busy = [window(i, {}, gauges={"main_delay_s": 0.25 * i}) for i in range(10)]
    uneven.loop_windows = busy  # type: ignore[attr-defined]
    assert ids(processes.stragglers(uneven)) == ["stragglers"]  # type: ignore[arg-type]
    taken = with_workers(make, 8.0, 2.0, of_worker={"p50_s": 1e-3, "p99_s": 1.5e-2})
    assert ids(processes.stragglers(taken)) == ["stragglers"]  # type: ignore[arg-type]
    taken.loop_windows = busy  # type: ignore[attr-defined]
    assert processes.stragglers(taken) == []  # type: ignore[arg-type]
    busier = [window(i, {}, gauges={"main_delay_s": 0.35 * i}) for i in range(10)]
    uneven.loop_windows = busier  # type: ignore[attr-defined]
    assert processes.stragglers(uneven) == []  # type: ignore[arg-type]


def test_workers_that_wait_for_something_else_need_no_cores(make: Make) -> None:
    def analysis(waiting: float) -> Analysis:
        busy = [8.0, 1.0, 1.0, 1.0]
        return make(
            phase("env.step", 8.2),
            phase("env.step/wait", 8.1),
            *[
                phase("env.step", seconds, process=f"w{i}", waiting_share=waiting)
                for i, seconds in enumerate(busy)
            ],
            gauges={"envs": 4, "observation_bytes": 100},
            header={"cores": 2},
            env_steps=4000,
        )

    computing = processes.stragglers(analysis(0.0))[0]  # two cores have all of it to do
    assert computing.evidence["seconds"] == pytest.approx(8.1 - 5.5, abs=0.2)
    (found,) = processes.stragglers(analysis(0.99))
    assert found.evidence["seconds"] > 5.0


def test_many_workers_that_sleep_do_not_crowd_the_cores(make: Make) -> None:
    asleep = {"p50_s": 1e-4, "p99_s": 2e-2, "waiting_share": 0.99}
    analysis = with_workers(make, 8.0, 2.0, workers=9, cores=4, of_worker=asleep)
    assert processes.too_many_envs(analysis) == []  # type: ignore[arg-type]
    assert ids(processes.stragglers(analysis)) == ["stragglers"]  # type: ignore[arg-type]


def test_environments_that_have_all_cores_can_only_be_simpler(make: Make) -> None:
    spread = environment.env_bound(with_workers(make, 8.0, 7.9, cores=4))  # type: ignore[arg-type]
    alone = environment.env_bound(make(phase("env.step", 8.0), env_steps=1000))
    assert spread[0].gain.low < alone[0].gain.low
    assert "processes of their own" in alone[0].fix
    assert "processes of their own" not in spread[0].fix


@pytest.mark.parametrize(
    ("seconds", "cores", "said"), [(5.0, 4, True), (3.9, 4, False), (5.0, 1, False)]
)
def test_heavy_environments_in_turn(make: Make, seconds: float, cores: int, said: bool) -> None:
    analysis = make(
        phase("env.step", seconds, 250),
        gauges={"envs": 4},
        header={"cores": cores},
        env_steps=1000,
    )
    assert bool(processes.serial_heavy_env(analysis)) is said


def test_the_place_is_the_programs_own_loop(make: Make) -> None:
    stack = (
        frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py"),
        frame("Net.forward", line=7),
        frame("Agent.act", line=31),
        frame("main", line=60),
    )
    analysis = make(
        phase("policy.act", 1.0),
        samples=[sample("policy.act", 1.0, *stack)],
        notes={"shapes": {"policy.act": ["__main__:Agent.act"]}},
    )
    assert callers(analysis, "policy.act")[0].line == 60


def test_a_helper_that_waits_is_no_work(make: Make) -> None:
    def analysis(rest_waits: bool) -> Analysis:
        asking = sample("env.step", 5.0, frame("Market.ask"), STEP)
        learning = sample("learn", 4.0, frame("update"))
        return make(
            phase("env.step", 5.0),
            samples=[replace(asking, waiting=True), replace(learning, waiting=rest_waits)],
            env_steps=1000,
        )

    assert environment.redundant_work(analysis(rest_waits=False)) == []
    assert ids(environment.redundant_work(analysis(rest_waits=True))) == ["redundant-work-in-step"]


@pytest.mark.parametrize(("path", "said"), [("policy.act", True), ("log", False), ("data", False)])
def test_pandas_as_a_table_of_values(make: Make, path: str, said: bool) -> None:
    inside = frame("_LocIndexer.__getitem__", "/venv/site-packages/pandas/core/indexing.py")
    analysis = make(
        phase(path, 4.0), samples=[sample(path, 4.0, inside, frame("Agent.choose", line=7))]
    )
    found = environment.pandas_in_step(analysis)
    assert bool(found) is said
    if said:
        assert found[0].where[0].line == 7


def test_an_opponent_inside_a_step_is_the_environments(make: Make) -> None:
    inside = phase("env.step/policy.act", 8.0, 100)
    notes = {"libraries": {"PyTorch": {}}}
    analysis = make(
        phase("env.step", 9.0, 100), inside, env_steps=100, gauges={"envs": 1}, notes=notes
    )
    assert "single-env" not in ids(vectors.rules(analysis))


def test_a_copy_by_packing_counts_once_and_a_request_is_none(make: Make) -> None:
    pickles = ["pickle.loads", "pickle.dumps"]
    copies = frame("deepcopy", "/usr/lib/python3.11/copy.py")
    asks = frame("post", "/venv/lib/python3.11/site-packages/requests/api.py")
    lines = {"/home/me/train.py": {"10": [pickles, 0]}}
    for frames, said in (
        ((frame("State.__deepcopy__"), copies, frame("step", line=3)), True),
        ((asks, frame("step")), False),
    ):
        analysis = make(
            phase("env.step", 3.0, 100),
            samples=[sample("env.step", 3.0, *frames)],
            notes={"lines": lines},
            env_steps=100,
        )
        found = environment.deepcopy_in_step(analysis)
        assert bool(found) is said
        if said:
            assert found[0].evidence["seconds"] == pytest.approx(3.0)


def test_actions_that_are_rescaled_are_no_pictures(make: Make) -> None:
    for name, said in (("rescale_action", False), ("resize_frame", True)):
        analysis = make(samples=[sample("policy.act", 5.0, frame(name))], env_steps=100)
        assert bool(drawing.image_resize(analysis)) is said
