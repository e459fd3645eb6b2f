"""The terminal: the report as text, and the view of a run in progress.

`text` is the report; each of its tables and parts has its own file. Every command uses `terminal`,
which knows width, colors and what is safe to print. `live_view`, `screen` and `keys` show a run in
progress.
"""
