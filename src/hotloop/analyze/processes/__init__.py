"""Threads and processes: which of them trains, and what the others did while it waited."""
