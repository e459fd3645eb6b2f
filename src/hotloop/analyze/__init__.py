"""Pure functions from a capture to breakdowns, trends and statistics.

`analysis` combines the parts: `timeline` separates start-up, loop and the rest; `tree` adds up the
windows and removes hotloop's own cost; `bounds`, `device_use` and `critical` determine what the
loop waited for; `accounting`, `score` and `one_time_work` mark what is notable. The result is plain
data (`model`).

| folder | contents |
|---|---|
| `samples/` | functions, lines and thread states from samples; flame graphs |
| `over_time/` | series, trends, returns, interruptions, a run in progress |
| `processes/` | which thread of which process trains, and the work of the others |
| `stretches/` | scales measurements from stretches to the whole loop |
| `comparing/` | two or many captures: statistics, comparisons, sweeps, limits |

`diagnose` and `report` use the results. Nothing here prints, and only `capture` reads files
(through `processes.training.read_capture`). Imports no other room than `capture`.
"""
