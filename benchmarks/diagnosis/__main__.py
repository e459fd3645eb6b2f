"""Print the diagnosis scoreboard.

python -m benchmarks.diagnosis                     every cause and every healthy program
python -m benchmarks.diagnosis env-bound logging   some causes
python -m benchmarks.diagnosis --healthy           the healthy programs only
python -m benchmarks.diagnosis --json board.json   also as a file
python -m benchmarks.diagnosis --keep FOLDER       keep captures, run what is missing
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.diagnosis.limits import NotHereError
from benchmarks.diagnosis.runs import Score, all_ids, healthy_programs, look_at, score


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each version, interleaved")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="captures; those there are used again")
    options = parser.parse_args()
    ids = [] if options.healthy else options.ids or all_ids()
    unknown = [id for id in ids if id not in all_ids()]
    if unknown:
        print(f"no programs for {', '.join(unknown)}", file=sys.stderr)
        return 2
    scores = []
    heading = f"{'id':<26} {'first':<6} {'predicted':>14} {'measured':>9}"
    print(f"{heading}  inside  on the fixed version / instead")
    for id in ids:
        try:
            scores.append(score(id, options.pairs, options.keep))
        except NotHereError as error:
            print(f"{id:<26} not here: {error}", flush=True)
            continue
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            print(f"{id:<26} failed: {error}", flush=True)
            continue
        print(row(scores[-1]), flush=True)
    alarms = [] if options.ids and not options.healthy else _healthy(options.keep)
    print(summary(scores, len(ids), alarms))
    if options.json:
        options.json.write_text(json.dumps([_plain(each) for each in scores], indent=1))
    return 0


def row(each: Score) -> str:
    low, high = each.predicted or (float("nan"), float("nan"))
    rest = []
    if not each.first:
        rest.append("instead: " + (", ".join(each.slow.ids()) or "nothing"))
    if each.still:
        rest.append("STILL REPORTED")
    others = each.fixed.ids("critical", "warning")
    if others:
        rest.append("fixed has: " + ", ".join(others))
    measured = f"{each.gain:.2f}" if each.gain else "-"
    inside = {True: "yes", False: "NO", None: "-"}[each.inside]
    return (
        f"{each.id:<26} {'yes' if each.first else 'NO':<6} {low:6.2f} - {high:5.2f}"
        f" {measured:>9}  {inside:<6}  {'; '.join(rest)}"
    ).rstrip()


def summary(scores: list[Score], wanted: int, alarms: list[str] | None) -> str:
    lines = [""]
    if wanted:
        first = sum(each.first for each in scores)
        judged = [each for each in scores if each.inside is not None]
        inside = sum(bool(each.inside) for each in judged)
        widths = [high / low for each in judged for low, high in [each.predicted or (1, 1)]]
        lines += [
            f"right id first           {first} of {wanted}",
            f"measured gain inside     {inside} of {len(judged)}",
            f"median width of a range  {statistics.median(widths):.2f}" if widths else "",
            f"still on the fixed one   {sum(each.still for each in scores)}",
        ]
    if alarms is not None:
        lines.append(f"alarms on healthy ones   {len(alarms)} {' '.join(alarms)}".rstrip())
    return "\n".join(line for line in lines)


def _healthy(keep: Path | None) -> list[str]:
    alarms = []
    for path in healthy_programs():
        seen = look_at(path, keep)
        loud = seen.ids("critical", "warning")
        print(f"healthy {path.stem:<24} {', '.join(loud) or seen.verdict}", flush=True)
        alarms += [f"{path.stem}:{id}" for id in loud]
    return alarms


def _plain(each: Score) -> dict[str, object]:
    return {
        "id": each.id,
        "first": each.first,
        "predicted": each.predicted,
        "measured": each.gain,
        "inside": each.inside,
        "still": each.still,
        "slow": each.slow.ids(),
        "fixed": each.fixed.ids(),
    }


if __name__ == "__main__":
    sys.exit(main())
