"""Expected gains in words, with enough digits to keep the ends of a range distinct."""

from __future__ import annotations

from hotloop import units
from hotloop.capture.proofs import (
    CEILING,
    CONFIRMED,
    FAILED,
    IS_SLOWER,
    NO_DIFFERENCE,
    REFUTED,
    UNCLEAR,
    UNSAFE,
    TriedFix,
)
from hotloop.diagnose.finding import HEALTHY, Finding, Gain

#: The interval of an unclear result that is wider, end over end, is not shown.
MOST_WIDTH = 10.0
#: A ceiling barely above the range says nothing more.
FAR_ABOVE = 1.1
#: Smaller gains cannot be measured.
_NOTHING = 1.005


def times(gain: Gain) -> str:
    return units.times_faster(gain.low, gain.high)


def measured(tried: TriedFix) -> str:
    """A measured speedup with its interval: "1.97 times faster (1.91 to 2.04)"."""
    if tried.gain is None or tried.low is None or tried.high is None:
        return ""
    if tried.verdict == REFUTED and tried.why == NO_DIFFERENCE:
        return f"no difference{interval(tried)}"
    if tried.verdict == REFUTED and tried.why == IS_SLOWER and tried.low > 0:
        return f"{1 / tried.gain:.2f} times slower ({1 / tried.high:.2f} to {1 / tried.low:.2f})"
    return f"{tried.gain:.2f} times {'faster' if tried.low > 1 else 'as fast'}{interval(tried)}"


def interval(tried: TriedFix) -> str:
    """The interval with a space before it; empty if it is too wide to say anything."""
    low, high = tried.low or 0.0, tried.high or 0.0
    if tried.verdict == UNCLEAR and high > MOST_WIDTH * low:
        return ""
    return f" ({low:.2f} to {high:.2f})"


def proven(finding: Finding) -> str:
    """The result of `hotloop prove` for a finding, as a sentence; empty if none."""
    tried = finding.proof
    if tried is None:
        return ""
    pairs = f"{units.plural(tried.pairs, 'pair')} of runs with {tried.fix}"
    weights = f" Weights after equal steps: {tried.weights}." if tried.weights else ""
    if tried.verdict == CONFIRMED:
        return f"Confirmed by {pairs}: {tried.how}.{weights}"
    if tried.verdict == REFUTED:
        what = measured(tried) or tried.why
        return f"Refuted by {pairs}: {what}.{weights}"
    if tried.verdict == CEILING:
        return f"Measured ceiling: {measured(tried)} {tried.fix}. {_sentence(tried.why)}"
    if tried.verdict in (UNCLEAR, UNSAFE):
        return f"Tried {tried.fix}: {measured(tried)}; {tried.why}.{weights}"
    name = f" {tried.fix}" if tried.fix else ""
    verb = "Could not be tried" if tried.verdict == FAILED else "Not tried"
    return f"{verb}{name}: {tried.why}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def promised(finding: Finding) -> str:
    """The expected gain of a fix and its ceiling; empty if none is predicted."""
    if finding.severity == HEALTHY:
        return ""
    if finding.measured_gain is not None and finding.proof is not None:
        return f"measured: {measured(finding.proof)}; predicted: {times(finding.gain)}"
    if finding.run_gain is not None and finding.is_of_run:
        return f"the whole run {times(finding.run_gain)}"
    if finding.gain.high < _NOTHING:
        return ""
    ceiling = finding.ceiling or finding.gain.high
    limit = f", {units.factor(ceiling)} if this cost were zero"
    return times(finding.gain) + (limit if ceiling >= FAR_ABOVE * finding.gain.high else "")
