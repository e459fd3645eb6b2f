"""Runs a program and records it: the composition root.

Builds a session from `measure`, `hooks` and `capture`, starts the program, follows it into child
processes, and closes the capture however the program ends. No other room may import both halves.
Knows nothing about analyses, findings and reports.
"""
