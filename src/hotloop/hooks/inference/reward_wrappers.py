"""Finds the environments below wrappers that change rewards.

`NormalizeReward`, `ClipReward`, `VecNormalize` and the program's own wrappers give an agent
different rewards than the environment. The native module adds up both: those returned by the
outermost `step`, and those of the environments found here. If a program records returns itself, its
figures are used instead.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from hotloop.hooks.protocols import Foreign
from hotloop.hooks.redirect import is_really
from hotloop.hooks.telemetry.attributes import read

#: Wrappers on top of each other that are looked through.
_MOST_WRAPPERS = 32
#: Attributes in which wrappers of Gymnasium and Stable-Baselines3 keep the wrapped environment.
_WRAPPED = ("env", "venv")
#: Classes that note the return of an ended episode in `info`.
_RECORDERS = ("Monitor", "VecMonitor", "RecordEpisodeStatistics")
#: Methods that return rewards, and the position in their result.
_STEPS, _REWARD = ("step", "step_wait"), 1


class Below(NamedTuple):
    """What lies below the innermost wrapper that changes rewards."""

    #: One for each environment of a vector; none if other processes have them.
    envs: list[Foreign]
    #: Whether a recorder, anywhere in the chain, notes returns.
    recorded: bool


def below_changes(env: Foreign) -> Below | None:
    """The environment below the wrappers of `env` that change rewards; None if none does."""
    chain = list(_chain(env))
    last = _last_changing(chain)
    many = read(chain[-1], "envs")
    chains = [list(_chain(each)) for each in many] if type(many) in (list, tuple) else []
    inside = [_last_changing(each) for each in chains]
    if last is None and all(number is None for number in inside):
        return None
    if chains:
        envs = [each[0 if n is None else n + 1] for each, n in zip(chains, inside, strict=True)]
    else:
        envs = [chain[0 if last is None else last + 1]]
    if read(envs[0], "num_envs") is not None:
        return Below([], False)  # a vector whose environments are in other processes
    all_of_them = [*chain, *(chains[0] if chains else ())]
    return Below(envs, any(type(each).__name__ in _RECORDERS for each in all_of_them))


def _chain(env: Foreign) -> Iterator[Foreign]:
    """A wrapper and everything that it wraps, down to the environment."""
    for _ in range(_MOST_WRAPPERS):
        yield env
        wrapped = [each for name in _WRAPPED if (each := read(env, name)) is not None]
        if not wrapped:
            return
        env = wrapped[0]


def _last_changing(chain: list[Foreign]) -> int | None:
    wrappers = [type(each) for each in chain[:-1]]
    found = [number for number, each in enumerate(wrappers) if changes_rewards(each)]
    return found[-1] if found else None


def changes_rewards(cls: type) -> bool:
    """Whether a wrapper's `step` may return a different reward than the wrapped environment.

    It does not if its code returns the reward under the name that it had when it was unpacked, or
    the whole result of another `step`.
    """
    # Not by `getattr`: a metaclass of the program may return anything.
    bases = reversed(type.__dict__["__mro__"].__get__(cls))
    methods = {name: value for base in bases for name, value in vars(base).items()}
    steps = [methods.get(name) for name in _STEPS]
    return any(_changes(step.__code__) for step in steps if is_really(step, FunctionType))


@functools.lru_cache(maxsize=256)
def _changes(code: CodeType) -> bool:
    function = _function_of(code)
    if function is None:
        return False
    own = list(_own_nodes(function))
    unpacked: set[str] = set()
    assigned: set[str] = set()
    for node in own:
        for target in _targets(node):
            together = isinstance(target, (ast.Tuple, ast.List))
            names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            (unpacked if together else assigned).update(names)
    for node in own:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            parts = node.value.elts
            reward = parts[_REWARD] if len(parts) > _REWARD + 1 else None
            if reward is not None and not (
                isinstance(reward, ast.Name) and reward.id in unpacked - assigned
            ):
                return True
    return False


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _function_of(code: CodeType) -> ast.FunctionDef | None:
    """A function's syntax tree; None if its source cannot be read."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    # Only this function is parsed: a file may be long, and may have changed since.
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    own = [
        number
        for number, line in enumerate(lines[1:], 1)
        if line.strip() and len(line) - len(line.lstrip()) <= indent
    ]
    for end in [*own, len(lines)][:8]:  # decorators, and signatures of several lines
        text = "".join(lines[:end])
        try:
            tree = ast.parse(f"if True:\n{text}" if indent else text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                return node
    return None


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What is in a function, but not in functions and classes that it defines."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            waiting.extend(ast.iter_child_nodes(node))
