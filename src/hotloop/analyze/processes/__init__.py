"""Threads and processes: which one trains, and what the others did while it waited."""
