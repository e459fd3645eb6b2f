"""Ray actors: each method of the program's own is a region, and waits name the awaited actor.

Between two tasks an actor is idle; while one runs, its time is the method's. A method that is
called to test or evaluate (`self_play.remote(storage, test_mode=True)`) is an evaluation: its
environment steps are not training steps.
"""

from __future__ import annotations

import functools
import inspect
from time import perf_counter

from hotloop.hooks.context import HookContext
from hotloop.hooks.protocols import Foreign, Function, Wrapper
from hotloop.hooks.wrapping import guarded, observe
from hotloop.measure.core import Core

#: Parameters that are true if a method evaluates.
_EVALUATES = frozenset(
    ["test", "test_mode", "testing", "is_test", "evaluate", "evaluation", "eval_mode", "is_eval",
     "eval", "is_evaluation"]
)  # fmt: skip
#: References of one call whose actors are noted: the note must not take longer than the call.
_MOST_REFERENCES = 64


class ActorWaits:
    """Seconds that this process waited for actors, by their class."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        #: An actor's id -> its class.
        self._classes: dict[str, str] = {}

    def called(self, _: object, actor: Foreign, *__: object, **___: object) -> None:
        """A method of an actor was called: its result will have the actor's id."""
        name = actor._ray_actor_creation_function_descriptor.class_name
        self._classes[actor._ray_actor_id.hex()] = name.rpartition(".")[2]

    def get(self, original: Function) -> Function:
        """`ray.get` waits for all of its references."""
        return self._timed(original, self._note_all)

    def wait(self, original: Function) -> Function:
        """`ray.wait` waits for those that it returns as ready."""
        return self._timed(original, self._note_ready)

    def _timed(self, original: Function, note: Function) -> Function:
        waiting = self._context.core.region("wait").wrap(original, outermost=True)
        noted = guarded(self._context, "who is waited for", note)

        @functools.wraps(original)
        def timed(*args: object, **kwargs: object) -> object:
            begin = perf_counter()
            result = waiting(*args, **kwargs)
            noted(perf_counter() - begin, result, *args, **kwargs)
            return result

        return timed

    def _note_all(self, seconds: float, _: object, object_refs: Foreign, **__: object) -> None:
        is_sequence = isinstance(object_refs, (list, tuple))
        self._note(seconds, object_refs if is_sequence else [object_refs])

    def _note_ready(self, seconds: float, result: Foreign, *_: object, **__: object) -> None:
        self._note(seconds, result[0])

    def _note(self, seconds: float, refs: Foreign) -> None:
        refs = refs[:_MOST_REFERENCES]
        waited = self._context.waited_for
        for ref in refs:
            name = self._classes.get(ref.task_id().actor_id().hex(), "")
            if name:
                waited[name] = waited.get(name, 0.0) + seconds / len(refs)


def time_methods(context: HookContext) -> Wrapper:
    """Ray makes a function for each method of an actor: time those of the program's own."""

    def time_method(
        executor: Foreign, manager: object, method_name: object, method: Foreign
    ) -> None:
        _time_method(context, executor, method)

    return observe(context, after=time_method)


def _time_method(context: HookContext, executor: Foreign, method: Foreign) -> None:
    is_async = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
    internal = method.__name__.startswith("__ray") or method.__module__.startswith("ray.")
    if is_async or internal:
        return
    name = ".".join(method.__qualname__.rpartition("<locals>.")[2].split(".")[-2:])
    parameters = list(inspect.signature(method).parameters)
    # A constructor's arguments apply to later calls.
    constructs = method.__name__ == "__init__"
    evaluates = [
        (i, each) for i, each in enumerate(parameters) if each in _EVALUATES and not constructs
    ]
    region, evaluate = context.core.region(name), context.core.region("evaluate")

    def hook(call: Function) -> Function:
        plain = region.wrap(call)
        if not evaluates:
            return plain
        evaluating = evaluate.wrap(plain)

        def run(*args: object, **kwargs: object) -> object:
            # By identity: a comparison would call the program's own `__eq__`.
            is_evaluation = any(
                kwargs.get(each) is True or (i < len(args) and args[i] is True)
                for i, each in evaluates
            )
            return (evaluating if is_evaluation else plain)(*args, **kwargs)

        return run

    detach = Core.attach(executor, hook)
    if detach is not None:
        context.undo.append(detach)
