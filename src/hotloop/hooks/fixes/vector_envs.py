"""Fixes in how a program runs its environments: in this process, in others, or more of them."""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType
from typing import Any

from hotloop.hooks.fixes.runtime import Applied, RuntimeFix
from hotloop.hooks.protocols import Function

_SB3 = "stable_baselines3.common.vec_env"
#: Arguments of Gymnasium's vector environments that both kinds take.
_COMMON = ("copy", "observation_mode", "autoreset_mode")
#: Positional arguments after `n_envs` with which `make_vec_env` is not given its class.
_BEFORE_CLASS = 6


def _in_process(applied: Applied, module: ModuleType) -> None:
    """Environments take turns in this process."""
    if module.__name__ == "gymnasium.vector":
        _exchange(applied, [module], "AsyncVectorEnv", module.SyncVectorEnv)
    else:
        loaded = [m for n, m in list(sys.modules.items()) if n.startswith("stable_baselines3")]
        _exchange(applied, loaded, "SubprocVecEnv", module.DummyVecEnv)


def _in_processes(applied: Applied, module: ModuleType) -> None:
    """Each environment in a process of its own."""
    if module.__name__ == "gymnasium.vector":
        _exchange(applied, [module], "SyncVectorEnv", module.AsyncVectorEnv)
    else:
        _sb3_in_processes(applied, module)


def _exchange(applied: Applied, modules: list[Any], name: str, other: Any) -> None:
    """Let a class be a subclass of the other kind, which takes its arguments."""

    def init(self: Any, env_fns: Any, *args: Any, **kwargs: Any) -> None:
        applied.took_effect()
        kept = {key: value for key, value in kwargs.items() if key in _COMMON}
        other.__init__(self, env_fns, **kept)

    new = type(name, (other,), {"__init__": init, "__module__": other.__module__})
    for module in modules:
        if getattr(module, name, None) is not None:
            applied.substitute(module, name, new)


def _sb3_in_processes(applied: Applied, util: Any) -> None:
    """`make_vec_env` takes the class as an argument: several environments get processes."""

    def make_vec_env(
        original: Function, env_id: Any, n_envs: int = 1, *args: Any, **kwargs: Any
    ) -> Any:
        own = kwargs.get("vec_env_cls")
        free = len(args) < _BEFORE_CLASS and (own is None or own is util.DummyVecEnv)
        if n_envs > 1 and free:
            applied.took_effect()
            kwargs["vec_env_cls"] = util.SubprocVecEnv
        return original(env_id, n_envs, *args, **kwargs)

    applied.instead(util, "make_vec_env", make_vec_env)


def _shared_memory(applied: Applied, module: ModuleType) -> None:
    def shared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        own = len(args) <= 2 and kwargs.get("shared_memory") is False
        return {"shared_memory": True} if own else {}

    applied.pass_on(module.AsyncVectorEnv, "__init__", shared)


def _count(applied: Applied, module: ModuleType) -> None:
    """Another number of environments wherever several are made from one function or name."""
    if module.__name__ == "gymnasium.vector":
        for name in ("SyncVectorEnv", "AsyncVectorEnv"):
            applied.instead(getattr(module, name), "__init__", partial(_repeating, applied))
        return
    name = "make_vec" if module.__name__ == "gymnasium" else "make_vec_env"
    keyword = "num_envs" if name == "make_vec" else "n_envs"

    def call(original: Function, *args: object, **kwargs: object) -> object:
        applied.took_effect()
        if len(args) > 1:
            return original(args[0], applied.number, *args[2:], **kwargs)
        return original(*args, **{**kwargs, keyword: applied.number})

    applied.instead(module, name, call)


def _repeating(
    applied: Applied, original: Function, self: Any, env_fns: Any, *args: Any, **kwargs: Any
) -> None:
    functions = list(env_fns)
    if functions and len(functions) != applied.number:
        applied.took_effect()
        functions = (functions * applied.number)[: applied.number]
    original(self, functions, *args, **kwargs)


FIXES = {
    "envs-in-process": RuntimeFix(_in_process, ("gymnasium.vector", _SB3)),
    "envs-in-processes": RuntimeFix(
        _in_processes, ("gymnasium.vector", "stable_baselines3.common.env_util")
    ),
    "shared-memory": RuntimeFix(_shared_memory, ("gymnasium.vector",)),
    "envs": RuntimeFix(
        _count,
        ("gymnasium.vector", "gymnasium", "stable_baselines3.common.env_util"),
        takes_number=True,
    ),
}
