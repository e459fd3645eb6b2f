"""Scales what was measured in stretches, and sampled between them, to the whole loop."""
