"""Recognizes which functions of a program are which phase, by their shape.

Pure rules from a class or a function to a list of `Recognized`. Each requires the whole shape: a
buffer has a method to add *and* a method to sample *and* storage; an agent acts *and* learns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from hotloop.hooks.program import bandits
from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.methods import Method, all_names, imagines, methods_of, words_of_class
from hotloop.hooks.program.self_play import searches_a_tree, simulates
from hotloop.hooks.program.stepping import resets, the_step
from hotloop.hooks.redirect import written

#: A transition has at least a state, an action, a reward and the next state.
TRANSITION_PARTS = 4
#: One update that no hook can split: a table's entry changed, arithmetic written out.
OPAQUE_LEARN = ("learn", "learn.step")


@dataclass(frozen=True)
class Recognized:
    """A function, and the phases that a call of it is, the outermost first."""

    owner: Any
    name: str
    phases: tuple[str, ...]
    #: "env.step" and the like need more than a region; `attaching` knows what.
    kind: str = ""
    #: A buffer that draws by priority.
    by_priority: bool = False


def in_class(cls: type, is_own: Callable[[type], bool]) -> list[Recognized]:
    """What a class of the program does, method by method."""
    methods = methods_of(cls, is_own)
    if not methods:
        return []
    module_like = _is_network(cls)
    found: dict[str, Recognized] = {}
    for rule in (
        _search,
        _games,
        _rules_of_game,
        _population,
        _imagination,
        _of_a_bandit,
        _environment,
        _buffer,
        _agent,
        _learner,
        _advantage,
        _rest,
        _environment_by_shape,
    ):
        if module_like and rule in (_environment, _environment_by_shape, _buffer):
            continue
        for each in rule(cls, methods):
            found.setdefault(each.name, each)
    if module_like:
        # `train` switches a network's mode; calls of it are hooked already.
        found = {n: f for n, f in found.items() if n not in ("train", "forward", "call")}
    return list(found.values())


def _is_network(cls: type) -> bool:
    return all(hasattr(cls, name) for name in ("__call__", "state_dict", "parameters")) or (
        hasattr(cls, "trainable_weights") and hasattr(cls, "call")
    )


# -- environments --


def _environment(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    step, reset = methods.get("step"), methods.get("reset")
    if step is None or reset is None or not 1 <= len(step.parameters) <= 4:
        return
    by_name = bool(v.ENV & words_of_class(cls))
    by_action = any(set(v.words_of(name)) & v.ACTION for name in step.parameters)
    if not by_name and not by_action:
        return
    yield Recognized(step.owner, "step", ("env.step",), "env.step")
    yield Recognized(reset.owner, "reset", ("env.reset",), "env.reset")
    for name in ("render", "draw"):
        if name in methods:
            yield Recognized(methods[name].owner, name, ("env.render",))


def _environment_by_shape(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """An environment in any language: what it is shows in the code of its one step."""
    if any(_environment(cls, methods)):
        return
    if any(len(method.parameters) >= TRANSITION_PARTS for method in methods.values()):
        return  # it stores transitions
    name = the_step({name: method.function for name, method in methods.items()}, cls)
    if name is None:
        return
    step = methods[name]
    called = v.used_names(step.function.__code__)
    if any("".join(m.words) in v.PLAYS_A_GAME and m.name in called for m in methods.values()):
        return  # an arena: it plays whole games and returns who won how many
    yield Recognized(step.owner, step.name, ("env.step",), "env.step by shape")
    begins = [m for m in methods.values() if resets(m.function, step.function, cls)]
    if len(begins) == 1:
        yield Recognized(begins[0].owner, begins[0].name, ("env.reset",), "env.reset")


def _of_a_bandit(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """A bandit, or an agent that plays one."""
    parts = {name: (method.words, method.parameters) for name, method in methods.items()}
    for name, phases, kind in bandits.parts_of(words_of_class(cls), parts):
        yield Recognized(methods[name].owner, name, phases, kind)


# -- tree search, populations, imagined rollouts --


def _search(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """The methods of a tree search that choose a move, and those that simulate."""
    by_name = bool(v.TREE_SEARCH & words_of_class(cls))
    for method in methods.values():
        # By its name first: one that expands nodes has all that makes a search, but for its root.
        if simulates(method.words):
            yield Recognized(method.owner, method.name, (), "simulation")
        elif (by_name and "".join(method.words) in v.SEARCHES) or searches_a_tree(method.function):
            yield Recognized(method.owner, method.name, ("search",), "search")


def _games(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """Methods that play one game, of whatever class."""
    for method in methods.values():
        if "".join(method.words) in v.PLAYS_A_GAME:
            yield Recognized(method.owner, method.name, (), "game")


def _rules_of_game(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """The methods of a game: it lists its legal moves *and* plays one."""
    written = {"".join(method.words): method for method in methods.values()}
    if not (v.LEGAL_MOVES & set(written) and v.PLAYS_A_MOVE & set(written)):
        return
    # A class that is the tree as well has more than rules.
    searches = v.TREE_SEARCH & words_of_class(cls) or v.SEARCHES & set(written)
    rules = v.LEGAL_MOVES | v.PLAYS_A_MOVE | v.GAME_ENDS if searches else set(written)
    for name in sorted(rules & set(written)):
        yield Recognized(written[name].owner, written[name].name, ("search.rules",), "rules")


def _population(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """An evolution strategy: it provides candidates *and* receives their fitness."""
    ask, tell = methods.get("ask"), methods.get("tell")
    if ask is None or tell is None or not tell.takes_something:
        return
    yield Recognized(ask.owner, "ask", ("candidates",))
    yield Recognized(tell.owner, "tell", OPAQUE_LEARN, "generation")


def _imagination(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    """Rollouts in a model of the world, by their name."""
    for method in methods.values():
        if imagines(method.words):
            yield Recognized(method.owner, method.name, ("imagine",))


# -- storage --


def _buffer(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    ways_in = [m for m in methods.values() if _is_way_in(m)]
    ways_out = [m for m in methods.values() if _is_way_out(m)]
    returns = [m for m in methods.values() if _computes_returns(m.function, m.words)]
    if "get" in methods and returns:
        ways_out.append(methods["get"])
    # Offline, a buffer may be filled once, by the code that loads the dataset.
    from_data = bool({"buffer", "replay"} & words_of_class(cls)) and bool(ways_out)
    if not (ways_in or from_data) or not (ways_out or returns):
        return
    if any(_acts(m) for m in methods.values()):
        return  # an agent that keeps its own memory: see there
    says_so = bool(v.BUFFER & words_of_class(cls))
    takes_transitions = any(len(m.parameters) >= TRANSITION_PARTS for m in ways_in)
    if not says_so and not takes_transitions and all(m.words == ["draw"] for m in ways_out):
        return  # a deck of cards, a scene
    keeps = hasattr(cls, "__len__") or bool(v.CAPACITY & all_names(methods, cls))
    # Nothing else takes one transition per call (state, action, reward, …).
    keeps = keeps or takes_transitions
    if not keeps and not (says_so and ways_in):
        return
    names = all_names(methods, cls) | {cls.__name__}
    by_priority = any(v.PRIORITY & set(v.words_of(name)) for name in names)
    for method in ways_in:
        yield Recognized(method.owner, method.name, ("buffer.add",), "buffer.add", by_priority)
    for method in ways_out:
        yield Recognized(
            method.owner, method.name, ("buffer.sample",), "buffer.sample", by_priority
        )
    for method in methods.values():
        if "update" in method.words and {"priority", "priorities"} & set(method.words):
            yield Recognized(method.owner, method.name, ("buffer.add",))


def _is_way_in(method: Method) -> bool:
    first, *rest = method.words
    return first in v.STORE and set(rest) <= v.STORED and method.takes_something


def _is_way_out(method: Method) -> bool:
    first, *rest = method.words
    if method.words in (["sample"], ["draw"]):
        return True
    if method.words[-1] == "generator" or method.words in (["batches"], ["minibatches"]):
        return True
    return first in v.DRAW and bool(rest) and set(rest) <= v.DRAWN


# -- agents --


def _acts(method: Method) -> bool:
    words = method.words
    if not method.takes_something:
        return False
    if words == ["act"] or words[:2] in (["epsilon", "greedy"], ["eps", "greedy"]):
        return True
    names_action = bool({"action", "actions", "move", "act"} & set(words))
    return words[0] in v.ACT and names_action and set(words[1:]) <= v.ACT_MORE


def _is_learning(words: list[str]) -> bool:
    return words[0] in v.LEARN and set(words[1:]) <= v.LEARN_MORE


def _agent(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    acts = [m for m in methods.values() if _acts(m) and not _plays(m, cls)]
    if _is_network(cls):
        # Calls of networks are seen; a direct call of `forward` is not.
        acts = [m for m in acts if "forward" in v.used_names(m.function.__code__)]
        for method in acts:
            yield Recognized(method.owner, method.name, ("policy.act",), "policy.act")
    stores = [m for m in methods.values() if _is_way_in(m)]
    learns = [m for m in methods.values() if _is_learning(m.words) and not _plays(m, cls)]
    if not learns and not stores:
        # A policy separate from the learner; environments and others list actions as well.
        apart = not _is_network(cls) and "step" not in methods
        apart = apart and not any(_is_learning(m.words) for m in methods.values())
        acts = [m for m in acts if apart and m.words[0] in v.DECIDE]
    if not acts:
        return
    for method in acts:
        yield Recognized(method.owner, method.name, ("policy.act",), "policy.act")
    for method in stores:
        if method.words[0] not in ("save", "record", "observe") or len(method.words) > 1:
            yield Recognized(method.owner, method.name, ("buffer.add",), "buffer.add")
    for method in learns:
        yield from _learning(method.owner, method.name, method.function, cls)


def _plays(method: Method, cls: type) -> bool:
    return v.steps_an_environment(v.reached(method.function, cls))


def _learner(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    for method in methods.values():
        if not _is_learning(method.words):
            continue
        functions = v.reached(method.function, cls)
        if v.steps_an_environment(functions):
            continue
        if v.gradient_names(functions):
            yield from _learning(method.owner, method.name, method.function, cls)
        elif _updates_values(method):
            yield Recognized(method.owner, method.name, OPAQUE_LEARN, "learn")


def _updates_values(method: Method) -> bool:
    """Whether a function learns from one transition, as a table of values does."""
    given = {word for name in method.parameters for word in v.words_of(name)}
    return (
        len(method.parameters) >= TRANSITION_PARTS
        and bool(given & v.ACTION)
        and bool(given & (v.REWARD | {"r"}))
        and bool(v.words_in(method.function.__code__) & v.DISCOUNT)
    )


def _learning(
    owner: object, name: str, function: FunctionType, cls: type | None
) -> Iterator[Recognized]:
    gradients = v.gradient_names(v.reached(function, cls))
    if gradients & v.TORCH_NAMES:
        # The calls of torch inside it are known: one region around them would hide them.
        return
    yield Recognized(owner, name, ("learn",) if gradients else OPAQUE_LEARN, "learn")


# -- returns and advantages --


def _advantage(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    for method in methods.values():
        if _computes_returns(method.function, method.words):
            yield Recognized(method.owner, method.name, ("advantage",))


def _computes_returns(function: FunctionType, words: list[str]) -> bool:
    """Whether a function computes returns or advantages from rewards."""
    said = set(words)
    if not words or words[0] in v.NOT_COMPUTING:
        return False
    named = (
        bool(said & {"advantage", "advantages", "gae", "vtrace"})
        or ("adv" in said and len(words) > 1)
        or (bool(said & {"return", "returns"}) and len(words) > 1)
        or (
            bool(said & {"discount", "discounted"}) and bool(said & {"reward", "rewards", "cumsum"})
        )
        or words[:2] == ["finish", "path"]
        or words[-2:] == ["to", "go"]
        or words == ["returns"]
    )
    if not named:
        return False
    used = v.words_in(function.__code__) | said
    return bool(used & v.REWARD) and bool(used & v.RETURN_PARTS)


# -- code around training --


def _rest(cls: type, methods: dict[str, Method]) -> Iterator[Recognized]:
    kind = v.words_of(cls.__name__)
    is_logger = bool(kind) and kind[-1] in v.LOGGER
    loads = bool({"data", "loader", "fetcher", "dataset", "downloader"} & set(kind))
    for method in methods.values():
        words = method.words
        if _evaluates(words) and _only_plays(v.reached(method.function, cls)):
            yield Recognized(method.owner, method.name, ("evaluate",))
        elif is_logger and words[0] in v.LOG and _records(method):
            yield Recognized(method.owner, method.name, ("log",))
        elif _moves_a_target(words, method.function, cls):
            yield Recognized(method.owner, method.name, ("learn.target",))
        elif _is_data(words, method.parameters) or (
            loads and words[0] in ("load", "fetch", "download", "read") and len(words) == 1
        ):
            yield Recognized(method.owner, method.name, ("data",))


def _records(method: Method) -> bool:
    """Whether a method is given something and returns nothing: a model may be a writer as well."""
    return method.takes_something and not v.returns_something(method.function.__code__)


def _moves_a_target(words: list[str], function: FunctionType, cls: type | None) -> bool:
    """Whether a function moves a target network after the one that learns."""
    named = "target" in words or words[:2] in (["soft", "update"], ["polyak", "update"])
    if not named or words[0] not in v.MOVE or not set(words[1:]) <= v.MOVED:
        return False
    functions = v.reached(function, cls)
    return not v.gradient_names(functions) and not v.steps_an_environment(functions)


def _evaluates(words: list[str]) -> bool:
    """Whether a function that plays does so to evaluate, not to learn, by its names."""
    said = set(words)
    return bool(v.JUDGE & said) and not (v.LEARN | v.COLLECT) & said


def _only_plays(functions: list[FunctionType]) -> bool:
    """Whether these step an environment and change no weights: many a `test_…` trains."""
    if not v.steps_an_environment(functions) or v.gradient_names(functions):
        return False
    return not any(v.CHANGES & v.used_names(function.__code__) for function in functions)


def _is_data(words: list[str], parameters: list[str]) -> bool:
    if len(words) > 1:
        named = words[0] in v.DATA_VERBS and bool(v.DATA & set(words[1:]))
    else:
        named = words[0] in ("preprocess", "indicators", "features")
    given = any(set(v.words_of(name)) & v.DATA_PARAMETERS for name in parameters)
    loading = words[0] in ("load", "fetch", "download", "read")
    return named and (given or (loading and not parameters))


# -- functions of a module --


def in_function(owner: Any, name: str, function: FunctionType) -> list[Recognized]:
    """What a module's own function does."""
    words = v.words_of(name)
    if not words or name.startswith("_"):
        return []
    function = written(function)
    parameters = v.parameters_of(function, bound=False)
    if "".join(words) in v.PLAYS_A_GAME:
        return [Recognized(owner, name, (), "game")]
    if imagines(words):
        return [Recognized(owner, name, ("imagine",))]
    if _computes_returns(function, words):
        return [Recognized(owner, name, ("advantage",))]
    is_named = {"mcts", "uct"} & set(words) and set(words) <= {"mcts", "uct", "run", "search", "do"}
    if simulates(words):
        return [Recognized(owner, name, (), "simulation")]
    if is_named or searches_a_tree(function):
        return [Recognized(owner, name, ("search",), "search")]
    if name in ("step", "env_step") and {"state", "action"} <= set(parameters):
        return [Recognized(owner, name, ("env.step",), "env.step")]
    method = Method(type(None), name, function, words, parameters)
    draws = words[0] in ("sample", "draw") or (v.ROWS & set(words) and method.takes_something)
    if draws and _is_way_out(method) and v.DRAWN_ROWS & set(words):
        return [Recognized(owner, name, ("buffer.sample",), "buffer.sample")]
    if words[:2] == ["policy", "forward"] and parameters:
        return [Recognized(owner, name, ("policy.act",), "policy.act")]
    if words[:2] == ["policy", "backward"] and parameters:
        return [Recognized(owner, name, ("learn.backward",))]
    if _evaluates(words) or _acts(method) or _is_learning(words):
        functions = v.reached(function, None)
        plays = v.steps_an_environment(functions)
        if _evaluates(words):
            return [Recognized(owner, name, ("evaluate",))] if _only_plays(functions) else []
        if plays:
            return []
        if _acts(method):
            return [Recognized(owner, name, ("policy.act",), "policy.act")]
        if v.gradient_names(functions):
            return list(_learning(owner, name, function, None))
        if _updates_values(method):
            return [Recognized(owner, name, OPAQUE_LEARN, "learn")]
    if _is_data(words, parameters):
        return [Recognized(owner, name, ("data",))]
    if _moves_a_target(words, function, None):
        return [Recognized(owner, name, ("learn.target",))]
    if _is_network_function(words, parameters):
        return [Recognized(owner, name, ("policy.act",), "network")]
    return []


def _is_network_function(words: list[str], parameters: list[str]) -> bool:
    """Whether a function is a network that is given its weights, as programs for JAX write them."""
    said = set(words)
    return (
        len(parameters) == 2
        and set(v.words_of(parameters[0])) <= v.WEIGHTS
        and bool(said & (v.NETWORK | {"mlp"}))
        and said <= v.NETWORK | v.NETWORK_MORE
    )
