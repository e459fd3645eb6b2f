"""Compares two or many captures: effect or noise?

`statistics` has the pure methods, and `judgement` turns an interval into a verdict. `compare` and
`unpaired` apply them to two runs; `scaling`, `hypothesis`, `limits` and `time_to_return` to many.
Results are plain data (`experiments`).
"""
