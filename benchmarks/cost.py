"""What profilers cost: `python -m benchmarks.cost [--pairs 10] [--budget-minutes 120]`.

Every round runs each program under hotloop twice: *hotloop* measures every call, as in the first
half minute of a run; *hotloop later* measures stretches, as after it (the half minute is shortened
to 3 s, and the first 6 s of the loop are left out). Each takes turns with a plain run of its own
(`benchmarks.runs.duel`), and so does every peer in some of the rounds. Every run is appended to a
file of results, so that an interrupted benchmark continues where it stopped; a run whose cores
others used is marked. A peer that fails on a program is not tried there again; one that runs for
too long after the loop is stopped right after it the next time.

    python -m benchmarks.cost --programs sb3_ppo --peers hotloop,py-spy --pairs 5
"""

from __future__ import annotations

import argparse
import compileall
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.figures import load
from benchmarks.peers import HOTLOOP, HOTLOOP_LATER, PEERS, Peer
from benchmarks.runs import LONGEST_AFTER_S, NAMES, Run, duel

RESULTS = Path(__file__).parent / "results"
PAIRS = 10
PEER_ROUNDS = 4


def has_peers(round: int, pairs: int, peer_rounds: int) -> bool:
    """Whether the peers are run in that round: as many rounds as asked for, spread evenly."""
    return math.floor((round + 1) * peer_rounds / pairs) > math.floor(round * peer_rounds / pairs)


def plan(
    programs: list[str], peers: list[Peer], pairs: int, peer_rounds: int
) -> Iterator[tuple[int, str, Peer]]:
    """All runs in their order: rounds on the outside, so that a cut leaves whole rounds."""
    for round in range(pairs):
        among = peers if has_peers(round, pairs, peer_rounds) else [HOTLOOP, HOTLOOP_LATER]
        for program in programs:
            for peer in among:
                if peer in peers:
                    yield round, program, peer


def measure(
    planned: Iterator[tuple[int, str, Peer]],
    results: Path,
    budget_s: float,
    arguments: tuple[str, ...] = (),
    run: Callable[..., list[Run]] = duel,
) -> None:
    """Make the runs that are not among the results yet."""
    runs = load(results)
    # A run alone and one of two that took turns do not stand for each other.
    runs = [each for each in runs if each.failed or bool(each.beside) == (run is duel)]
    done = {(each.round, each.program, each.peer) for each in runs}
    broken = {(each.program, each.peer) for each in runs if each.failed}
    endless = {(each.program, each.peer) for each in runs if each.ended}
    begin = time.monotonic()
    for round, program, peer in planned:
        if (round, program, peer.name) in done or (program, peer.name) in broken:
            continue
        if time.monotonic() - begin > budget_s:
            say("the time is used up; run it again to go on")
            return
        wait_s = 0.0 if (program, peer.name) in endless else LONGEST_AFTER_S
        for result in run(program, peer, round, arguments, wait_s):
            if result.failed:
                broken.add((program, result.peer))
            if result.ended:
                endless.add((program, result.peer))
            keep(results, result.line())
            say(in_words(result))


def keep(results: Path, line: str) -> None:
    """Append a line to a file of results, also after one that was cut short."""
    results.parent.mkdir(parents=True, exist_ok=True)
    whole = not results.exists() or results.read_bytes()[-1:] in (b"", b"\n")
    with open(results, "a") as file:
        file.write(("" if whole else "\n") + line + "\n")


def in_words(result: Run) -> str:
    """A run in one line."""
    what = f"{result.round:>3} {result.program:<12} {result.peer:<18}"
    if result.failed:
        return f"{what} {result.failed}"
    mark = f"  (others used {result.foreign_cores:.2f} cores)" if result.disturbed else ""
    ended = f"  ({result.ended})" if result.ended else ""
    return f"{what} {result.loop_s:7.2f} s{mark}{ended}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def chosen(names: str | None, known: list[str]) -> list[str]:
    """Names with commas between, or all."""
    if names is None:
        return known
    wanted = names.split(",")
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise SystemExit(f"{', '.join(unknown)}: there are {', '.join(known)}")
    return [name for name in known if name in wanted]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What all benchmarks of whole runs take."""
    parser.add_argument("--programs", help="names with commas between (default: all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--fresh", action="store_true", help="forget the results from before")
    parser.add_argument("--steps", type=int, help="environment steps of each program, for a try")


def results_file(options: argparse.Namespace, name: str) -> Path:
    path: Path = options.results / name
    if options.fresh:
        path.unlink(missing_ok=True)
    return path


def as_installed() -> None:
    """Compile hotloop's files, as pip does with those of every peer; a checkout has none."""
    import hotloop

    compileall.compile_dir(str(Path(hotloop.__file__).parent), quiet=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add_arguments(parser)
    parser.add_argument("--pairs", type=int, default=PAIRS, help="rounds of plain and hotloop")
    parser.add_argument("--peer-rounds", type=int, default=PEER_ROUNDS, help="of these, with peers")
    parser.add_argument("--peers", help="names with commas between (default: all)")
    parser.add_argument("--budget-minutes", type=float, default=math.inf)
    options = parser.parse_args()
    names = chosen(options.peers, [peer.name for peer in PEERS])
    peers = [peer for peer in PEERS if peer.name in names]
    programs = chosen(options.programs, list(NAMES))
    results = results_file(options, "cost.jsonl")
    planned = plan(programs, peers, options.pairs, min(options.peer_rounds, options.pairs))
    arguments = (str(options.steps),) if options.steps else ()
    as_installed()
    measure(planned, results, options.budget_minutes * 60, arguments)
    from benchmarks.tables import cost_tables

    print("\n\n".join(cost_tables(load(results))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
