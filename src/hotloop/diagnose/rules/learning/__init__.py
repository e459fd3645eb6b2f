"""Causes in what learns: updates, losses, searches, generation, and how often they run."""
