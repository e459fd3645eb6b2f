"""Names functions of the program in titles so that a person finds them in the source."""

from __future__ import annotations

from hotloop.capture.schema import SourceLine

#: The part of a qualified name between a function and the functions that it defines.
_INSIDE = "<locals>"


def name_of(function: str) -> str:
    """A function's own name, with what tells it from others of that name; "" for none.

    `Memo.__call__`, `wrapper in timed`, `a lambda in main`; a comprehension is the function that it
    is in.
    """
    parts = without_comprehensions(function).split(".")
    name = parts[-1]
    around = parts[:-2] if parts[-2:-1] == [_INSIDE] else []
    if name == "<lambda>":
        return f"a lambda in {name_of('.'.join(around))}" if around else "a lambda"
    if name.startswith("<"):
        return ""
    if around:
        return f"{name} in {name_of('.'.join(around))}"
    return ".".join(parts[-2:]) if name.startswith("__") else name


def without_comprehensions(function: str) -> str:
    """A qualified name; for a comprehension, the name of the function around it."""
    parts = function.split(".")
    # One in another is `f.<locals>.<listcomp>.<listcomp>`.
    while len(parts) > 1 and parts[-1].startswith("<") and parts[-1] != "<lambda>":
        del parts[-1]
    return ".".join(parts)


def stands_before(function: str) -> bool:
    """Whether a function is called in place of another one: a decorator's, or an object's call."""
    name = function.rpartition(".")[2]
    return name.startswith(("__", "<lambda>")) or f".{_INSIDE}." in f".{function}"


def by_name(lines: list[SourceLine]) -> str:
    """ " (in function)", for a title; a module's code has its line instead."""
    if not lines:
        return ""
    if name := name_of(lines[0].function):
        return f" (in `{name}`)"
    file = lines[0].file.replace("\\", "/").rpartition("/")[2]
    return f" ({file}:{lines[0].line})"
