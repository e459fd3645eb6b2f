"""Scales measurements in stretches, and samples between them, to the whole loop."""
