"""Rules about what a step does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import STEP, Make, frame, ids, phase, sample

from hotloop.analyze.model import Analysis
from hotloop.diagnose import diagnose
from hotloop.diagnose.rules.environments import env_bound, environment
from hotloop.diagnose.rules.storage import loading

PANDAS = "/venv/lib/python3.11/site-packages/pandas/core/indexing.py"


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


@pytest.mark.parametrize(("seconds", "said"), [(0.9, False), (1.1, True)])
def test_copies_that_a_library_makes(make: Make, seconds: float, said: bool) -> None:
    """Stable-Baselines3 copies the infos of every step: a little of it is not the program's fault."""
    copies = frame("deepcopy", "/usr/lib/python3.11/copy.py")
    library = "/venv/lib/python3.11/site-packages/stable_baselines3/common/vec_env/dummy_vec_env.py"
    stack = (copies, frame("DummyVecEnv.step_wait", library), frame("train", line=9))
    analysis = make(
        phase("env.step", 5.0, 100),
        samples=[
            sample("env.step", seconds, *stack),
            sample("env.step", 5.0 - seconds, frame("Env.step")),
        ],
        env_steps=100,
    )
    found = environment.deepcopy_in_step(analysis)
    assert bool(found) is said
    if said:
        assert "Return small infos" in found[0].fix


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
    assert [place.function for place in found.where][:2] == ["quantiles", "Market.observe"]
    assert found.title.startswith("`quantiles` takes 80% of an environment step")
    assert found.evidence["seconds"] == pytest.approx(4.5)


@pytest.mark.parametrize(("name", "shapes"), [("step", []), ("zug", ["__main__:Market.zug"])])
def test_the_line_of_the_step_that_calls_a_helper_is_named_as_well(
    make: Make, name: str, shapes: list[str]
) -> None:
    stepping = frame(f"Market.{name}", line=40)
    analysis = make(
        phase("env.step", 5.0),
        samples=[
            sample(
                "env.step", 4.0, frame("Market.wege", line=20), stepping, frame("main", line=90)
            ),
            sample("env.step", 1.0, frame(stepping.function, line=41), frame("main", line=90)),
            sample("learn", 5.0, frame("main", line=95)),
        ],
        notes={"shapes": {"env.step": shapes}},
        env_steps=1000,
    )
    (found,) = environment.redundant_work(analysis)
    assert [place.line for place in found.where] == [20, 40]


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


def test_a_simulation_in_any_language_is_not_redundant(make: Make) -> None:
    """The source shows that a substep is given what came of the one before."""
    flow = frame("Stroemung.nichtlinear", line=40)
    notes = {"recurrences": {STEP.file: {str(STEP.line): ["nichtlinear"]}}}
    taken = {"samples": [sample("env.step", 8.0, flow, STEP)], "env_steps": 1000}
    told, untold = (
        make(phase("env.step", 8.0), notes=notes, **taken),
        make(phase("env.step", 8.0), **taken),
    )
    assert environment.redundant_work(told) == []
    assert ids(environment.redundant_work(untold)) == ["redundant-work-in-step"]


def test_a_decorator_is_not_what_a_step_computes(make: Make) -> None:
    stack = (frame("walk", line=5), frame("Memo.__call__", line=20), STEP)
    analysis = make(phase("env.step", 5.0), samples=[sample("env.step", 5.0, *stack)], env_steps=9)
    (found,) = environment.redundant_work(analysis)
    assert found.title.startswith("`walk` takes 100%")


def test_the_simulation_itself_is_not_redundant(make: Make) -> None:
    analysis = make(
        phase("env.step", 8.0),
        samples=[sample("env.step", 8.0, frame("World.integrate_physics"), STEP)],
        env_steps=1000,
    )
    assert environment.redundant_work(analysis) == []
    assert ids(env_bound.env_bound(analysis)) == ["env-bound"]


def test_pandas_is_the_finding_and_not_env_bound(make: Make) -> None:
    analysis = make(
        phase("env.step", 9.0),
        samples=[sample("env.step", 9.0, frame("x", PANDAS), frame("Market.price"), STEP)],
        env_steps=1000,
    )
    assert ids(diagnose(analysis)) == ["pandas-in-step"]


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


def test_deep_copies_add_up_wherever_they_are_made(make: Make) -> None:
    copies = frame("deepcopy", "/usr/lib/python3.11/copy.py")
    analysis = make(
        phase("env.step", 6.0),
        phase("buffer.add", 2.5),
        samples=[
            sample("env.step", 6.0, copies, STEP),
            sample("buffer.add", 2.5, copies, frame("Memory.push", line=7)),
        ],
        env_steps=1000,
    )
    (found,) = environment.deepcopy_in_step(analysis)
    assert found.evidence["share_of_loop"] == pytest.approx(0.85)
    assert {place.line for place in found.where} == {40, 7}


def test_copies_of_an_evaluation_go_away_with_the_same_change(make: Make) -> None:
    copies = frame("deepcopy", "/usr/lib/python3.11/copy.py")
    analysis = make(
        phase("env.step", 5.0),
        phase("evaluate", 3.0, 10),
        phase("evaluate/env.step", 3.0),
        samples=[
            sample("env.step", 5.0, copies, STEP),
            sample("evaluate/env.step", 3.0, copies, STEP),
        ],
        env_steps=1000,
    )
    (found,) = environment.deepcopy_in_step(analysis)
    assert found.evidence["seconds"] == 8.0
    assert "(train.py:40) take 80% of the loop" in found.title


def test_tables_that_are_read_from_files_are_loading_not_stepping(make: Make) -> None:
    read = frame("read_csv", "/venv/lib/python3.11/site-packages/pandas/io/parsers/readers.py")
    roll = frame("Rolling.mean", "/venv/lib/python3.11/site-packages/pandas/core/window.py")
    load = frame("Market.load", line=44)
    samples = [sample("", 4.0, read, load), sample("", 2.0, roll, load)]
    analysis = make(samples=samples, gradient_steps=1000)
    assert environment.pandas_in_step(analysis) == []
    (found,) = loading.data_loading(analysis)
    assert found.evidence["seconds"] == pytest.approx(6.0)
