"""Recognizes tree searches and their games by what the code does, whatever its names.

A search creates nodes that have children and count their visits, and simulates in a loop. A
function that asks it for a move in a single, not nested, loop plays one game.
"""

from __future__ import annotations

from types import CodeType, FunctionType

from hotloop.hooks.inference.code_between import backward_jumps
from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.instructions import instructions
from hotloop.hooks.redirect import is_really, plain_function, written

_CHILDREN = v.words_set("child children")
_VISITS = v.words_set("visit visits")
#: Whoever is given a node works inside a search: it simulates, expands, or backs a value up.
_GIVEN = v.words_set("node root tree parent leaf")
_SIMULATES = v.words_set("simulate simulation runsimulation simulateonce playout runplayout")


def searches_a_tree(function: FunctionType) -> bool:
    """Whether a function makes the root of a tree, simulates in a loop, and reads its children."""
    code = function.__code__
    if not backward_jumps(code) or not v.words_in(code) & (_CHILDREN | _VISITS):
        return False
    if _GIVEN & {
        word for name in v.parameters_of(function, bound=False) for word in v.words_of(name)
    }:
        return False
    made = (function.__globals__.get(name) for name in code.co_names)
    return any(is_really(each, type) and _is_node(each) for each in made)


def _is_node(cls: type) -> bool:
    """Whether objects of a class have children and count visits."""
    slots = vars(cls).get("__slots__", ())
    names = {*vars(cls).get("__annotations__", {}), *([slots] if type(slots) is str else slots)}
    for raw in vars(cls).values():
        function = written(plain_function(raw))
        if function is not None:
            names |= set(function.__code__.co_names)
    words = {word for name in names for word in v.words_of(str(name))}
    return bool(words & _CHILDREN) and bool(words & _VISITS)


def simulates(words: list[str]) -> bool:
    """Whether a function is one simulation of a search, by its name."""
    return "".join(words) in _SIMULATES


def plays_a_game(code: CodeType, searches: set[str]) -> bool:
    """Whether code asks for moves in one loop; `searches` are names of functions that search."""
    if not searches & set(code.co_names):
        return False
    jumps = backward_jumps(code)
    return any(
        len({to for at, to in jumps if to <= each.offset <= at}) == 1
        for each in instructions(code)
        if each.argval in searches and each.opname.startswith("LOAD_")
    )
