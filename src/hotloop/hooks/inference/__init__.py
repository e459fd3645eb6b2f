"""Deduces phases from the order of events: steps, network calls, backward passes, optimizer steps.

For loops that no library table covers. Its objects belong to the context, and the native module
decides (`measure/native`). Knows tensors and environments by their behavior only, and names by the
vocabulary of `program`.
"""
