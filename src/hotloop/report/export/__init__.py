"""A capture in the formats of other tools: traces, flame graphs, profiles, tables.

One file per format, each with a `render` that `report/formats.py` lists. Names from a program are
cleaned as the format needs; figures are the analysis's own.
"""
