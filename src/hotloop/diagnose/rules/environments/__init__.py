"""Causes in environments: what a step, a reset and a frame cost, and how many environments run."""
