"""Turns analyses and findings into what people and programs read.

A renderer takes an analysis and its findings and returns text or bytes; it does no arithmetic of
its own beyond rounding. `units` writes numbers, `terminal` knows width and colour, `text` is the
screen, `document` the JSON, `output` chooses a renderer by a file's ending.
"""
