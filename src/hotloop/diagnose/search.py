"""Causes of slow tree search and self-play."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.capture import schema
from hotloop.diagnose.evidence import calls_of, finding, seconds_in, share_of, where
from hotloop.diagnose.finding import MEDIUM, Finding, Rule

#: From this share of the loop on, and with fewer positions per forward pass than this.
WORTH_IT = 0.1
FEW_LEAVES = 2.0


def one_leaf_per_pass(analysis: Analysis) -> list[Finding]:
    """The network judges one position of the tree at a time."""
    share, calls = share_of(analysis, "search.network"), calls_of(analysis, "search.network")
    if share < WORTH_IT or not calls:
        return []
    leaves = analysis.run.counters.get(schema.SEARCH_LEAVES, 0.0) / calls
    if leaves >= FEW_LEAVES:
        return []
    return [
        finding(
            analysis,
            "one-leaf-per-pass",
            title=f"The network evaluates {leaves:.1f} positions per forward pass in tree search: "
            f"these passes are {share:.0%} of the loop",
            phase="search.network",
            seconds=seconds_in(analysis, "search.network"),
            low=0.4,
            high=0.9,
            fix="Play several games at once and evaluate a leaf of each in one forward pass, "
            "or collect several leaves of one tree with a virtual loss.",
            confidence=MEDIUM,
            where=where(analysis, "search.network"),
            evidence={"positions_per_pass": leaves, "passes": calls},
            learning="With a virtual loss, the search visits slightly different nodes; games "
            "played in parallel search as before.",
        )
    ]


RULES: tuple[Rule, ...] = (one_leaf_per_pass,)
