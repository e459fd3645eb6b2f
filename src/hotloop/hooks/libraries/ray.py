"""Ray: its worker processes join the run, each under the name of the actor that it serves.

A cluster that the program starts itself (`ray.init()`) passes its environment to its workers, and
with it the variables by which they join. A cluster that existed before gets them with the job's
runtime environment. On machines without the capture's folder, workers send their shards to the
driver (`ray_relay`). Waiting for other processes (`ray.get`, `ray.wait`) is a phase.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping

from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.ray_actors import ActorWaits, time_methods
from hotloop.hooks.libraries.ray_relay import Relay
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function
from hotloop.hooks.wrapping import guarded, observe

_WORKER = "ray._private.worker"
_MANAGER = "ray._private.function_manager"

#: The address that makes Ray start its own cluster, whatever runs on this machine.
_NEW_CLUSTER = "local"


def library(context: HookContext) -> Library:
    """The table of Ray."""

    def name_by_actor(actor: object, *_: object, **__: object) -> None:
        # Called for every task; a library may have given a better name meanwhile.
        name = f"{getattr(actor, '__name__', 'actor')}-{os.getpid()}"
        context.name_process(name, again=False)

    def hook_actor(actor: object, *_: object, **__: object) -> None:
        # The class comes by value: it is hooked before Ray collects its methods.
        context.class_arrived(actor)
        # The class that the program wrote is the base of one that Ray derives.
        context.class_arrived(getattr(actor, "__ray_actor_class__", actor))

    def or_hooked(original: Function) -> Function:
        """Ray offers as an actor's methods what is a function; a hooked method is one."""
        hooked = type(context.core.region("wait").wrap(original))

        @functools.wraps(original)
        def is_function_or_method(*args: object, **kwargs: object) -> object:
            if args and type(args[0]) is hooked:
                return True
            return original(*args, **kwargs)

        return is_function_or_method

    def invite(original: Function) -> Function:
        """`ray.init`: workers of a cluster that exists already do not inherit our environment."""

        def environment(address: str | None = None, **kwargs: object) -> Foreign:
            process = context.process
            wanted = address or os.environ.get("RAY_ADDRESS")
            if wanted and wanted != _NEW_CLUSTER and process is not None and process.role == "main":
                return with_invitation(kwargs.get("runtime_env"), process.environment())
            return None

        merged_environment = guarded(context, "ray.init", environment)

        @functools.wraps(original)
        def init(*args: object, **kwargs: object) -> object:
            merged = merged_environment(*args, **kwargs)
            if merged is not None:
                kwargs["runtime_env"] = merged
            return original(*args, **kwargs)

        return init

    waits, relay = ActorWaits(context), Relay(context)
    named, loaded = observe(context, name_by_actor), observe(context, hook_actor)
    return Library(
        "Ray",
        "ray",
        targets=(
            Target(_WORKER, "get", "wait", wrapper=waits.get),
            Target(_WORKER, "wait", "wait", wrapper=waits.wait),
            # Serialising into the object store; weights for actors above all.
            once(_WORKER, "put", "comm", optional=True),
            # Packing the arguments and sending them; the call itself is another process's.
            Target(
                "ray.actor",
                "ActorHandle._actor_method_call",
                "comm.submit",
                after=waits.called,
                optional=True,
            ),
            Target("ray.remote_function", "RemoteFunction._remote", "comm.submit", optional=True),
            Target(
                _MANAGER,
                "FunctionActorManager._make_actor_method_executor",
                "",
                wrapper=time_methods(context),
                optional=True,
            ),
            Target(_WORKER, "init", "", wrapper=invite),
            Target(_WORKER, "connect", "", wrapper=observe(context, after=relay.connected)),
            Target(_WORKER, "shutdown", "", wrapper=observe(context, before=relay.leaving)),
            # The second is the same function, bound once more.
            Target("ray._private.inspect_util", "is_function_or_method", "", wrapper=or_hooked),
            Target("ray.actor", "is_function_or_method", "", wrapper=or_hooked),
            Target(_MANAGER, "FunctionActorManager.load_actor_class", "", wrapper=named),
            Target(_MANAGER, "FunctionActorManager._load_actor_class_from_gcs", "", wrapper=loaded),
            Target(
                _MANAGER, "FunctionActorManager._load_actor_class_from_local", "", wrapper=loaded
            ),
        ),
    )


def with_invitation(runtime_env: Foreign, invitation: Mapping[str, str]) -> Foreign:
    """A job's runtime environment with the variables by which its workers join the run."""
    if runtime_env is None:
        runtime_env = {}
    if not isinstance(runtime_env, dict):  # a RuntimeEnv is a dict; leave anything else alone
        return runtime_env
    variables = {**invitation, **(runtime_env.get("env_vars") or {})}
    bootstrap = invitation["PYTHONPATH"].split(os.pathsep)[0]
    # Ray replaces ${…} by the value on the cluster's own nodes.
    path = (runtime_env.get("env_vars") or {}).get("PYTHONPATH", "${PYTHONPATH}")
    variables["PYTHONPATH"] = os.pathsep.join([bootstrap, path])
    merged = type(runtime_env)(**runtime_env) if runtime_env else {}
    merged["env_vars"] = variables
    return merged
