"""Runs a program and records it: the composition root.

Builds a session out of `measure`, `hooks` and `capture`, starts the program, follows it into child
processes and closes the capture however it ends. No other room may import both halves.
Knows nothing about analyses, findings and reports.
"""
