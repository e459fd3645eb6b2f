"""Infers the phase of the code between two events from the names in it.

The order of events alone does not identify code: between an environment step and the next network
call, a program may store the transition, render, or parse a file. So the instructions between the
two events are read, once for each pair of events, and a phase is inferred only if their names show
it: `advantages` are computed, an `action` is chosen, a minibatch is indexed. Any other code is
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
from hotloop.hooks.program.instructions import instructions, line_at

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
#: Methods that set the weights of a target network, as whole names: `add_scalar` moves nothing.
#: And words of the step by which it follows.
_TARGET_MOVES = v.words_set("copy_ lerp_ mul_ add_ load_state_dict set_weights assign")
_TARGET_STEP = v.words_set("tau polyak soft ema")
#: Both words of `exponential_moving_average`: a target that moves may be one of a game.
_TARGET_AVERAGE = (v.words_set("moving"), v.words_set("average averaged averaging avg"))
_LOGPROB = v.words_set("logprob logprobs logp logps logprobability")
_LOGPROB_NAMES = v.words_set("log_softmax logsumexp cross_entropy gather log_prob log_probs")
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
class CodeRange:
    """Instructions of one code object, by their offsets."""

    code: CodeType
    begin: int
    end: int


def ranges_between(begin: Position, end: Position) -> list[CodeRange]:
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
        CodeRange(code, offset, len(code.co_code))
        for code, offset in reversed(begin.frames[shared:])
    ]
    code = begin.frames[shared - 1][0]
    found += _around(code, begin.frames[shared - 1][1], end.frames[shared - 1][1])
    return found + [CodeRange(code, 0, offset) for code, offset in end.frames[shared:]]


def _around(code: CodeType, begin: int, end: int) -> list[CodeRange]:
    """From one offset to another, through the innermost loop if the second comes first."""
    if end > begin:
        return [CodeRange(code, begin, end)]
    jumps = [(at, to) for at, to in backward_jumps(code) if at >= begin and to <= end]
    if not jumps:  # the function returned and was called again
        return [CodeRange(code, begin, len(code.co_code)), CodeRange(code, 0, end)]
    at, to = min(jumps, key=lambda jump: jump[0] - jump[1])
    return [CodeRange(code, begin, at), CodeRange(code, to, end)]


@functools.lru_cache(maxsize=256)
def backward_jumps(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The end of each loop of this code, and the start to which it jumps back."""
    jumps = [
        (each.offset, each.argval)
        for each in instructions(code)
        if "JUMP" in each.opname and isinstance(each.argval, int) and each.argval < each.offset
    ]
    return tuple((_end_of(at, to, jumps), to) for at, to in jumps)


def _end_of(at: int, to: int, jumps: list[tuple[int, int]]) -> int:
    """The last jump of a loop and the loops in it.

    From Python 3.14 on, the test of an inner `while` may jump back to the outer loop, from before
    the inner loop's body.
    """
    for later, head in sorted(jumps):
        if to < head <= at < later:
            at = later
    return at


@dataclass(frozen=True)
class Names:
    """The names in a piece of code, and the words that they are made of."""

    names: frozenset[str]
    words: frozenset[str]
    #: Words of the lines that store something under an index: `rewards[step] = reward`.
    stored: frozenset[str] = frozenset()


def names_between(code: list[CodeRange]) -> Names:
    """The names that appear in these instructions."""
    names: set[str] = set()
    stored: set[str] = set()
    for part in code:
        lines: dict[int, set[str]] = {}
        storing: set[int] = set()
        lines_by_offset = line_at(part.code)
        for each in instructions(part.code):
            if part.begin < each.offset <= part.end:
                line = lines_by_offset.get(each.offset, 0)
                lines.setdefault(line, set()).update(_names_of(each))
                if each.opname == "STORE_SUBSCR":
                    storing.add(line)
        names.update(*lines.values())
        stored.update(*(lines[line] for line in storing))
    return Names(frozenset(names), _words(names), _words(stored))


def _words(names: set[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in v.words_of(name))


def _names_of(instruction: dis.Instruction) -> Iterator[str]:
    value = instruction.argval
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, str) and each.isidentifier():
            yield each


def lines_of(code: list[CodeRange]) -> list[str]:
    """File, lines and function of each piece of code: `train.py:80-96 main`."""
    found = []
    for part in code:
        lines = [
            line
            for first, last, line in part.code.co_lines()
            if line and first <= part.end and last > part.begin
        ]
        if lines:
            name = getattr(part.code, "co_qualname", part.code.co_name)
            span = f"{min(lines)}-{max(lines)}" if len(set(lines)) > 1 else f"{lines[0]}"
            found.append(f"{part.code.co_filename}:{span} {name}")
    return found


# -- evidence in names --


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
    moves = code.names & _TARGET_MOVES or code.words & _TARGET_STEP
    averages = all(code.words & words for words in _TARGET_AVERAGE)
    return "target" in code.words and (bool(moves) or averages)


def _shows_logprobs(code: Names) -> bool:
    return bool(code.names & _LOGPROB_NAMES) or bool(code.words & _LOGPROB)


#: Phase -> whether the names in a piece of code show that it is that.
EVIDENCE = {
    "advantage": _shows_advantage,
    "buffer.add": _shows_storing,
    "buffer.sample": _shows_batch,
    "learn.target": _shows_target,
    "logprob.policy": _shows_logprobs,
    "logprob.reference": _shows_logprobs,
    "policy.act": _shows_action,
}

#: Phase -> the words of which its evidence consists.
_SHOWN_BY = {
    "advantage": _ADVANTAGE | v.DISCOUNT | v.REWARD,
    "buffer.add": frozenset().union(*_TRANSITION, v.STORE),
    "buffer.sample": _PICK | _BATCH,
}


def silent_loops(code: list[CodeRange], phase: str) -> list[str]:
    """Lines of loops in this code in which nothing shows that phase: `train.py:80`."""
    shown_by = _SHOWN_BY.get(phase, frozenset())
    found: set[tuple[str, int]] = set()
    for part in code if shown_by else ():
        lines_by_offset = line_at(part.code)
        for end, begin in backward_jumps(part.code):
            inside = names_between([CodeRange(part.code, begin - 1, end)])
            if part.begin <= begin and end <= part.end and not inside.words & shown_by:
                lines = {lines_by_offset.get(offset, 0) for offset in range(begin, end + 1, 2)}
                found |= {(part.code.co_filename, line) for line in lines if line}
    return [f"{file}:{line}" for file, line in sorted(found)]
