"""Functions of Python as they are when hotloop is imported.

A program, or its tests, may replace them and count its own calls: `patch("builtins.open")`.
"""

from __future__ import annotations

from os import getpid, listdir

__all__ = ["getpid", "listdir", "open_file"]

open_file = open
