"""The user's own code: which of its functions are which phase, and how they are timed.

May use the context, `install`, `redirect`, `wrapping` and `inference`. Knows the vocabulary of
training programs, and which files are the program's; no library by name.
"""
