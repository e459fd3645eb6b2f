"""Reads the result of an environment's `step`: number of environments, rewards, ended episodes.

Hand-written environments return many forms: three, four or five values, with names or without, for
one environment or many, as plain numbers, NumPy, torch or JAX. Values on a device are not read or
counted, because reading them would wait for the device. Types are compared: `isinstance` may
run the program's code (`__class__` as a property).
"""

from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

from hotloop.hooks.redirect import is_really
from hotloop.hooks.telemetry.attributes import read, reads_plainly
from hotloop.measure.core import Core

REWARD_NAMES = ("rewards", "reward")
DONE_NAMES = ("dones", "done", "terminated", "terminateds", "terminations", "terminals", "terminal",
              "ended", "is_done", "game_over", "over")  # fmt: skip
TRUNCATED_NAMES = ("truncated", "truncateds", "truncations", "timeout", "timeouts")


class StepResult(NamedTuple):
    """The decoded result of one call of `step`."""

    envs: int
    #: None if that could not be read without waiting.
    ended: int | None
    #: Rewards and ends of each environment, if they can be read without waiting.
    rewards: list[float] | None = None
    ends: list[bool] | None = None
    #: How many agents were stepped in them; 0 if an environment has one.
    agents: int = 0


def step_result_of(result: object) -> StepResult | None:
    """What `step` returned, or None if this does not look like an environment's result."""
    quick = _of_arrays(result)
    if quick is not None:
        return quick
    found = _named(result) or _positional(result)
    if found is None:
        return None
    reward, ends = found
    sizes = [_size(end) for end in ends] or [_size(reward)]
    if None in sizes:
        return None
    envs = max(size or 1 for size in sizes)
    flags = ends_of(ends, envs)
    ended = None if flags is None else sum(flags)
    return StepResult(envs, ended, rewards_of(reward), flags, agents_of(reward))


def has_flags(result: object) -> bool:
    """Whether a part of this says true or false, as the end of an episode does."""
    return is_really(result, tuple) and any(map(_is_flag, result[1:]))


def _of_arrays(result: object) -> StepResult | None:
    """The result of a vector of environments as NumPy arrays: the most frequent, so read first."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(result) is not tuple or not 4 <= len(result) <= 5:
        return None
    array = numpy.ndarray
    reward, ends, more = result[1], result[2], result[3]
    if type(reward) is not array or reward.dtype.kind == "b":
        return None
    if type(ends) is not array or ends.dtype.kind != "b" or ends.ndim != 1:
        return None
    if len(result) == 5:
        if type(more) is not array or more.dtype.kind != "b" or more.shape != ends.shape:
            return None
        ends = ends | more
    elif type(more) is array:
        return None
    rewards = rewards_of(reward) if reward.shape == ends.shape else None
    return StepResult(len(ends), int(numpy.count_nonzero(ends)), rewards, ends.tolist())


def _named(result: object) -> tuple[Any, list[Any]] | None:
    """(reward, ends) of a result that has names: a named tuple, a dict, an object."""
    if type(result) in (tuple, list) or result is None:
        return None
    reward = _first(result, REWARD_NAMES)
    done = _first(result, DONE_NAMES)
    if reward is None or done is None or callable(done):
        return None
    truncated = _first(result, TRUNCATED_NAMES)
    return reward, [done] if truncated is None else [done, truncated]


def _first(result: object, names: tuple[str, ...]) -> object:
    for name in names:
        value = result.get(name) if is_really(result, dict) else _kept(result, name)
        if value is not None:
            return value
    return None


def _kept(result: object, name: str) -> object:
    """An attribute, without a class that computes attributes being asked."""
    try:
        plain = reads_plainly(type(result))
        return object.__getattribute__(result, name) if plain else None
    except Exception:
        return None


def _positional(result: object) -> tuple[Any, list[Any]] | None:
    """(reward, ends) of a tuple: values that are true or false end an episode."""
    if not is_really(result, tuple) or not 2 <= len(result) <= 6:
        return None
    flags: list[Any] = []
    rest: list[Any] = []
    for each in result[1:]:
        (flags if _is_flag(each) else rest).append(each)
    if flags:
        numbers = [each for each in [*rest, result[0]] if _is_number(each)]
        return (numbers[0], flags[:2]) if numbers else None
    if len(result) == 2 or _never_ends(result):
        return (result[1], []) if _is_number(result[1]) else None
    # Ends as 0 and 1, or as arrays of numbers: at the usual index.
    if _is_number(result[1]) and _is_number(result[2]):
        return result[1], [result[2]]
    return None


def _never_ends(result: tuple[Any, ...]) -> bool:
    """Whether this is Gym's tuple of an environment without episodes: no flags, and infos."""
    return len(result) in (4, 5) and result[2] is None and is_really(result[-1], dict)


