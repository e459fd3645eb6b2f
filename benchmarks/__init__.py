"""What hotloop costs and how true its figures are, measured beside the peers in one run.

Time figures are noisy, so everything here is a ratio of things measured in turn within one run.
None of it is a test: tests must not fail because a machine was busy.
"""
