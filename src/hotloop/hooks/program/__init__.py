"""Recognizes the phases of the user's own code, and times them.

May use the context, `install`, `redirect`, `wrapping` and `inference`. Knows the vocabulary of
training programs and which files are the program's, but no library by name.
"""