@functools.lru_cache(maxsize=64)
def _name_of_type(dtype: object) -> str:
    """NumPy takes microseconds to format the name of a type, and there are few."""
    return str(dtype)


def _kind(value: object) -> str:
    dtype = read(value, "dtype")
    if dtype is None:
        return ""
    try:
        return _name_of_type(dtype)
    except TypeError:  # something of the program's own that cannot be a key
        return str(dtype)


def _is_flag(value: object) -> bool:
    if is_really(value, bool) or "bool" in _kind(value):
        return True
    if is_really(value, dict) and value:  # one entry per agent
        return all(_is_flag(each) for each in value.values())
    return is_really(value, (list, tuple)) and bool(value) and all(map(_is_flag, value))


def _is_number(value: object) -> bool:
    if is_really(value, (int, float)):
        return True
    if is_really(value, dict):
        return bool(value) and all(map(_is_number, value.values()))
    if is_really(value, (list, tuple)):
        return bool(value) and _is_number(value[0])
    kind = _kind(value)
    return kind != "" and any(word in kind for word in ("int", "float", "bool", "object"))


def _size(value: object) -> int | None:
    """The number of environments that a reward or a done flag is for."""
    if is_really(value, (int, float, dict)):
        return 1
    shape = read(value, "shape")
    if shape is not None:
        try:
            return int(shape[0]) if len(shape) else 1
        except (TypeError, IndexError):
            return None
    return len(value) if is_really(value, (list, tuple)) else None


def rewards_of(reward: Any) -> list[float] | None:
    """The rewards of each environment; None on a device, or if they are not numbers.

    The return of several agents in one environment is the sum of theirs.
    """
    try:
        if is_really(reward, dict):
            return [float(sum(_on_host(each)[0] for each in reward.values()))]
        values = _on_host(reward)
        return None if values is None else [float(value) for value in values]
    except Exception:
        return None


def agents_of(reward: Any) -> int:
    """How many agents these rewards are for: one entry per agent; 0 without such entries."""
    each = reward if is_really(reward, (list, tuple)) else [reward]
    return sum(len(one) for one in each if is_really(one, dict))


def ends_of(ends: list[Any], envs: int) -> list[bool] | None:
    """Whether each environment's episode has ended; None if that cannot be read at once."""
    try:
        values = [_on_host(end) for end in ends]
        if not values or any(value is None for value in values):
            return None
        if envs == 1:
            return [any(bool(value[0]) for value in values)]
        return [any(row) for row in zip(*values, strict=False)]
    except Exception:
        return None


def _on_host(value: Any) -> Any:
    """The value as a list, if it can be read without waiting for a device."""
    if is_really(value, (bool, int, float)):
        return [_exact(value)]
    if is_really(value, (list, tuple)):
        return [_one_on_host(each) for each in value]
    if is_really(value, dict):  # an episode of many agents ends with the last
        return [all(map(_one_on_host, list(value.values())))]
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        return value.reshape(-1).tolist() if value.ndim else [value.item()]
    if module == "torch" and value.is_cpu:
        # `tolist` is hooked, and this reading is not the program's.
        listed = Core.original(type(value).tolist)(value)
        return listed if is_really(listed, list) else [listed]
    return None


def _exact(value: float) -> float:
    """A number without the methods that a class of the program's may have for it."""
    if type(value) in (bool, int, float):
        return value
    return float.__float__(value) if is_really(value, float) else int.__int__(value)  # type: ignore[arg-type]


def _one_on_host(value: Any) -> Any:
    """One value of a list or a dict; raises if reading it would wait for a device."""
    if not is_on_host(value):
        raise ValueError("on a device")
    if is_really(value, (int, float)):
        return _exact(value)
    return _on_host(value)[0] if type(value).__module__ == "torch" else value


def is_on_host(value: Any) -> bool:
    """Whether a value can be read without waiting for a device: numbers, NumPy, torch on a CPU."""
    module = type(value).__module__.partition(".")[0]
    return module not in ("jax", "jaxlib") and (module != "torch" or bool(value.is_cpu))
