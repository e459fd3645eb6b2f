"""Slow environments: the cost of a step, a reset and a frame, and the number of environments."""
