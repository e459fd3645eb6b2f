"""Pure functions from a capture to breakdowns, trends and statistics.

`analysis` puts the parts together: `timeline` separates start-up, loop and the rest, `tree` adds
the windows up and removes hotloop's own cost, `functions` reads the samples, `score` weighs. No
file is read here and nothing is printed; `diagnose` and `report` use the result. Imports `capture`
and none of the other rooms.

`flame` is the tree of phases and functions, `weighted_stacks` the same flat; `series` is the run
over time, `live_state` its last seconds, `rows` its windows as a table, `tracks` its single calls.
"""
