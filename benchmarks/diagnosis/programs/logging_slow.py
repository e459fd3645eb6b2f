"""Each step is a row in a database, in a transaction of its own."""

import sqlite3

from _environments import Walk
from _training import dqn


def main(each: int = 1) -> None:
    db = sqlite3.connect("training.db")
    db.execute("CREATE TABLE steps (step INTEGER, reward REAL)")
    rows: list[tuple[int, float]] = []

    def on_step(step, agent, buffer, reward):
        rows.append((step, reward))
        if len(rows) >= each:
            db.executemany("INSERT INTO steps VALUES (?, ?)", rows)
            db.commit()
            rows.clear()

    dqn(Walk(), 1500, on_step=on_step)
    db.close()


if __name__ == "__main__":
    main()
