"""The record of a run in SQLite: every trade, and the account's value from time to time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

# Several runs may write to one file; each waits this long for the others.
LOCK_TIMEOUT_S = 30.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY, seed INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS trades (
    run INTEGER NOT NULL REFERENCES runs, step INTEGER NOT NULL, episode INTEGER NOT NULL,
    bar INTEGER NOT NULL, side TEXT NOT NULL, size INTEGER NOT NULL, price REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS account (
    run INTEGER NOT NULL REFERENCES runs, step INTEGER NOT NULL, value REAL NOT NULL
);
"""


class TradeLog:
    """Collects the trades of one run and writes them every `log_every` steps."""

    def __init__(self, path: Path, seed: int, log_every: int) -> None:
        self.log_every = log_every
        self._connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)
        self._connection.executescript(SCHEMA)
        with self._connection:
            cursor = self._connection.execute("INSERT INTO runs (seed) VALUES (?)", (seed,))
        self.run = cursor.lastrowid
        self._waiting: list[tuple[Any, ...]] = []

    def record(self, step: int, episode: int, price: float, info: Mapping[str, Any]) -> None:
        """Note what one environment step did; `price` is the one that was traded at."""
        traded = info["traded"]
        if traded:
            side = "buy" if traded > 0 else "sell"
            row = (self.run, step, episode, info["bar"] - 1, side, abs(traded), price)
            self._waiting.append(row)
        if step % self.log_every == 0:
            self._write(step, info["value"])

    def _write(self, step: int, value: float) -> None:
        with self._connection:
            self._write_trades()
            self._connection.execute(
                "INSERT INTO account VALUES (?, ?, ?)", (self.run, step, value)
            )

    def _write_trades(self) -> None:
        self._connection.executemany(
            "INSERT INTO trades VALUES (?, ?, ?, ?, ?, ?, ?)", self._waiting
        )
        self._waiting.clear()

    def __enter__(self) -> TradeLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._connection:
            self._write_trades()
        self._connection.close()
