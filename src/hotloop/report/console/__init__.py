"""The terminal: the report as text, and the view of a run in progress.

`text` is the report; the tables and parts it consists of have a file each. `terminal` knows width,
colors and what is safe to print; every command uses it. `live_view`, `screen` and `keys` show a
run in progress.
"""
