"""The code that runs between two events, and what its names show.

The order of events alone does not identify code: between an environment step and the next network
call a program may store the transition, render, or parse a file. So the instructions between the
two events are read, once for each pair of events, and a phase is inferred only where their names
show it: `advantages` are computed, an `action` is chosen, a minibatch is indexed. Any other code is
reported as the gap between two events, with its lines.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType

from hotloop.hooks.program import vocabulary as v

#: Positions are compared from the outermost frame; deeper recursion than this is not followed.
MOST_FRAMES = 500
#: Packages whose frames lie between an event and the code that caused it.
_BELOW = ("hotloop", "torch", "gymnasium", "gym", "numpy", "keras", "tensorflow", "jax")

_OBSERVATION = v.words_set("obs observation observations state states")
_ENDED = v.words_set("done dones terminated truncated terminal terminals terminations")
_ADVANTAGE = v.words_set("advantage advantages adv advs gae returns lastgaelam")
_BATCH = v.words_set("batch minibatch mb memory replay buffer samples transitions dataset loader")
_PICK = v.words_set(
    "sample randint randperm perm permutation shuffle choice choices idx inds ind indices index "
    "idxs next iter batch minibatch mb"
)
_TARGET_MOVES = v.words_set("copy lerp mul add load_state_dict set_weights tau polyak data")
#: The parts of a transition, as words.
_TRANSITION = (v.REWARD, v.ACTION - {"a", "u"}, _OBSERVATION, _ENDED)
#: A transition that is stored has at least this many of its parts in the code that stores it.
_PARTS_STORED = 2


@dataclass(frozen=True)
class Position:
    """Where a thread was: code objects from the outside in, each with its instruction offset."""

    frames: tuple[tuple[CodeType, int], ...] = ()


def position() -> Position:
    """The position of the code that caused the current event."""
    frames: list[tuple[CodeType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(frames) < MOST_FRAMES:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frames or package not in _BELOW:
            frames.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return Position(tuple(reversed(frames)))


@dataclass(frozen=True)
class Stretch:
    """Instructions of one code object, by their offsets."""

    code: CodeType
    begin: int
    end: int


def stretches(begin: Position, end: Position) -> list[Stretch]:
    """The code between two positions of a thread."""
    shared = 0
    for (one, at), (other, then) in zip(begin.frames, end.frames, strict=False):
        if one is not other:
            break
        shared += 1
        if at != then:
            break
    if not shared:
        return []
    found = [
        Stretch(code, offset, len(code.co_code)) for code, offset in reversed(begin.frames[shared:])
    ]
    code = begin.frames[shared - 1][0]
    found += _around(code, begin.frames[shared - 1][1], end.frames[shared - 1][1])
    return found + [Stretch(code, 0, offset) for code, offset in end.frames[shared:]]


def _around(code: CodeType, begin: int, end: int) -> list[Stretch]:
    """From one offset to another, through the innermost loop if the second comes first."""
    if end > begin:
        return [Stretch(code, begin, end)]
    jumps = [(at, to) for at, to in _backward_jumps(code) if at >= begin and to <= end]
    if not jumps:  # the function returned and was called again
        return [Stretch(code, begin, len(code.co_code)), Stretch(code, 0, end)]
    at, to = min(jumps, key=lambda jump: jump[0] - jump[1])
    return [Stretch(code, begin, at), Stretch(code, to, end)]


@functools.lru_cache(maxsize=256)
def _backward_jumps(code: CodeType) -> tuple[tuple[int, int], ...]:
    return tuple(
        (each.offset, each.argval)
        for each in dis.get_instructions(code)
        if "JUMP" in each.opname and isinstance(each.argval, int) and each.argval < each.offset
    )


@dataclass(frozen=True)
class Names:
    """The names in a piece of code, and the words that they are made of."""

    names: frozenset[str]
    words: frozenset[str]
    #: Words of the lines that store something under an index: `rewards[step] = reward`.
    stored: frozenset[str] = frozenset()


def names_between(code: list[Stretch]) -> Names:
    """The names that appear in these instructions."""
    names: set[str] = set()
    stored: set[str] = set()
    for stretch in code:
        lines: dict[int, set[str]] = {}
        storing: set[int] = set()
        line_at = _line_at(stretch.code)
        for each in dis.get_instructions(stretch.code):
            if stretch.begin < each.offset <= stretch.end:
                line = line_at.get(each.offset, 0)
                lines.setdefault(line, set()).update(_names_of(each))
                if each.opname == "STORE_SUBSCR":
                    storing.add(line)
        names.update(*lines.values())
        stored.update(*(lines[line] for line in storing))
    return Names(frozenset(names), _words(names), _words(stored))


def _words(names: set[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in v.words_of(name))


def _line_at(code: CodeType) -> dict[int, int]:
    """Offset -> line of each instruction that has one."""
    return {
        offset: line
        for first, last, line in code.co_lines()
        if line
        for offset in range(first, last, 2)
    }


def _names_of(instruction: dis.Instruction) -> Iterator[str]:
    value = instruction.argval
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, str) and each.isidentifier():
            yield each


def lines_of(code: list[Stretch]) -> list[str]:
    """File, lines and function of each piece of code: `train.py:80-96 main`."""
    found = []
    for stretch in code:
        lines = [
            line
            for first, last, line in stretch.code.co_lines()
            if line and first <= stretch.end and last > stretch.begin
        ]
        if lines:
            name = getattr(stretch.code, "co_qualname", stretch.code.co_name)
            span = f"{min(lines)}-{max(lines)}" if len(set(lines)) > 1 else f"{lines[0]}"
            found.append(f"{stretch.code.co_filename}:{span} {name}")
    return found


# -- what names show --


def _shows_storing(code: Names) -> bool:
    parts = [part for part in _TRANSITION if code.words & part]
    stores = any(code.stored & part for part in parts) or bool(code.words & v.STORE)
    return len(parts) >= _PARTS_STORED and stores


def _shows_advantage(code: Names) -> bool:
    return bool(code.words & _ADVANTAGE) or bool(code.words & v.DISCOUNT and code.words & v.REWARD)


def _shows_batch(code: Names) -> bool:
    picked = code.words & _PICK
    return len(picked) > 1 or bool(picked and code.words & _BATCH)


def _shows_action(code: Names) -> bool:
    return bool(code.words & v.words_set("action actions"))


def _shows_target(code: Names) -> bool:
    return "target" in code.words and bool((code.words | code.names) & _TARGET_MOVES)


#: Phase -> whether the names in a piece of code show that it is that.
EVIDENCE = {
    "advantage": _shows_advantage,
    "buffer.add": _shows_storing,
    "buffer.sample": _shows_batch,
    "learn.target": _shows_target,
    "policy.act": _shows_action,
}
