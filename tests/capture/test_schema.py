"""The declared schema: every name that the source uses, merge rules, strict mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hotloop
from hotloop.capture import schema, strictness
from hotloop.capture.window import PhaseDelta, Window, merged, nothing_before

PACKAGE = Path(hotloop.__file__).parent
TABLES = {"counters", "gauges"}
#: Functions whose first or second argument names a counter or a gauge.
TAKE_NAMES = {"count", "_count", "gauge", "gauge_rise", "counted", "core_counter"}


def keys(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """String literals that are used as the name of a counter or a gauge."""
    for node in ast.walk(tree):
        names: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and _last(node.value) in TABLES:
            names = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("get", "pop", "setdefault") and _last(node.func.value) in TABLES:
                names = node.args[:1]
            elif node.func.attr in TAKE_NAMES and len(node.args) == 2:
                names = node.args[:2]
        elif isinstance(node, ast.Call) and _last(node.func) in TAKE_NAMES:
            names = node.args[:2]
        elif isinstance(node, ast.Compare) and _last(node.comparators[0]) in TABLES:
            names = [node.left]
        for name in names:
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.lineno, name.value


def _last(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def test_no_counter_or_gauge_is_named_by_a_bare_string() -> None:
    bare = [
        f"{path.relative_to(PACKAGE)}:{line}: {name!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in keys(ast.parse(path.read_text(encoding="utf-8")))
        if name not in ("\n", "/")  # str.count
    ]
    assert not bare, "use the constant of capture/schema.py:\n" + "\n".join(bare)


def test_the_native_core_counts_what_is_declared() -> None:
    import re

    native = Path(__file__).parents[2] / "src/hotloop/measure/native"  # no part of a wheel
    names = {
        name
        for file in native.glob("*.c")
        for name in re.findall(r'core_counter\([^";]*"(\w+)"', file.read_text(encoding="utf-8"))
    }
    assert names
    assert names <= schema.COUNTERS.keys()


def test_each_constant_is_named_like_its_key() -> None:
    for name in (*schema.COUNTERS, *schema.GAUGES):
        assert getattr(schema, name.upper()) == name
    assert not schema.COUNTERS.keys() & schema.GAUGES.keys()


def test_each_declaration_has_a_unit_and_a_meaning() -> None:
    for each in (*schema.COUNTERS.values(), *schema.GAUGES.values()):
        assert each.unit
        assert each.meaning
        assert len(each.meaning) < 100


def test_a_gauge_merges_by_its_declared_rule_and_not_by_its_name() -> None:
    window = Window(0, 0, 0, 1, gauges={"resident_peak": 5, "gpu_stretches": 3, "hooks_ns": 4})
    window.add(Window(1, 1, 1, 2, gauges={"resident_peak": 2, "gpu_stretches": 4, "hooks_ns": 1}))
    assert window.gauges == {"resident_peak": 5, "gpu_stretches": 4, "hooks_ns": 5}


def test_in_strict_mode_an_undeclared_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(strictness.VARIABLE, "1")
    strictness.require("gauge", ["envs"], schema.GAUGES)
    with pytest.raises(strictness.UndeclaredError, match="envz"):
        strictness.require("gauge", ["envs", "envz"], schema.GAUGES)
    monkeypatch.setenv(strictness.VARIABLE, "0")
    strictness.require("gauge", ["envz"], schema.GAUGES)


# -- merging in any grouping --

NUMBERS = st.integers(0, 2**40)
PATHS = st.sampled_from(["", "learn", "collect/env.step"])
COUNTERS = ["env_steps", "predict_s", "my_counter"]
#: Few of each rule, so that they meet: sum, last, max, min.
GAUGES = ["hooks_ns", "device_ns", "envs", "resident", "resident_peak", "gpu_allocated_low"]


@st.composite
def deltas(draw: st.DrawFn) -> PhaseDelta:
    low, high = sorted((draw(NUMBERS), draw(NUMBERS)))
    calls = draw(st.integers(0, 9))
    return PhaseDelta(
        calls,
        draw(NUMBERS),
        draw(NUMBERS),
        low if calls else 0,
        high,
        draw(NUMBERS),
        draw(NUMBERS),
        draw(NUMBERS),
        draw(st.dictionaries(st.integers(0, 5), st.integers(1, 9), max_size=2)),
    )


@st.composite
def runs(draw: st.DrawFn) -> list[Window]:
    count = draw(st.integers(1, 5))
    return [
        Window(
            number,
            number,
            number * 10,
            number * 10 + draw(st.integers(0, 10)),
            phases=draw(st.dictionaries(PATHS, deltas(), max_size=2)),
            counters=draw(st.dictionaries(st.sampled_from(COUNTERS), NUMBERS, max_size=3)),
            gauges=draw(st.dictionaries(st.sampled_from(GAUGES), NUMBERS, max_size=4)),
            loop_last_ns=draw(NUMBERS),
        )
        for number in range(count)
    ]


def copied(window: Window) -> Window:
    copy = nothing_before(window)
    copy.add(window)
    return copy


def plain(window: Window | None) -> object:
    assert window is not None
    phases = {
        path: (*[getattr(d, name) for name in PhaseDelta.__slots__[:-1]], dict(d.histogram))
        for path, d in window.phases.items()
    }
    return (
        window.first,
        window.last,
        window.begin_ns,
        window.end_ns,
        phases,
        window.counters,
        window.gauges,
        window.loop_last_ns,
    )


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(runs(), st.data())
def test_merging_in_any_grouping_equals_merging_all(
    windows: list[Window], data: st.DataObject
) -> None:
    whole = plain(merged(windows))
    groups: list[list[Window]] = [[]]
    for window in windows:
        if groups[-1] and data.draw(st.booleans()):
            groups.append([])
        groups[-1].append(copied(window))
    parts = [part for group in groups if (part := merged(group)) is not None]
    assert plain(merged(parts)) == whole
