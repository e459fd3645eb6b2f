"""Loops in Python that are found by structure, whatever their names are."""

from __future__ import annotations

from dataclasses import replace

from analyses import Make, frame, ids, phase, sample

from hotloop.diagnose import diagnose
from hotloop.diagnose.rules import python_loops

RANDOM = frame("Random.choice", "/usr/lib/python3.11/random.py")
LOOP = frame("Gedaechtnis.ziehen", line=54)
TRAIN = frame("<module>", line=90)
LINES = {LOOP.file: {"54": [[], 53], "90": [["lernen"], 80]}}


def test_a_loop_in_a_function_that_training_calls(make: Make) -> None:
    analysis = make(
        phase("learn.backward", 4.0),
        samples=[sample("", 3.0, LOOP, TRAIN), sample("", 2.0, RANDOM, LOOP, TRAIN)],
        notes={"lines": LINES},
        env_steps=1000,
    )
    (found,) = diagnose(analysis)
    assert (found.id, found.where[0].line) == ("python-loop", 54)
    assert found.evidence["seconds"] == 5.0


def test_a_loop_that_sleeps_or_makes_long_calls_is_not_item_by_item(make: Make) -> None:
    slept = replace(sample("", 5.0, LOOP, TRAIN), waiting=True)
    native = replace(sample("", 5.0, LOOP, TRAIN), native=True)
    queued = replace(sample("", 4.0, LOOP, TRAIN), without_core=True)
    arrays = [native, sample("", 4.0, LOOP, TRAIN), queued]
    mixed = [native, sample("", 6.0, LOOP, TRAIN)]
    for samples, found in (([slept], 0), ([native], 0), (arrays, 0), (mixed, 1)):
        analysis = make(samples=samples, notes={"lines": LINES}, env_steps=1000)
        assert len(python_loops.python_loop(analysis)) == found


def test_a_loop_that_waits_for_answers_is_not_item_by_item(make: Make) -> None:
    """Without a core, it looks as if it ran."""
    waits = replace(sample("wait", 6.0, LOOP, TRAIN), without_core=True)
    analysis = make(samples=[waits], notes={"lines": LINES}, env_steps=1000)
    assert python_loops.python_loop(analysis) == []


def test_a_loop_beside_the_training_in_the_same_function(make: Make) -> None:
    """A program in a single function: its loops are told apart by where they end."""
    work, learn = frame("main", line=54), frame("main", line=66)
    backward = frame("backward", "/venv/lib/python3.11/site-packages/torch/_tensor.py")
    lines = {LOOP.file: {"54": [[], 53], "66": [["loss.backward"], 40]}}
    samples = [
        sample("between step and optimizer", 6.0, work),
        sample("learn.backward", 1.0, backward, learn),
    ]
    for loops, said in (({"53": [55, 0]}, True), ({"53": [70, 0]}, False), ({}, False)):
        notes = {"lines": lines, "loops": {LOOP.file: loops}}
        found = python_loops.python_loop(make(samples=samples, notes=notes, env_steps=1000))
        assert bool(found) is said


def test_work_of_a_library_is_no_loop_in_python(make: Make) -> None:
    library = frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    analysis = make(
        samples=[sample("", 6.0, library, LOOP, TRAIN)], notes={"lines": LINES}, env_steps=1000
    )
    assert not python_loops.python_loop(analysis)


def test_the_training_loop_itself_does_not_count(make: Make) -> None:
    backward = frame("backward", "/venv/lib/python3.11/site-packages/torch/_tensor.py")
    train, lines = frame("train", line=54), {LOOP.file: {"54": [["f"], 53], "90": [["train"], 80]}}
    around = [
        sample("", 6.0, train, TRAIN),
        sample("learn.backward", 1.0, backward, train, TRAIN),
    ]
    assert not python_loops.python_loop(make(samples=around, notes={"lines": lines}))
    several = [sample("", 3.0, frame(name), train, TRAIN) for name in ("zug", "waehlen")]
    assert not python_loops.python_loop(make(samples=several, notes={"lines": lines}))
    once = [sample("", 6.0, train, frame("<module>", line=99))]  # `main()`, in no loop
    assert not python_loops.python_loop(make(samples=once, notes={"lines": lines}))


def test_a_rule_that_knows_the_phase_comes_first(make: Make) -> None:
    tree = frame("SumTree.find", line=54)
    analysis = make(
        phase("buffer.sample", 5.0),
        samples=[sample("buffer.sample", 5.0, tree, TRAIN)],
        notes={"lines": LINES},
        env_steps=1000,
    )
    assert ids(diagnose(analysis)) == ["naive-priority-sampling"]


def test_small_numpy_calls_in_a_loop_are_not_told_to_use_numpy(make: Make) -> None:
    clip = frame("_clip", "/venv/lib/python3.11/site-packages/numpy/_core/_methods.py")
    around = frame(LOOP.function, line=60)  # the same function, outside of its loop
    analysis = make(
        samples=[
            sample("", 2.0, LOOP, TRAIN),
            sample("", 2.0, clip, LOOP, TRAIN),
            sample("", 1.0, clip, around, TRAIN),
        ],
        notes={"lines": {LOOP.file: {"54": [["np.clip"], 53], "90": [["schritt"], 80]}}},
        env_steps=1000,
    )
    (found,) = python_loops.python_loop(analysis)
    assert "small NumPy calls" in found.title
    assert "`math`" in found.fix
    assert found.evidence["seconds"] == 5.0


def test_a_loop_around_a_forward_pass_is_no_loop_over_items(make: Make) -> None:
    torch = frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    analysis = make(
        samples=[sample("", 4.0, LOOP, TRAIN), sample("inference", 2.0, torch, LOOP, TRAIN)],
        notes={"lines": LINES},
        env_steps=1000,
    )
    assert not python_loops.python_loop(analysis)


def test_what_an_environment_of_a_library_computes_is_not_the_loop_around_it(make: Make) -> None:
    step = frame(
        "CartPoleEnv.step", "/venv/lib/python3.11/site-packages/gymnasium/envs/cartpole.py"
    )
    analysis = make(
        phase("env.step", 6.0),
        samples=[sample("", 2.0, LOOP, TRAIN), sample("env.step", 6.0, step, LOOP, TRAIN)],
        notes={"lines": {LOOP.file: {"54": [["np.argmax"], 53], "90": [["rollout"], 80]}}},
        env_steps=1000,
    )
    (found,) = python_loops.python_loop(analysis)
    assert found.evidence["seconds"] == 2.0


def test_a_loop_of_numpy_calls_on_large_arrays_is_as_it_should_be(make: Make) -> None:
    """Samples see native code in a call that takes longer than a microsecond."""
    calls = replace(sample("", 4.0, LOOP, TRAIN), native=True)
    notes = {"lines": {LOOP.file: {"54": [["np.clip"], 53], "90": [["schritt"], 80]}}}
    analysis = make(samples=[sample("", 6.0, LOOP, TRAIN), calls], notes=notes, env_steps=1000)
    assert not python_loops.python_loop(analysis)


def test_a_generator_over_all_items_is_a_loop(make: Make) -> None:
    items = frame("E.s.<locals>.<genexpr>", line=39)
    samples = [sample("", 8.0, items, frame("E.s", line=39), TRAIN)]
    notes = {"lines": {items.file: {"39": [["max"], 0], "90": [["schritt"], 80]}}}
    (found,) = python_loops.python_loop(make(samples=samples, notes=notes, env_steps=1000))
    assert found.title.startswith("`s` loops over items in pure Python")
    assert found.where[0].line == 39
