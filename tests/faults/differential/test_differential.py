"""Small programs do under hotloop what they do without it: code, output, files, processes.

Each file in `programs/` is one; `tests/support/differential.py` explains their heads.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from differential import Outcome, Program, differences, read_program, run_both

from hotloop.measure.core import native_constant

FOLDER = Path(__file__).parent
PROGRAMS = [read_program(path) for path in sorted((FOLDER / "programs").glob("*.py"))]
ALONE = {program.name: program for program in PROGRAMS if "shares" not in program.options}
SHARED = [program.name for program in PROGRAMS if "shares" in program.options]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("name", ALONE)
def test_same(name: str, tmp_path: Path, full: bool) -> None:
    program = ALONE[name]
    if "full" in program.options and not full:
        pytest.skip(f"only with --full: {program.options['full']}")
    if (needed := program.options.get("needs")) and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    if "frames" in program.options and not native_constant("HIDES_FRAMES", 0):
        pytest.skip("frames of hotloop are seen without the native core")
    only_code = program.options.get("compare") == "code"
    found = differences(*run_both(program, tmp_path, []), code_only=only_code)
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Outcome]:
    pytest.importorskip("torch")
    program = Program(FOLDER / "together.py")
    return run_both(program, tmp_path_factory.mktemp("together"), SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_same_in_one_process(together: tuple[Outcome, Outcome], name: str) -> None:
    found = differences(*(section(outcome, name) for outcome in together))
    assert not found, "\n".join(found)


def section(outcome: Outcome, name: str) -> Outcome:
    """What one of several programs in a process has written."""

    def part(text: str) -> str:
        return text.partition(f"===== {name}\n")[2].partition("=====")[0]

    return replace(outcome, output=part(outcome.output), errors=part(outcome.errors))
