"""Score the frozen sets: programs written before the rules that judge them.

python -m benchmarks.diagnosis.frozen                     every program
python -m benchmarks.diagnosis.frozen --sets third        of one set
python -m benchmarks.diagnosis.frozen too_few_envs ...    some of them
python -m benchmarks.diagnosis.frozen --keep FOLDER       keep captures, run what is missing
python -m benchmarks.diagnosis.frozen --times 3           also measure each fix, interleaved

A program names what is planted in it, the largest first: `# plants: ID @ text of the line`. With
`--fixed`, or as `NAME_fixed.py`, it runs without those causes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.diagnosis.runs import HERE, Seen, look_at

SETS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
MARK = "# plants: "
#: Ends the name of a program without its causes, where that is a file of its own.
FIXED = "_fixed"
#: Ids of the catalog that a program names its cause by, and the findings that report it.
REPORTED_AS = {
    "small-data-parallel": ("data-parallel-overhead",),
    "one-leaf-search": ("one-leaf-per-pass", "unbatched-policy"),
    "data-loading": ("data-loading", "loader-bound"),
    "generation-batch": ("generation-batch", "unbatched-policy"),
    "few-envs-per-runner": ("few-envs-per-runner", "too-few-envs", "unbatched-policy"),
}


@dataclass(frozen=True)
class Planted:
    """One cause in a program, and the text of the line that shows it."""

    id: str
    line: str

    @property
    def reported_as(self) -> tuple[str, ...]:
        return REPORTED_AS.get(self.id, (self.id,))


def reported(seen: Seen, planted: Planted) -> dict[str, Any] | None:
    """The finding that reports a planted cause."""
    found = (seen.finding(id) for id in planted.reported_as)
    return next((each for each in found if each), None)


def planted_in(path: Path) -> list[Planted]:
    found = []
    for text in path.read_text().splitlines():
        if text.startswith(MARK):
            id, _, line = text.removeprefix(MARK).partition(" @ ")
            found.append(Planted(id, line))
    return [each for each in found if each.id != "nothing"]


def names_line(finding: dict[str, Any], planted: Planted, path: Path) -> bool:
    """Whether a finding's source lines include the planted one or the function around it."""
    if not planted.line:
        return True
    lines = path.read_text().splitlines()
    wanted = [at for at, text in enumerate(lines, 1) if planted.line in text and MARK not in text]
    functions = {_function_at(lines, at) for at in wanted}
    # A planted `def` stands for its function, and a comprehension belongs to the one around it.
    functions |= {_defined_at(lines[at - 1]) for at in wanted} - {""}
    for source in finding["where"]:
        function = source["function"].partition(".<locals>.<")[0].rpartition(".")[2]
        if source["line"] in wanted or function in functions:
            return True
    return False


def _defined_at(text: str) -> str:
    """Name of the function that a line defines, if it does."""
    return text.lstrip()[4:].partition("(")[0] if text.lstrip().startswith("def ") else ""


def _function_at(lines: list[str], at: int) -> str:
    """Name of the function that holds a line; `<module>` where there is none."""
    indent = len(lines[at - 1]) - len(lines[at - 1].lstrip())
    for text in reversed(lines[:at]):
        here = len(text) - len(text.lstrip())
        if text.strip() and here < indent:
            indent = here
            if text.lstrip().startswith("def "):
                return text.lstrip()[4:].partition("(")[0]
    return "<module>"


def judge(path: Path, seen: Seen) -> tuple[bool, str]:
    """(whether the report is right, what it says instead or besides)."""
    planted, loud = planted_in(path), seen.ids("critical", "warning")
    if not planted:
        return not loud, ", ".join(loud)
    missing = [each.id for each in planted if not set(each.reported_as) & set(loud)]
    first = bool(loud) and any(loud[0] in each.reported_as for each in planted)
    misplaced = [
        each.id
        for each in planted
        if (finding := reported(seen, each)) and not names_line(finding, each, path)
    ]
    notes = [] if first else [f"first: {loud[0] if loud else 'nothing'}"]
    notes += [f"missing: {id}" for id in missing] + [f"elsewhere: {id}" for id in misplaced]
    return first and not missing, "; ".join(notes)


def measured(path: Path, pairs: int, keep: Path | None) -> float:
    """Gain of the fix: time per step of the loop, interleaved."""
    slow, fixed = [], []
    apart = path.with_name(f"{path.stem}{FIXED}.py")
    without = (apart, ()) if apart.exists() else (path, ("--fixed",))
    for turn in range(pairs):
        order = [(slow, (path, ())), (fixed, without)]
        for times, (program, arguments) in order if turn % 2 == 0 else order[::-1]:
            times.append(look_at(program, keep, *arguments, turn=turn).per_step_s)
    return statistics.median(slow) / statistics.median(fixed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--times", type=int, default=0)
    options = parser.parse_args()
    known = [path for name in options.sets for path in sorted((HERE / name).glob("*.py"))]
    known = [path for path in known if not path.stem.endswith(FIXED)]
    paths = [path for path in known if not options.names or path.stem in options.names]
    right = 0
    for path in paths:
        planted = planted_in(path)
        try:
            seen = look_at(path, options.keep)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{path.stem:<28} failed: {error}", flush=True)
            continue
        good, notes = judge(path, seen)
        right += good
        ranges = [
            f"{f['id']} {f['gain']['low']:.2f}-{f['gain']['high']:.2f}"
            for each in planted
            if (f := reported(seen, each))
        ]
        pairs = options.times if planted else 0
        times = [f"measured {measured(path, pairs, options.keep):.2f}"] if pairs else []
        said = "; ".join([*ranges, *times, *([notes] if notes else [])])
        print(f"{path.stem:<28} {'right' if good else 'WRONG':<6} {said}", flush=True)
    print(f"{right} of {len(paths)} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
