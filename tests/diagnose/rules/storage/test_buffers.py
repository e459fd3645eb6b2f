"""Rules on buffers, rollouts, advantages, memory and data."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.trends import Trend, Trends
from hotloop.capture.schema import SLICE
from hotloop.capture.window import Window
from hotloop.diagnose.rules.learning import advantages
from hotloop.diagnose.rules.storage import buffers, loading


@pytest.mark.parametrize(
    ("envs", "adds", "said"), [(3, 3000, False), (8, 5900, False), (8, 8000, True)]
)
def test_one_push_for_each_environment(make: Make, envs: int, adds: int, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0, 1000),
        phase("buffer.add", 3.0, adds),
        gauges={"envs": envs},
        env_steps=1000 * envs,
    )
    assert bool(buffers.per_item_buffer_push(analysis)) is said


def test_the_loop_around_the_pushes_counts_too(make: Make) -> None:
    push, loop = frame("Buffer.push"), frame("Trainer.store", line=50)
    analysis = make(
        phase("env.step", 1.0, 100),
        phase("buffer.add", 0.2, 1600),
        samples=[
            sample("buffer.add", 0.2, push, loop),
            sample("", 2.0, frame("Trainer.store", line=48)),
            sample("", 4.0, frame("Trainer.store", line=200)),
        ],
        notes={"shapes": {"buffer.add": ["buffer:Buffer.push"]}},
        gauges={"envs": 16},
        env_steps=1600,
    )
    (found,) = buffers.per_item_buffer_push(analysis)
    assert found.evidence["seconds"] == pytest.approx(2.2)
    assert found.where[0].function == "Trainer.store"


def test_the_lines_of_the_pushes_loop_whatever_came_next(make: Make) -> None:
    """A sample is in the phase that was expected when it was taken; the source says better."""
    file = "/home/me/train.py"
    analysis = make(
        phase("env.step", 1.0, 100),
        phase("buffer.add", 0.2, 1600),
        samples=[
            sample("buffer.add", 0.2, frame("Buffer.push"), frame("train", line=50)),
            sample("policy.act", 2.0, frame("train", line=52)),
            sample("policy.act", 4.0, frame("train", line=47)),
        ],
        notes={
            "shapes": {"buffer.add": ["buffer:Buffer.push"]},
            "lines": {file: {"50": [["push"], 49], "52": [["item"], 49], "47": [["net"], 30]}},
        },
        gauges={"envs": 16},
        env_steps=1600,
    )
    (found,) = buffers.per_item_buffer_push(analysis)
    assert found.evidence["seconds"] == pytest.approx(2.2)


@pytest.mark.parametrize(
    ("names", "loop", "seconds", "said"),
    [
        (["append"], 49, 3.0, True),
        (["append"], 30, 3.0, False),  # in the loop of the steps: a whole round at once
        (["append"], 49, 0.5, False),
        (["count"], 49, 3.0, False),
    ],
)
def test_rows_appended_one_by_one_without_a_buffers_name(
    make: Make, names: list[str], loop: int, seconds: float, said: bool
) -> None:
    file = "/home/me/train.py"
    analysis = make(
        phase("env.step", 1.0, 100),
        phase("buffer.add", seconds, 100, how="inferred"),
        samples=[
            sample("env.step", 1.0, frame("train", line=40)),
            sample("buffer.add", 0.6 * seconds, frame("train", line=50)),
            sample("policy.act", 0.4 * seconds, frame("train", line=51)),
        ],
        notes={"lines": {file: {"50": [names, loop], "51": [["row"], loop], "40": [["step"], 30]}}},
        gauges={"envs": 16},
        env_steps=1600,
    )
    found = buffers.per_item_buffer_push(analysis)
    assert bool(found) is said
    if said:
        assert found[0].evidence["seconds"] == pytest.approx(seconds)
        assert found[0].where[0].line == 50


@pytest.mark.parametrize(("name", "said"), [("reversed", True), ("random.sample", False)])
def test_rows_drawn_from_a_list_are_no_advantages(make: Make, name: str, said: bool) -> None:
    analysis = make(
        phase("advantage", 3.0),
        samples=[
            sample("advantage", 2.0, frame("train", line=50)),
            sample("advantage", 1.0, frame("train", line=51)),
        ],
        notes={"lines": {"/home/me/train.py": {"51": [[name], 0]}}},
    )
    assert bool(advantages.python_gae(analysis)) is said


def test_updates_of_as_many_rows_as_ever_are_no_growing_rollout(make: Make) -> None:
    def windows(rows: int) -> list[Window]:
        return [
            window(
                i,
                {"learn.backward": (0.02 * (i + 1), 10), "env.step": (0.1, 100)},
                counters={"env_steps": 100, "gradient_steps": 10, "samples": 640 + rows * i},
            )
            for i in range(12)
        ]

    growing = make(phase("learn.backward", 8.0), windows=windows(640), env_steps=1200)
    assert buffers.unbounded_rollout(growing)
    flat = make(phase("learn.backward", 8.0), windows=windows(0), env_steps=1200)
    assert buffers.unbounded_rollout(flat) == []


def test_updates_on_ever_longer_episodes_are_no_growing_rollout(make: Make) -> None:
    windows = [
        window(
            i,
            {"learn.backward": (0.5, 10), "env.step": (0.1, 100)},
            counters={"env_steps": 100, "gradient_steps": 100 / (i + 1), "samples": 100},
        )
        for i in range(12)
    ]
    analysis = make(phase("learn.backward", 6.0), windows=windows, env_steps=1200)
    assert buffers.unbounded_rollout(analysis) == []


@pytest.mark.parametrize(("seconds", "said"), [(1.49, False), (1.51, True)])
def test_priorities_from_their_share(make: Make, seconds: float, said: bool) -> None:
    inside = frame("PrioritizedBuffer.sample", "/home/me/replay.py")
    analysis = make(
        phase("buffer.sample", seconds), samples=[sample("buffer.sample", seconds, inside)]
    )
    assert bool(buffers.naive_priority_sampling(analysis)) is said


def test_drawing_from_all_rows_is_seen_at_its_line(make: Make) -> None:
    def analysis(name: str) -> Analysis:
        return make(
            phase("buffer.sample", 5.0),
            samples=[sample("buffer.sample", 5.0, frame("Weighted.sample"))],
            notes={"lines": {"/home/me/train.py": {"10": [[name], 0]}}},
        )

    (found,) = buffers.naive_priority_sampling(analysis("np.random.choice"))
    assert found.where[0].line == 10
    assert buffers.naive_priority_sampling(analysis("rng.integers")) == []


def test_a_class_that_draws_by_priority_need_not_say_so_in_its_name(make: Make) -> None:
    inside = frame("Replay.pick", line=12)
    outer = frame("Replay.sample", line=30)
    samples = [sample("buffer.sample", 5.0, inside, outer)]
    notes = {"by_priority": ["replay:Replay.sample"]}
    (found,) = buffers.naive_priority_sampling(
        make(phase("buffer.sample", 5.0), samples=samples, notes=notes)
    )
    assert found.where[0].function == "Replay.pick"
    plain = make(phase("buffer.sample", 5.0), samples=samples, notes={"by_priority": "odd"})
    assert buffers.naive_priority_sampling(plain) == []


def test_a_plain_buffer_has_no_priorities(make: Make) -> None:
    inside = frame("Buffer.sample", "/home/me/replay.py")
    analysis = make(phase("buffer.sample", 5.0), samples=[sample("buffer.sample", 5.0, inside)])
    assert buffers.naive_priority_sampling(analysis) == []


@pytest.mark.parametrize(("times", "said"), [(1.3, False), (4.0, True)])
def test_a_buffer_that_slows_down_as_it_fills(make: Make, times: float, said: bool) -> None:
    windows = []
    for i in range(12):
        each = 1e-3 * (1 + (times - 1) * i / 11)
        windows.append(
            window(i, {"buffer.sample": (0.5, round(0.5 / each))}, counters={"env_steps": 500})
        )
    calls = sum(w.phases["buffer.sample"].calls for w in windows)
    analysis = make(phase("buffer.sample", 6.0, calls), windows=windows, loop_s=12.0)
    assert bool(buffers.buffer_cost_grows(analysis)) is said


def rollout(make: Make, times: float, length: float | None = None) -> Analysis:
    windows = []
    for i in range(12):
        rows = 1000 * (1 + (times - 1) * i / 11)
        steps = 500_000 / rows
        gauges = {} if length is None else {"buffer_length": length}
        counters = {"env_steps": steps, "gradient_steps": 10.0, "samples": 10 * rows}
        windows.append(window(i, {"learn.backward": (0.8, 10)}, counters=counters, gauges=gauges))
    return make(
        phase("learn.backward", 9.6, 120), phase("buffer.sample", 0.1), windows=windows,
        loop_s=12.0, env_steps=4000,
    )  # fmt: skip


def test_a_rollout_that_is_never_emptied(make: Make) -> None:
    (found,) = buffers.unbounded_rollout(rollout(make, 5.0))
    assert found.id == "unbounded-rollout"
    assert buffers.unbounded_rollout(rollout(make, 1.2)) == []


def test_more_minibatches_for_each_step_are_a_growing_rollout_too(make: Make) -> None:
    """Two windows an iteration, one of them without a step, and batches that stay as large."""

    def windows(growth: float) -> list[Window]:
        return [
            window(
                i,
                {"learn.backward": (0.8, 10)},
                counters={
                    "env_steps": 512 * (i % 2 == 0),
                    "gradient_steps": 10 * (1 + growth * (i // 2)),
                    "samples": 1280 * (1 + growth * (i // 2)),
                },
            )
            for i in range(16)
        ]

    for growth, said in ((1.0, True), (0.0, False)):
        analysis = make(
            phase("learn.backward", 12.8, 120),
            windows=windows(growth),
            loop_s=16.0,
            env_steps=4096,
        )
        assert bool(buffers.unbounded_rollout(analysis)) is said


def test_a_replay_buffer_is_no_rollout(make: Make) -> None:
    assert buffers.unbounded_rollout(rollout(make, 5.0, length=900.0)) == []


@pytest.mark.parametrize(("seconds", "said"), [(0.49, False), (0.51, True)])
def test_advantages_from_their_share(make: Make, seconds: float, said: bool) -> None:
    analysis = make(
        phase("advantage", seconds), samples=[sample("advantage", seconds, frame("compute_gae"))]
    )
    assert bool(advantages.python_gae(analysis)) is said


@pytest.mark.parametrize(
    ("line", "function", "said"),
    [
        (None, "finish", True),  # arithmetic
        ([["returns.insert"], 40], "finish", True),
        ([["np.stack"], 40], "finish", False),
        ([["states.append"], 40], "Agent.make_batch", False),
        ([["compute"], 0], "finish", False),  # in no loop
    ],
)
@pytest.mark.parametrize("how", ["inferred", "shape"])
def test_what_is_inferred_must_be_a_loop_over_numbers(
    make: Make, line: list[object] | None, function: str, said: bool, how: str
) -> None:
    here = frame(function, line=42)
    notes = {
        "lines": {here.file: {"42": line} if line else {}},
        "recognised": {"advantage": how},
    }
    samples = [sample("advantage", 3.0, here)]
    analysis = make(phase("advantage", 3.0), samples=samples, notes=notes, env_steps=1000)
    assert bool(advantages.python_gae(analysis)) is said
    nobody = make(phase("advantage", 3.0), samples=samples, notes=notes)
    assert advantages.python_gae(nobody) == []


def test_advantages_of_a_library_are_not_the_programs(make: Make) -> None:
    file = "/venv/lib/python3.11/site-packages/torchrl/objectives/value.py"
    analysis = make(phase("advantage", 3.0), samples=[sample("advantage", 3.0, frame("gae", file))])
    assert advantages.python_gae(analysis) == []


def test_a_loss_that_follows_the_returns_is_no_advantage(make: Make) -> None:
    here = frame("finish_episode", line=42)
    lines = {here.file: {"42": [["losses.append", "F.smooth_l1_loss"], 40]}}
    samples = [sample("advantage", 3.0, here)]
    analysis = make(phase("advantage", 3.0), samples=samples, notes={"lines": lines})
    assert advantages.python_gae(analysis) == []
    assert advantages.python_gae(make(phase("advantage", 3.0), samples=samples)) != []


def test_memory_is_short_when_pages_come_back_from_disk(make: Make) -> None:
    def analysis(faults: float) -> Analysis:
        windows = [
            window(i, {}, gauges={"major_faults": faults * i}, counters={"env_steps": 1})
            for i in range(10)
        ]
        return make(windows=windows, loop_s=10.0)

    assert loading.memory_pressure(analysis(200))[0].id == "memory-pressure"
    assert loading.memory_pressure(analysis(10)) == []
    assert loading.memory_pressure(make()) == []


def test_a_round_that_is_kept_as_a_whole_is_no_push_for_each(make: Make) -> None:
    """The step is in a function of its own; the loop around it keeps whole vectors."""
    analysis = make(
        phase("env.step", 1.0, 100),
        phase("buffer.add", 3.0, 100, how="inferred"),
        samples=[
            sample("env.step", 1.0, frame("advance", line=5), frame("train", line=40)),
            sample("buffer.add", 3.0, frame("train", line=50)),
        ],
        notes={
            "lines": {
                "/home/me/train.py": {
                    "5": [["envs.step"], 0],
                    "40": [["advance"], 30],
                    "50": [["memory.append"], 30],
                }
            }
        },
        gauges={"envs": 16},
        env_steps=1600,
    )
    assert buffers.per_item_buffer_push(analysis) == []


@pytest.mark.parametrize(("calls", "said"), [(5000, True), (50_000, False)])
def test_long_draws_in_code_that_nothing_identifies(make: Make, calls: int, said: bool) -> None:
    """An action is drawn in microseconds; rows of a whole buffer are not."""
    draw = frame("Speicher.ziehen", line=70)
    analysis = make(
        phase("between step and forward", 5.0, calls),
        samples=[sample("between step and forward", 4.0, draw, frame("main", line=90))],
        notes={"lines": {draw.file: {"70": [["np.random.choice"], 0]}}},
        env_steps=10_000,
    )
    found = buffers.naive_priority_sampling(analysis)
    assert [each.where[0].line for each in found] == [70] * said


def test_pushes_are_shown_in_the_words_of_the_library(make: Make) -> None:
    analysis = make(
        phase("env.step", 1.0, 1000),
        phase("buffer.add", 3.0, 8000),
        notes={"libraries": {"TorchRL": {}}},
        gauges={"envs": 8},
        env_steps=8000,
    )
    (found,) = buffers.per_item_buffer_push(analysis)
    assert found.after == "buffer.extend(data)"


def test_a_rollout_that_grows_where_no_environment_is_recognized(make: Make) -> None:
    """Passes that choose actions stand for steps; longer episodes have more of them."""

    def windows(acts: int) -> list[Window]:
        return [
            window(
                i,
                {"learn.backward": (0.6, 10), "inference": (0.2, 400 + acts * i)},
                counters={"gradient_steps": 10, "samples": 4000 * (i + 1)},
            )
            for i in range(12)
        ]

    (found,) = buffers.unbounded_rollout(make(phase("learn.backward", 8.0), windows=windows(0)))
    assert found.id == "unbounded-rollout"
    longer = make(phase("learn.backward", 8.0), windows=windows(400))
    assert buffers.unbounded_rollout(longer) == []


def test_advice_about_advantages_fits_the_number_of_environments(make: Make) -> None:
    def fix(envs: int) -> str:
        analysis = make(
            phase("advantage", 3.0),
            samples=[sample("advantage", 3.0, frame("gae"))],
            gauges={"envs": envs},
            env_steps=1000,
        )
        return advantages.python_gae(analysis)[0].fix

    assert "one environment" in fix(1)
    assert "all environments as one array" in fix(8)


@pytest.mark.parametrize(("calls", "said"), [(500, True), (50_000, False)])
def test_a_search_through_weights_in_code_without_a_name(
    make: Make, calls: int, said: bool
) -> None:
    """Of few actions it takes microseconds, and is how one of them is chosen."""
    ziehe, caller = frame("ziehe", line=32), frame("main", line=74)
    analysis = make(
        phase("between step and forward", 8.0, calls),
        samples=[
            sample("between step and forward", 7.0, ziehe, caller),
            sample("learn.forward", 3.0, frame("main", line=79)),
        ],
        notes={"running_sums": {ziehe.file: [[30, 34]]}},
    )
    found = buffers.naive_priority_sampling(analysis)
    assert [each.line for one in found for each in one.where] == [32, 74] * said


@pytest.mark.parametrize(
    ("called", "fed_back", "said"),
    [
        ("np.append", ["append"], True),
        ("self.np.append", ["append"], True),
        ("jax.numpy.append", ["append"], True),
        ("np.append", [], False),
        ("np.append", ["append", SLICE], False),  # a window of fixed length
        ("np.concatenate", ["concatenate"], False),
    ],
)
def test_an_array_that_is_made_anew_for_each_row(
    make: Make, called: str, fed_back: list[str], said: bool
) -> None:
    """Of an array that is joined to itself, a part of fixed length may be kept."""
    put = frame("put", line=41)
    notes = {"lines": {put.file: {"41": [[called], 0]}}}
    if fed_back:
        notes["recurrences"] = {put.file: {"41": fed_back}}
    analysis = make(samples=[sample("", 6.0, put), sample("", 4.0, frame("up"))], notes=notes)
    found = buffers.buffer_cost_grows(analysis)
    assert [one.where[0].line for one in found] == [41] * said
    # Nothing shows that it grows.
    assert all(one.confidence == "medium" and "grows" not in one.title for one in found)
    assert all(f"`{called}`" in one.fix for one in found)


def test_an_array_that_was_seen_to_grow(make: Make) -> None:
    put = frame("put", line=41)
    notes = {
        "lines": {put.file: {"41": [["np.append"], 0]}},
        "recurrences": {put.file: {"41": ["append"]}},
    }
    samples = [sample("buffer.add", 6.0, put), sample("", 4.0, frame("up"))]
    analysis = make(phase("buffer.add", 6.0), samples=samples, notes=notes)
    analysis.trends = Trends([], [], per_call={"buffer.add": Trend(1e-5, 9e-5, 0.001, 20)})
    (found,) = buffers.buffer_cost_grows(analysis)
    assert found.confidence == "high"
    assert found.title.endswith("and more as the array grows")
