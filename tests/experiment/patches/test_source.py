"""Edits of a program's file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hotloop.experiment.patches.source import Edit, Source, called, uses

TEXT = '''"""Ä docstring."""
import numpy as np

class Agent:
    @property
    def loss(self):
        x = [1,
             2]
        return self.net.predict(x)  # keep
'''


@pytest.fixture
def source() -> Source:
    return Source("train.py", TEXT)


def call(source: Source) -> ast.Call:
    return next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


def test_nodes_are_found_by_their_lines(source: Source) -> None:
    function = source.function_at(8)
    assert function is not None
    assert function.name == "loss"
    assert [source.of(node) for node in source.at(8, ast.List)] == ["[1,\n             2]"]
    assert called(call(source)) == "predict"
    assert len(uses(source.tree, "x")) == 2
    inside = source.inside(call(source), ast.ClassDef)
    assert inside is not None
    assert inside.name == "Agent"


def test_an_edit_keeps_every_other_character(source: Source) -> None:
    edited = source.edited([source.replace(call(source), "self.net(x)")])
    assert edited == TEXT.replace("self.net.predict(x)", "self.net(x)")


def test_lines_are_put_before_decorators_with_the_indent(source: Source) -> None:
    function = source.function_at(6)
    assert function is not None
    edited = source.edited([source.before(function, ["# new", ""])])
    assert "class Agent:\n    # new\n\n    @property\n" in edited


def test_a_module_is_imported_once(source: Source) -> None:
    assert source.imports("numpy") == "np"
    assert source.importing("numpy") == []
    edited = source.edited(source.importing("torch"))
    assert edited.splitlines()[:3] == ['"""Ä docstring."""', "import torch", "import numpy as np"]


def test_edits_that_overlap_or_break_the_file_give_no_diff(source: Source) -> None:
    assert source.diff([Edit(0, 9, ""), Edit(5, 12, "")]) == ""
    assert source.diff([source.replace(call(source), "(")]) == ""
    assert source.diff([]) == ""
    assert "+        return self.net(x)  # keep" in source.diff(
        [source.replace(call(source), "self.net(x)")]
    )


def test_a_file_that_cannot_be_parsed_is_none(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:")
    assert Source.read(tmp_path, "broken.py") is None
    assert Source.read(tmp_path, "gone.py") is None
