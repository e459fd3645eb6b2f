"""How true hotloop's shares are: `python -m benchmarks.accuracy [--rounds 3]`.

Each program runs under hotloop with timers written by hand beside it (`programs/hand_timers.py`, in
the program or around the library's functions), in the same process and the same run. Both say what
share of the loop each phase was, what it calls included; the figure is the difference. It also runs
with either alone.
"""

from __future__ import annotations

import argparse
import math
import sys

from benchmarks.cost import add_arguments, as_installed, chosen, measure, results_file
from benchmarks.figures import load
from benchmarks.peers import HAND_TIMERS, HOTLOOP, HOTLOOP_TIMED
from benchmarks.runs import NAMES, alone

ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    results = results_file(options, "accuracy.jsonl")
    programs = chosen(options.programs, list(NAMES))
    planned = [
        (n, name, peer)
        for n in range(options.rounds)
        for name in programs
        for peer in (HOTLOOP_TIMED, HOTLOOP, HAND_TIMERS)
    ]
    arguments = (str(options.steps),) if options.steps else ()
    as_installed()
    measure(iter(planned), results, math.inf, arguments, alone)
    from benchmarks.tables import accuracy_table

    print(accuracy_table(load(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
