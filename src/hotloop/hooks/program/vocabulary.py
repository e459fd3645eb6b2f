"""The meaning of names in reinforcement-learning code, and what a function's code reveals.

A name alone proves little, so a rule requires more: parameters, the names that the code uses, the
calls that it makes. Names are split into words: `computeGAE_returns` is compute, gae, returns. A
missed phase costs a line in the report; a wrong one costs the reader's trust.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from hotloop.hooks.program.instructions import instructions
from hotloop.hooks.redirect import is_really, written

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def words_set(text: str) -> frozenset[str]:
    """Words that are written in one line, as a set."""
    return frozenset(text.split())


ENV = words_set(
    "env envs environment environments game games world simulator sim venv gym gridworld maze "
    "bandit"
)
ACTION = words_set("action actions act a u move moves control controls command choice")
REWARD = words_set("reward rewards rew rews")
#: The inputs of a return or an advantage besides rewards.
RETURN_PARTS = words_set(
    "value values val vals v done dones terminal terminals terminated mask masks gamma discount "
    "lam lambda gae bootstrap ended"
)
DISCOUNT = words_set("gamma discount discounted discounting")
#: Words of a program that learns values inline.
LEARNS_VALUES = DISCOUNT | words_set("q qs qtable qvalue qvalues alpha lr td sarsa")
BUFFER = words_set(
    "buffer memory replay storage store experience experiences rollout rollouts trajectory "
    "trajectories transition transitions"
)
#: Names in the code of a class that keeps many things.
CAPACITY = words_set(
    "capacity deque maxlen buffer memory max_size max_len buffer_size memory_size num_steps "
    "buffer_capacity storage cap"
)
#: Words that only code that draws by priority uses.
PRIORITY = words_set("priority priorities prioritized prioritised prio prios sumtree")
STORE = words_set(
    "add push store append remember extend insert put memorize memorise record save cache "
    "enqueue observe"
)
STORED = words_set(
    "experience experiences transition transitions batch sample samples step steps trajectory "
    "trajectories episode episodes data memory many all one to buffer replay reward rewards "
    "sarsa tuple"
)
DRAW = words_set("sample get draw fetch recall generate make retrieve iterate")
DRAWN = words_set(
    "batch batches minibatch minibatches mini sample samples transition transitions experience "
    "experiences generator buffer memory feed forward recurrent random from replay sequence "
    "sequences"
)
#: Of these, words that a function outside a class needs to count as a buffer's.
DRAWN_ROWS = words_set("batch minibatch transitions experiences memory replay buffer")
#: Of these, words that cannot be the buffer itself, or the memory of the machine.
ROWS = words_set("batch minibatch transitions experiences")
ACT = words_set(
    "select choose get pick sample predict best greedy compute generate decide draw take"
)
#: Of these, those that only a policy does.
DECIDE = words_set("act choose select pick decide epsilon eps greedy")
ACT_MORE = words_set(
    "action actions act move moves best greedy epsilon eps explore exploration noisy "
    "deterministic stochastic and value values log prob logprob with noise batch next policy "
    "from for train eval training"
)
LEARN = words_set("learn train training optimize optimise update replay improve backprop")
LEARN_MORE = words_set(
    "step steps batch minibatch on model net network networks policy agent critic critics actor "
    "actors q table qtable values value function parameters params weights from memory "
    "experience experiences short long gradient gradients and once iteration loss do ppo dqn "
    "sac td3 ddpg a2c the rollout rollouts buffer mini epoch online double dueling"
)
#: Words of a function that is a network, for any purpose.
NETWORK = words_set(
    "policy actor critic net network q qnet forward apply predict agent inference model"
)
#: Other words of such a name, if the function is not compiled.
NETWORK_MORE = words_set("mlp values logits value function fn pass nn dqn probs")
#: What a network without a class of its own is given first.
WEIGHTS = words_set("params parameters weights theta variables p w")
#: What is done to a target network between two updates.
MOVE = words_set("update sync synchronize synchronise copy soft hard polyak move")
MOVED = words_set(
    "update sync copy the target network networks net nets model models weights params parameters "
    "q critic critics actor actors to"
)
JUDGE = words_set(
    "evaluate eval evaluation evaluating evaluator test testing validate validation assess "
    "benchmark score performance"
)
#: Names of methods that change an agent.
CHANGES = words_set("learn optimize optimise update train_step train_on_batch remember push")
COLLECT = words_set("collect collection rollout rollouts sample samples main")
LOGGER = words_set("logger log logs writer recorder")
LOG = words_set("log record write dump flush add")
DATA_VERBS = words_set(
    "load fetch download read prepare preprocess process clean compute calculate calc add build "
    "make extract generate engineer"
)
DATA = words_set(
    "data dataset datasets price prices market bars candles ohlc ohlcv csv dataframe feature "
    "features indicator indicators history quotes ticks stock stocks technical"
)
DATA_PARAMETERS = words_set(
    "df data bars prices price dataframe candles ohlcv history market path file filename "
    "csv ticker tickers symbol symbols url folder directory dir start end close"
)
#: Verbs that say that a function does something else with what it names.
NOT_COMPUTING = words_set(
    "plot log print show save load test evaluate eval write record is has set draw display "
    "reset clear init make create"
)

#: Words of a class that searches a tree of moves.
TREE_SEARCH = words_set("mcts puct uct montecarlo")
#: Its methods that choose a move, and what the rules of a game are called, as words run together.
SEARCHES = words_set(
    "search run runmcts mctssearch getactionprob getactionprobs getmoveprobs getaction getmove "
    "think plan bestmove choosemove selectmove getpolicy policy searchprobs"
)
#: Functions that play one game from its beginning to its end, as words run together.
PLAYS_A_GAME = words_set(
    "selfplay playgame playonegame playselfplaygame executeepisode startselfplay startplay "
    "selfplaygame playagame"
)
#: Rollouts in a model of the world, and other words of such a name.
IMAGINE = words_set("imagine imagination dream")
IMAGINED = words_set("ahead rollout rollouts trajectory trajectories horizon behavior with action")
LEGAL_MOVES = words_set(
    "legal legalmoves getlegalmoves legalactions getlegalactions validmoves getvalidmoves "
    "validactions getvalidactions availablemoves availableactions possiblemoves"
)
PLAYS_A_MOVE = words_set(
    "play playmove makemove domove getnextstate nextstate applymove applyaction apply move push "
    "executemove"
)
GAME_ENDS = words_set(
    "winner getwinner gameover isover isterminal getgameended checkwin haswon terminal isgameover "
    "outcome getcanonicalform canonicalform stringrepresentation encode"
)

#: Names that only code with gradients uses.
GRADIENT_NAMES = words_set(
    "backward zero_grad apply_gradients apply_updates train_on_batch GradientTape value_and_grad "
    "grad minimize fit"
)
#: Of these, torch's own.
TORCH_NAMES = frozenset({"backward", "zero_grad"})

#: How far calls are followed, and through how many functions.
_DEPTH, _MOST = 4, 64
#: How many instructions may lie between an object's name and its method (an index, a call).
_REACH = 5


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def parameters_of(function: Any, bound: bool) -> list[str]:
    """Names of the parameters that can be given by position, without `self`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & inspect.CO_VARARGS:
        names += (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
    return list(names[1:] if bound else names)


def names_in(code: CodeType) -> set[str]:
    """Every name and short text in a piece of code and in what is defined inside it."""
    names = {*code.co_names, *code.co_varnames, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_in(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            names.add(constant)
    return names


def used_names(code: CodeType) -> set[str]:
    """The globals and attributes that a piece of code uses, and what is defined inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= used_names(constant)
    return names


def words_in(code: CodeType) -> set[str]:
    """The words of all names in a piece of code."""
    return {word for name in names_in(code) for word in words_of(name)}


def reached(function: FunctionType, cls: type | None) -> list[FunctionType]:
    """A function and the program's own functions that it leads to, as far as names tell."""
    found = [function]
    level = [function]
    for _ in range(_DEPTH):
        following: list[FunctionType] = []
        for each in level:
            for name in used_names(each.__code__):
                other = _called(each, name, cls)
                if other is not None and other not in found and len(found) < _MOST:
                    found.append(other)
                    following.append(other)
        level = following
    return found


def _called(function: FunctionType, name: str, cls: type | None) -> FunctionType | None:
    raw: Any = function.__globals__.get(name)
    if raw is None and cls is not None:
        raw = inspect.getattr_static(cls, name, None)
        raw = getattr(raw, "__func__", raw)
    raw = written(raw)
    if raw is function and cls is not None:
        raw = _overridden(function, name, cls)
    return raw if is_really(raw, FunctionType) else None


def _overridden(function: FunctionType, name: str, cls: type) -> object:
    """What `super().name` is in a method of that name."""
    found = False
    for owner in cls.__mro__:
        raw = vars(owner).get(name)
        raw = written(getattr(raw, "__func__", raw))
        if found and raw is not None:
            return raw
        found = found or raw is function
    return None


def steps_an_environment(functions: Iterable[FunctionType]) -> bool:
    """Whether one of the functions calls `env.step` on something that is called an environment."""
    return any(_calls_step(function.__code__) for function in functions)


def _calls_step(code: CodeType) -> bool:
    if "step" in code.co_names or "step_async" in code.co_names:
        before: list[str] = []
        for instruction in instructions(code):
            name = instruction.argval
            is_step = name in ("step", "step_async") and "LOAD" in instruction.opname
            if is_step and any(ENV & set(words_of(each)) for each in before[-_REACH:]):
                return True
            before.extend(_names_of(name))
    return any(_calls_step(each) for each in code.co_consts if isinstance(each, CodeType))


def _names_of(argument: object) -> Iterator[str]:
    if isinstance(argument, str):
        yield argument
    elif isinstance(argument, tuple):
        yield from (each for each in argument if isinstance(each, str))
    else:
        yield ""


def returns_something(code: CodeType) -> bool:
    """Whether a function returns anything but None."""
    before: Any = None
    for instruction in instructions(code):
        if instruction.opname == "RETURN_CONST" and instruction.argval is not None:
            return True
        if instruction.opname == "RETURN_VALUE" and before is not None:
            nothing = before.opname == "LOAD_CONST" and before.argval is None
            if not nothing:
                return True
        before = instruction
    return False


def gradient_names(functions: Iterable[FunctionType]) -> set[str]:
    """The names in these functions that only code with gradients uses."""
    found: set[str] = set()
    for function in functions:
        found |= GRADIENT_NAMES & used_names(function.__code__)
    return found
