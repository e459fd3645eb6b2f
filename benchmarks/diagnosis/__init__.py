"""The diagnosis scoreboard: planted causes, their fixes, and healthy programs.

`programs/<id>_slow.py` and `<id>_fixed.py` are one small real training program twice, with and
without one cause of docs/causes.md (dashes become underscores); `healthy/*.py` have none.
`python -m benchmarks.diagnosis [ids…]` runs them and says whether hotloop was right.
"""
