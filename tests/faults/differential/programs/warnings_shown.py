"""Warnings name the program's lines, once each."""

import warnings


def old():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


for _ in range(3):
    old()
    warnings.warn("user")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    old()
    old()
print(len(caught), caught[0].lineno, caught[0].filename == __file__, len(warnings.filters) > 0)
