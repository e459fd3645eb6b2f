"""Bandits: an environment of one step, and agents that choose an arm and learn its reward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hotloop.hooks.program import vocabulary as v

_BANDIT = v.words_set("bandit bandits")
#: A class with one of these words, or one that learns, plays the bandit.
_PLAYER = v.words_set("agent agents policy player algorithm solver learner strategy")
_PULLS = v.words_set("pull pullarm play playarm draw drawreward getreward reward sample step")
_ARM = v.words_set("arm arms lever levers") | v.ACTION - {"a", "u"}
_CHOOSES = v.DECIDE | v.words_set("get sample draw")


#: A method's words and its parameters.
Signature = tuple[list[str], list[str]]


def parts_of(
    class_words: set[str], methods: dict[str, Signature]
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Methods of a class with their phases and kinds.

    An agent chooses an arm *and* learns its reward; a bandit is called one and gives the reward.
    """
    learns = [name for name, each in methods.items() if learns_a_reward(*each)]
    chooses = [name for name, each in methods.items() if chooses_an_arm(*each)]
    if learns and chooses:
        yield from ((name, ("policy.act",), "policy.act") for name in chooses)
        yield from ((name, ("learn", "learn.step"), "learn") for name in learns)
    elif not learns and is_bandit(class_words):
        for name, each in methods.items():
            if pulls(*each):
                yield name, ("env.step",), "pull"


def is_bandit(class_words: set[str]) -> bool:
    """Whether a class is a bandit, by its name."""
    return bool(class_words & _BANDIT) and not class_words & _PLAYER


def pulls(words: list[str], parameters: list[str]) -> bool:
    """Whether a method of a bandit gives the reward of one arm."""
    return "".join(words) in _PULLS and len(parameters) == 1


def chooses_an_arm(words: list[str], parameters: list[str]) -> bool:
    """Whether a method chooses an arm: it needs nothing to know, or the round's number."""
    if len(parameters) > 1 or words[0] not in _CHOOSES:
        return False
    return words == ["act"] or words == ["choose"] or words[-1] in _ARM


def learns_a_reward(words: list[str], parameters: Iterable[str]) -> bool:
    """Whether a method learns from the reward of one arm."""
    if words[0] not in v.LEARN:
        return False
    given = [set(v.words_of(name)) for name in parameters]
    arm = any(each & _ARM for each in given)
    reward = any(each & (v.REWARD | {"r"}) for each in given)
    return arm and reward and len(given) == 2
