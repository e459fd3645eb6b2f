"""Tracebacks with causes, notes and local frames."""


def inner():
    raise KeyError("inner")


def outer():
    try:
        inner()
    except KeyError as error:
        raise ValueError("outer\nwith two lines") from error


outer()
