"""Rules on how compilings are called: at their thresholds, and silent without what they need."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample
from framework_windows import check, loop, noted

from hotloop.diagnose.rules.frameworks import compiling


@pytest.mark.parametrize(("again", "said"), [(4, False), (5, True)])
def test_five_traces_again_are_retracing(make: Make, again: int, said: bool) -> None:
    windows = loop({"traces": again + 1, "retraces": again})
    notes = {"libraries": {"TensorFlow": {}}} | noted("retracing call")
    found = compiling.retracing(make(phase("compile", 2.0), windows=windows, notes=notes))
    assert bool(found) is said
    if said:
        check(found, "retracing")
        assert compiling.recompilation(make(phase("compile", 2.0), windows=windows)) == []


def test_traces_of_the_warm_up_are_silent(make: Make) -> None:
    windows = loop()
    windows[1].counters.update({"traces": 20, "retraces": 19})
    notes = {"libraries": {"TensorFlow": {}}} | noted("retracing call")
    assert compiling.retracing(make(phase("compile", 2.0), windows=windows, notes=notes)) == []


def test_jax_recompiles(make: Make) -> None:
    windows = loop({"traces": 31, "retraces": 30})
    notes = {"libraries": {"JAX": {}}}
    analysis = make(phase("learn/compile", 4.0), windows=windows, notes=notes)
    check(compiling.recompilation(analysis), "recompilation")
    assert compiling.retracing(analysis) == []


def test_the_place_is_the_line_that_calls_what_jax_compiles(make: Make) -> None:
    jax = frame("cache_miss", "/venv/lib/python3.11/site-packages/jax/_src/pjit.py")
    stack = (frame("Learner._raw", line=50), jax, frame("Learner.learn", line=73), frame("main"))
    analysis = make(
        phase("learn/compile", 4.0),
        windows=loop({"traces": 31, "retraces": 30}),
        notes={"libraries": {"JAX": {}}, "shapes": {"learn": ["__main__:Learner.learn"]}},
        samples=[sample("learn/compile", 4.0, *stack), sample("learn", 6.0, frame("main"))],
    )
    (found,) = compiling.recompilation(analysis)
    assert [place.line for place in found.where] == [73]


def test_operations_outside_jit_are_no_function_that_was_traced_again(make: Make) -> None:
    jax = "/venv/lib/python3.11/site-packages/jax/_src"
    eager = (
        frame("backend_compile", f"{jax}/compiler.py"),
        frame("apply_primitive", f"{jax}/d.py"),
    )
    jitted = frame("cache_miss", f"{jax}/pjit.py")
    samples = [
        sample("jax.unstack/compile", 6.0, *eager, frame("main", line=98)),
        sample("learn.step/compile", 2.0, jitted, frame("main", line=107)),
    ]
    analysis = make(
        phase("jax.unstack/compile", 6.0),
        phase("learn.step/compile", 2.0),
        windows=loop({"traces": 10, "retraces": 5}),
        notes={"libraries": {"JAX": {}}},
        samples=samples,
    )
    (found,) = compiling.recompilation(analysis)
    assert [place.line for place in found.where] == [107]
    assert found.evidence["compile_s"] == pytest.approx(2.0)


def test_two_are_enough_where_the_loop_hardly_does_anything_else(make: Make) -> None:
    windows = loop()
    for each in windows[-2:]:
        each.counters.update({"traces": 1, "retraces": 1})
    notes = {"libraries": {"JAX": {}}}
    for seconds, said in [(6.0, True), (1.0, False)]:
        analysis = make(phase("learn/compile", seconds), windows=windows, notes=notes)
        assert bool(compiling.recompilation(analysis)) is said


def test_what_is_retraced_is_timed_by_samples_beside_other_traces(make: Make) -> None:
    windows = loop({"traces": 200, "retraces": 5})
    notes = {"libraries": {"TensorFlow": {}}} | noted("retracing call")
    (place,) = compiling.retracing(make(phase("compile", 5.0), windows=windows, notes=notes))[
        0
    ].where
    taken = [sample("learn.step/compile", 3.0, frame(place.function, place.file, place.line))]
    analysis = make(phase("compile", 5.0), windows=windows, notes=notes, samples=taken)
    (found,) = compiling.retracing(analysis)
    assert found.evidence["seconds"] == pytest.approx(3.0 * 5 / 6)


@pytest.mark.parametrize(("late", "said"), [(4, False), (10, True)])
def test_jax_compiles_new_functions_throughout(make: Make, late: int, said: bool) -> None:
    windows = loop()
    windows[0].counters["traces"] = 20
    windows[-2].counters["traces"] = 2
    windows[-1].counters["traces"] = late - 2
    notes = {"libraries": {"JAX": {}}}
    analysis = make(phase("learn/compile", 6.0), windows=windows, notes=notes)
    # TensorFlow's traces are not JAX's.
    both = {"libraries": {"JAX": {}, "TensorFlow": {}}}
    imported = make(phase("learn/compile", 6.0), windows=windows, notes=both)
    assert compiling.recompilation(imported) == []
    found = compiling.recompilation(analysis)
    assert bool(found) is said
    if said:
        assert found[0].evidence["seconds"] == pytest.approx(6.0 * 2 * 10 / 30)


def test_operations_outside_jit_are_no_new_functions(make: Make) -> None:
    """`missing-jit` says what they are; there is no function to create once."""
    windows = loop()
    for window in windows:
        window.counters["traces"] = 10
    jax = "/venv/lib/python3.11/site-packages/jax/_src"
    eager = frame("backend_compile", f"{jax}/a.py"), frame("apply_primitive", f"{jax}/b.py")
    notes = {"libraries": {"JAX": {}}}
    stack = sample("jax.unstack/compile", 6.0, *eager, frame("main", line=98))
    compiled = phase("jax.unstack/compile", 6.0)
    found = make(compiled, windows=windows, notes=notes, samples=[stack])
    assert compiling.recompilation(found) == []
    assert compiling.recompilation(make(compiled, windows=windows, notes=notes)) != []


@pytest.mark.parametrize(("compiles", "said"), [(3, False), (4, True), (20, True)])
def test_torch_recompiles(make: Make, compiles: int, said: bool) -> None:
    gauges = {"compiles": compiles, "compiled_functions": 1.0, "compile_s": 4.0}
    windows = loop(gauges=gauges)
    for each in windows:
        each.gauges["compiled_functions"] = 1.0
    found = compiling.recompilation(make(windows=windows, notes=noted("recompiled")))
    assert bool(found) is said
    if said:
        assert check(found, "recompilation").where[0].function == "train"
