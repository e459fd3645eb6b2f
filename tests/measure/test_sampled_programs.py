"""Programs whose time is known by construction: function, line and state, through `hotloop run`.

Each program marks its hot line with the state that the main thread is in there. A busy machine only
adds waiting for a CPU core, which is a state of its own and is left out of the comparison.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
if not sys.platform.startswith("linux"):
    pytest.skip("states of threads come from /proc", allow_module_level=True)

PROGRAMS = Path(__file__).parent / "sampled_programs"
SHARES = {
    "python": "python_share",
    "native": "native_share",
    "core": "core_share",
    "lock": "lock_share",
    "io": "io_share",
    "sleeping": "sleeping_share",
}


def expected(program: Path) -> tuple[int, str]:
    """(hot line, state) as the program itself states."""
    for number, line in enumerate(program.read_text().splitlines(), 1):
        found = re.search(r"# hot: (\w+)", line)
        if found:
            return number, found[1]
    raise AssertionError(f"{program} marks no line")


def functions_of(program: Path, folder: Path) -> list[dict[str, Any]]:
    """The sampled functions of the program's own time: imports left out."""
    hotloop = [sys.executable, "-m", "hotloop"]
    subprocess.run([*hotloop, "run", "-q", "-o", folder, program], check=True, timeout=120)
    report = subprocess.run(
        [*hotloop, "report", folder, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    functions = json.loads(report.stdout)["functions"]
    assert sum(function["share"] for function in functions) <= 1.0 + 1e-9
    return [f for f in functions if f["process"] == "main" and not f["phase"].startswith("import")]


def line_of(function: dict[str, Any], program: Path) -> int:
    """The line of the program that a function's time belongs to."""
    if Path(function["file"]).name == program.name:
        return int(function["hot_line"])
    return int(function["from_line"]) if Path(function["from_file"]).name == program.name else 0


# In real time: a sampler that gets no core for seconds has too few samples for a table.
@pytest.mark.real_time
@pytest.mark.parametrize("program", sorted(PROGRAMS.glob("*.py")), ids=lambda p: p.stem)
def test_function_line_and_state(program: Path, tmp_path: Path) -> None:
    if "import torch" in program.read_text():
        pytest.importorskip("torch")
    line, state = expected(program)
    lines: dict[int, dict[str, float]] = {}
    for function in functions_of(program, tmp_path / "capture"):
        at = lines.setdefault(line_of(function, program), dict.fromkeys(SHARES, 0.0))
        for name, share in SHARES.items():
            at[name] += function[share] * function["self_s"]
    lines.pop(0, None)  # hotloop's own start, and the interpreter's
    assert max(lines, key=lambda at: sum(lines[at].values())) == line
    states = lines[line]
    if state != "core":
        states.pop("core")
    assert max(states, key=lambda name: states[name]) == state
