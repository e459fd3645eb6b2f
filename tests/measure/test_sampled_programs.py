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

#: Operations in C, each repeated by the same small program: what is made before the loop, and what
#: is done in it.
OPERATIONS = {
    "attribute": (
        "numbers = type('N', (list,), {'total': property(sum)})(range(100_000))",
        "_ = numbers.total",
    ),
    "compare_arrays": ("x, y = np.zeros(2_000_000), np.ones(2_000_000)", "_ = x < y"),
    "compare_lists": ("xs, ys = list(range(200_000)), list(range(200_000))", "_ = xs == ys"),
    "contains": ("xs = list(range(100_000))", "_ = -1 in xs"),
    "difference": ("s, t = set(range(100_000)), set(range(50_000))", "_ = s - t"),
    "getitem": ("x, index = np.ones(500_000), np.arange(500_000)", "_ = x[index]"),
    "hashing": ("block = bytes(2_000_000)", "hashlib.sha256(block)"),  # without the GIL
    "inplace": ("x, y = np.zeros(2_000_000), np.ones(2_000_000)", "x += y"),
    "matmul": ("a = np.ones((400, 400))", "_ = a @ a"),  # without the GIL
    "merge_dicts": (
        "d, e = dict.fromkeys(range(50_000)), dict.fromkeys(range(50_000, 100_000))",
        "_ = d | e",
    ),
    "modulo": ("n, m = 7**60_000, 5**20_000", "_ = n % m"),
    "negate": ("x = np.zeros(2_000_000)", "_ = -x"),
    "power": ("base = 3", "_ = base**20_000"),
    "repeat_text": ("text = 'hot loop '", "_ = text * 100_000"),
    "searching": ("pattern, text = re.compile('x+y'), 'x' * 1500", "pattern.search(text)"),
    "setitem": ("x, y = np.zeros(2_000_000), np.ones(2_000_000)", "x[:] = y"),
    "slicing": ("xs = list(range(400_000))", "_ = xs[::2]"),
    "sorting": ("xs = [(i * 7919) % 100_003 for i in range(100_000)]", "sorted(xs)"),
}
REPEATED = """
import hashlib, re, time
{imports}
END = time.perf_counter() + 3


def schedule(step):
    # The next Python function: none of the time before it is its own.
    return step + 1


def main():
    {made}
    step = 0
    while time.perf_counter() < END:
        {operation}  # hot: native
        step = schedule(step)


main()
"""


def programs() -> dict[str, str]:
    """Name -> source."""
    folder = Path(__file__).parent / "sampled_programs"
    found = {path.stem: path.read_text() for path in folder.glob("*.py")}
    for name, (made, operation) in OPERATIONS.items():
        imports = "import numpy as np" if "np." in made else ""
        found[name] = REPEATED.format(imports=imports, made=made, operation=operation)
    return found


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
@pytest.mark.parametrize(("name", "source"), sorted(programs().items()), ids=sorted(programs()))
def test_function_line_and_state(name: str, source: str, tmp_path: Path) -> None:
    if "import torch" in source:
        pytest.importorskip("torch")
    program = tmp_path / f"{name}.py"
    program.write_text(source)
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
