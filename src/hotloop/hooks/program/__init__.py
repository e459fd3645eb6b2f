"""The user's own code: which of its functions are which phase, and how they are timed.

May use the context, `redirect` and `inference`. Knows the vocabulary of training programs, and no
library by name.
"""
