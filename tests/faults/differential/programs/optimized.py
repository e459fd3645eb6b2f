"""python -OO: no assertions, no docstrings."""

# python: -OO
assert False
print(__debug__, __doc__, print.__doc__ is not None)
