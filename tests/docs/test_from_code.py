"""What the documentation takes from the code is there, complete, and as the code has it now."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from hotloop.hooks import LIBRARIES
from hotloop.phases import PHASES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    path = ROOT / "tools" / "docs_from_code.py"
    spec = importlib.util.spec_from_file_location("docs_from_code", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_cause_has_a_section_and_every_section_a_cause(tool: ModuleType) -> None:
    text = (ROOT / "docs" / "causes.md").read_text()
    sections = re.findall(r"^### `([a-z0-9-]+)`$", text, re.MULTILINE)
    assert sorted(sections) == list(tool.rules())
    assert sorted(tool.marked("rule")) == sorted(sections)
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        for word in ("**Symptom.**", "**Fix.**"):
            assert part.count(word) == 1, part[:40]


def test_every_library_has_a_table(tool: ModuleType) -> None:
    assert sorted(tool.marked("library")) == sorted(LIBRARIES)


def test_the_glossary_has_every_phase_with_its_category() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    listed = {}
    for names, categories in re.findall(r"^\| (`.+?`) \| ([\w, ]+) \|", text, re.MULTILINE):
        phases = re.findall(r"`([\w.]+)`", names)
        each = categories.split(", ")
        listed |= dict(zip(phases, each * len(phases) if len(each) == 1 else each, strict=False))
    assert listed == PHASES


def test_the_pages_are_as_the_code_is(tool: ModuleType) -> None:
    old = [
        path.name
        for path in sorted((ROOT / "docs").glob("*.md"))
        if tool.filled(path.read_text(encoding="utf-8")) != path.read_text(encoding="utf-8")
    ]
    assert old == [], "run: python tools/docs_from_code.py"
