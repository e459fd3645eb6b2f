"""Ray: its worker processes join the run, each under the name of the actor that it serves.

A cluster that the program starts itself (`ray.init()`) hands its environment on to its workers, and
with it the invitation to join. A cluster that was there before is told with the job's runtime
environment. Waiting for other processes (`ray.get`, `ray.wait`) is a phase.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.table import Library, Place

_MANAGER = "ray._private.function_manager"

#: The address that asks Ray for a cluster of its own, whatever runs on this machine.
_NEW_CLUSTER = "local"


def _session() -> Any:
    """This process's part of a run, if it has one."""
    session = getattr(sys.modules.get("hotloop.measure.session"), "Session", None)
    return session.current if session is not None else None


def name_this_process(name: str, again: bool = True) -> None:
    """Let this worker appear in the report under the name of what it does."""
    current = _session()
    if current is not None and current.role != "main" and (again or current.unnamed):
        current.role = name


def _name_by_actor(original: Callable[..., Any]) -> Callable[..., Any]:
    """A worker learns what it is when it loads the class of its actor."""

    @functools.wraps(original)
    def load_actor_class(*args: Any, **kwargs: Any) -> Any:
        actor = original(*args, **kwargs)
        # Asked again for every task; a library may have given a better name meanwhile.
        name_this_process(f"{getattr(actor, '__name__', 'actor')}-{os.getpid()}", again=False)
        return actor

    return load_actor_class


def _hook_actor(original: Callable[..., Any]) -> Callable[..., Any]:
    """An actor's class comes by value: it is hooked before Ray looks for its methods."""

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        actor = original(*args, **kwargs)
        current = _session()
        if current is not None and current.hooks is not None and actor is not None:
            current.hooks.class_arrived(actor)
            # What the program wrote is the base of a class that Ray makes of it.
            current.hooks.class_arrived(getattr(actor, "__ray_actor_class__", actor))
        return actor

    return load


def with_invitation(runtime_env: Any, invitation: Mapping[str, str]) -> Any:
    """A job's runtime environment with the variables by which its workers join the run."""
    if runtime_env is None:
        runtime_env = {}
    if not isinstance(runtime_env, dict):  # a RuntimeEnv is one, anything else is not for us
        return runtime_env
    variables = dict(runtime_env.get("env_vars") or {})
    path = variables.get("PYTHONPATH")
    variables = {**invitation, **variables}
    if path:
        variables["PYTHONPATH"] = os.pathsep.join([invitation["PYTHONPATH"], path])
    merged = type(runtime_env)(**runtime_env) if runtime_env else {}
    merged["env_vars"] = variables
    return merged


def _or_hooked(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Ray offers as an actor's methods what is a function; a hooked method is one."""
    hooked = type(get_profiler().core.region("wait").wrap(original))

    @functools.wraps(original)
    def is_function_or_method(obj: Any) -> bool:
        return type(obj) is hooked or original(obj)

    return is_function_or_method


def _invite(original: Callable[..., Any]) -> Callable[..., Any]:
    """`ray.init`: workers of a cluster that is there already do not inherit our environment."""

    @functools.wraps(original)
    def init(address: str | None = None, **kwargs: Any) -> Any:
        wanted = address or os.environ.get("RAY_ADDRESS")
        current = _session()
        if wanted and wanted != _NEW_CLUSTER and current is not None and current.role == "main":
            try:
                kwargs["runtime_env"] = with_invitation(
                    kwargs.get("runtime_env"), current.environment()
                )
            except Exception as error:
                current.profiler.core.failures["ray.init"] = repr(error)
        return original(address, **kwargs)

    return init


LIBRARY = Library(
    "Ray",
    "ray",
    places=(
        Place("ray._private.worker", "get", "wait", outermost=True),
        Place("ray._private.worker", "wait", "wait", outermost=True),
        Place("ray._private.worker", "init", "", wrapper=_invite),
        # The second is the same function, bound once more.
        Place("ray._private.inspect_util", "is_function_or_method", "", wrapper=_or_hooked),
        Place("ray.actor", "is_function_or_method", "", wrapper=_or_hooked),
        Place(_MANAGER, "FunctionActorManager.load_actor_class", "", wrapper=_name_by_actor),
        Place(_MANAGER, "FunctionActorManager._load_actor_class_from_gcs", "", wrapper=_hook_actor),
        Place(
            _MANAGER, "FunctionActorManager._load_actor_class_from_local", "", wrapper=_hook_actor
        ),
    ),
)
