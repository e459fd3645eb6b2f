"""One table per library: its functions, and the phase that each one is.

A file has a function `library(context: HookContext) -> Library`; `LIBRARIES` in `hooks/__init__.py`
lists the files. What a table remembers during a run is in closures or objects that this function
makes, never at module level. A table may use the context, `library`, `wrapping`, `redirect`,
`protocols` and `inference`, and another library's table only where its own library is built on that
one (TRL on Transformers). It must not import its library before the program does.
"""
