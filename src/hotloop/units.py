"""Numbers for people: a unit, and no more digits than the noise allows."""

from __future__ import annotations

from collections.abc import Iterable


def seconds(value: float) -> str:
    """A duration with three significant digits: 1.23 s, 45.6 ms, 789 µs, 12 ns, 3 min 20 s."""
    if value >= 3600:
        return f"{int(value // 3600)} h {int(value % 3600 // 60):02d} min"
    if value >= 120:
        return f"{int(value // 60)} min {int(value % 60):02d} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= factor * 0.9995:
            return f"{_three(value / factor)} {unit}"
    return f"{value * 1e9:.0f} ns" if value > 0 else "0 s"


def _three(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"


def percent(share: float) -> str:
    """A share, with a digit after the point: 12.3%; never 0.0% for something that took time."""
    return "<0.1%" if 0 < share < 0.0005 else f"{share * 100:.1f}%"


def count(value: float) -> str:
    """A number of things: 12,345."""
    return f"{value:,.0f}"


def amount(value: float) -> str:
    """A number that need not be whole: 58.4, 64, 0.05, 1,234."""
    if value == int(value) or abs(value) >= 999.5:
        return count(value + 0.0)
    return f"{value:.3g}"


def plural(number: float, thing: str, ending: str = "s") -> str:
    """A number of things with their name: 1 region, 2 regions; of a mean, 2.5 or 61 regions.

    Words in -y become -ies.
    """
    shown = f"{number:.2g}" if number < 9.95 else count(number)
    if shown == "1":
        return f"{shown} {thing}"
    return f"{shown} {thing[:-1]}ies" if thing.endswith("y") else f"{shown} {thing}{ending}"


def factor(value: float) -> str:
    """A speedup: 1.07, 2.5, 14."""
    if value < 2:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def times_faster(low: float, high: float) -> str:
    """A range of speedups: "1.07 to 1.08 times faster"."""
    least, most = factor(low), factor(high)
    return f"{least} times faster" if least == most else f"{least} to {most} times faster"


def megabytes(value: float) -> str:
    return f"{value / 1000:.2f} GB" if value >= 1000 else f"{value:.0f} MB"


def size(amount: float) -> str:
    """A number of bytes: 80 bytes, 12 kB, 3 MB, 1.20 GB."""
    if 0 < amount < 999.5:
        return plural(round(amount), "byte")
    return f"{amount / 1e3:.0f} kB" if 0 < amount < 1e6 else megabytes(amount / 1e6)


def rate(value: float) -> str:
    """Things per second, or their mean, three significant digits; whole numbers as such."""
    return count(value) if value >= 1000 or value == int(value) else _three(value)


def value(number: float) -> str:
    """A return or another number without a unit, three significant digits: 195, -0.42, 12,300."""
    magnitude = abs(number)
    if magnitude >= 1000 or number == int(number):
        return count(number)
    return (
        f"{number:.3g}" if magnitude < 0.995 else f"{'-' if number < 0 else ''}{_three(magnitude)}"
    )


def listing(parts: Iterable[str]) -> str:
    """a, b and c."""
    items = list(parts)
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]
