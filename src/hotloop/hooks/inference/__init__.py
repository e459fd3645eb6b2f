"""Deduces phases from the order of events: steps, network calls, backward passes, optimizer steps.

For loops that no library table covers. Its objects belong to the context, and the decisions are
made in the native module (`measure/native`). Recognizes tensors and environments only by their
behavior, and names by the vocabulary of `program`.
"""
