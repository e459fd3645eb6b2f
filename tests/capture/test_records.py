"""Typed records: what a bad value costs, how notes merge, and old captures."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hotloop
from hotloop.analyze.processes.training import read_capture
from hotloop.capture import schema, strictness
from hotloop.capture.records import Record, merge_raw
from hotloop.capture.schema import Header, Machine, Notes, SourceLine
from hotloop.capture.values import RegionCost

PACKAGE = Path(hotloop.__file__).parent
RECORDS = [
    each
    for each in vars(schema).values()
    if isinstance(each, type) and issubclass(each, Record) and each is not Record
]


def test_on_the_class_a_field_is_its_name_and_on_an_object_its_value() -> None:
    assert Machine.cores == "cores"
    assert Machine({"cores": 4}).cores == 4
    assert Machine().cores is None
    assert Machine.cores in Machine({"cores": 4})
    assert Machine.cores not in Machine()


def test_a_bad_value_costs_itself_alone() -> None:
    notes = Notes(
        {
            "device": 7,
            "machine": {"cores": True, "memory_bytes": float("nan"), "accelerators": ["CUDA", 5]},
            "places": {"predict": [["a.py", 3, "f"], ["a.py", "x", "f"]], "gc.collect": None},
            "memory_peaks": {"learn": [1, 2], "act": [1]},
            "torch_build": "cuda",
        }
    )
    assert notes.device is None
    assert notes.machine.cores is None
    assert notes.machine.accelerators == ["CUDA"]
    assert notes.places == {"predict": [SourceLine("a.py", 3, "f")]}
    assert notes.memory_peaks == {"learn": (1, 2)}
    assert notes.torch_build == "cuda"
    assert notes.damaged == 7


def test_a_null_is_a_value_that_was_not_recorded() -> None:
    header = Header({"cost": None, "why_twin": None})
    assert (header.cost, header.damaged) == (None, 0)


def test_a_damaged_cost_does_not_turn_figures_to_zero() -> None:
    assert Header({"cost": {"inside_ns": 1e18, "outside_ns": -5}}).cost == RegionCost(1e6, 0.0)
    assert Header({"cost": {"inside_ns": "x", "outside_ns": 2}}).cost is None
    cost = RegionCost(30.0, 60.0)
    assert Header({"cost": cost.encode()}).cost == cost


def test_later_notes_join_tables_and_replace_the_rest() -> None:
    raw: dict[str, object] = {}
    assert merge_raw(Notes, raw, {"device": "cpu", "categories": {"a": "Data"}}) == 0
    assert merge_raw(Notes, raw, {"device": "cuda", "categories": {"b": "Model"}}) == 0
    assert merge_raw(Notes, raw, {"categories": "damaged"}) == 1
    notes = Notes(raw)
    assert notes.device == "cuda"
    assert notes.categories == {"a": "Data", "b": "Model"}


def test_an_undeclared_note_is_an_error_in_tests_and_ignored_in_the_field(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(strictness.UndeclaredError, match="devise"):
        Notes({"devise": "cpu"})
    with pytest.raises(strictness.UndeclaredError, match="coers"):
        Notes({"machine": {"coers": 4}})
    monkeypatch.setenv(strictness.VARIABLE, "0")
    notes = Notes({"devise": "cpu", "device": "cuda"})
    assert (notes.device, notes.damaged) == ("cuda", 0)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_value_decodes(kind: type[Record], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(strictness.VARIABLE, "0")
        names = st.sampled_from(list(kind.fields))
        record = kind(data.draw(st.dictionaries(names, ANYTHING, max_size=4)))
        for field in kind.fields.values():
            field.__get__(record, kind)


def test_each_field_has_a_meaning() -> None:
    for kind in RECORDS:
        for field in kind.fields.values():
            assert 2 < len(field.meaning) < 100, f"{kind.__name__}.{field.name}"


def bare_notes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Keys of notes and headers that are written or read as bare strings."""
    for node in ast.walk(tree):
        names: list[ast.expr | None] = []
        if isinstance(node, ast.FunctionDef) and node.name == "notes":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Dict):
                    names += inner.keys
        elif isinstance(node, ast.Subscript) and _last(node.value) in ("notes", "header"):
            names = [node.slice]
        elif (
            isinstance(node, ast.Call)
            and _last(node.func) == "get"
            and _last(getattr(node.func, "value", node)) in ("notes", "header")
        ):
            names = list(node.args[:1])
        for name in names:
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.lineno, name.value


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def test_no_note_is_named_by_a_bare_string() -> None:
    bare = [
        f"{path.relative_to(PACKAGE)}:{line}: {name!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in bare_notes(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not bare, "use the names of capture/schema.py:\n" + "\n".join(bare)


@pytest.mark.parametrize("name", ["memory", "plain", "workers"])
def test_an_old_capture_is_read_in_full(name: str) -> None:
    capture = read_capture(Path(__file__).parents[1] / "data" / "captures" / name)
    assert (capture.damaged, capture.damaged_values) == (0, 0)
    main = capture.main
    assert main.header.cost is not None
    assert main.header.command
    assert Notes.libraries in main.notes
    assert main.notes.machine.cores
    assert main.windows
