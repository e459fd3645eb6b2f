"""Slow learning: updates, losses, searches, generation, and how often they run."""
