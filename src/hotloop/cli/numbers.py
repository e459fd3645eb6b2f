"""Numbers on the command line, as argparse types."""

from __future__ import annotations

import argparse


def above_zero(text: str) -> int:
    """A whole number from 1."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    """A whole number from 0."""
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}")
    return number


def percent(text: str) -> float:
    """`2%` as 0.02."""
    try:
        value = float(text.strip().removesuffix("%")) / 100.0
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage, such as 2%") from None
    # 0.02 without a sign would be a fiftieth of a percent, which nobody intends.
    if not 0 < value < 10 or (value < 0.01 and not text.strip().endswith("%")):
        raise argparse.ArgumentTypeError(f"{text!r}: write a percentage, such as 2%")
    return value


#: Seconds per unit of an age.
_AGES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def age(text: str) -> float:
    """`7d` as seconds."""
    number, unit = text[:-1], text[-1:]
    try:
        amount = float(number)
    except ValueError:
        amount = -1.0
    if amount < 0 or unit not in _AGES:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age, such as 7d, 12h or 2w")
    return amount * _AGES[unit]
