"""Pure functions from a capture to breakdowns, trends and statistics.

`analysis` puts the parts together: `timeline` separates start-up, loop and the rest, `tree` adds
the windows up and removes hotloop's own cost, `bounds`, `device_use` and `critical` tell what the
loop waited for, `accounting`, `score` and `one_time_work` what is
notable. The result is plain data, in
`model`.

| folder | contents |
|---|---|
| `samples/` | functions, lines and thread states from samples; flame graphs |
| `over_time/` | series, trends, returns, interruptions, a run in progress |
| `processes/` | which thread of which process trains, and what the others did |
| `stretches/` | scales what was measured in stretches to the whole loop |
| `comparing/` | two or many captures: statistics, comparisons, sweeps, limits |

`diagnose` and `report` use the results. Nothing is printed, and only `capture` reads files:
`processes.training.read_capture` asks it for them. Imports `capture` and no other room.
"""
