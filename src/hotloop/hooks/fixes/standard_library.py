"""Fixes outside of neural networks: threads, garbage collection, NumPy and pandas calls."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hotloop.hooks.fixes.runtime import Applied, RuntimeFix
from hotloop.hooks.protocols import Function

#: Containers that `shallow-copies` copies itself; anything else is left to `copy.deepcopy`.
_CONTAINERS = (dict, list, set)


def _threads(applied: Applied, module: ModuleType) -> None:
    """One number of threads for a library, whatever the program asks for."""
    setter = {"torch": "set_num_threads", "cv2": "setNumThreads"}[module.__name__]
    getattr(module, setter)(applied.number)
    applied.took_effect()
    applied.never(module, setter)


def _threads_of_tensorflow(applied: Applied, module: ModuleType) -> None:
    for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
        getattr(module, name)(applied.number)
        applied.never(module, name)
    applied.took_effect()


def _set_threads(applied: Applied, module: ModuleType) -> None:
    if module.__name__ == "tensorflow":
        _threads_of_tensorflow(applied, module.config.threading)
    elif module.__name__ in ("torch", "cv2"):
        _threads(applied, module)
    else:  # NumPy reads the environment as it starts
        applied.took_effect()


def _no_collections(applied: Applied, module: ModuleType) -> None:
    """Leave garbage collection to Python, and freed device memory to the allocator."""
    if module.__name__ == "gc":
        applied.never(module, "collect", 0)
    else:
        applied.never(module.cuda, "empty_cache")


def _shallow_copies(applied: Applied, module: ModuleType) -> None:
    """Copy containers one level deep and arrays whole; the contents are shared."""
    shallow = module.copy

    def deepcopy(original: Function, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or type(args[0]) not in _CONTAINERS:
            return original(*args, **kwargs)
        (x,) = args
        applied.took_effect()
        if type(x) is dict:
            return {key: _one_level(shallow, value) for key, value in x.items()}
        return type(x)(_one_level(shallow, each) for each in x)

    applied.instead(module, "deepcopy", deepcopy)


def _one_level(shallow: Function, value: object) -> object:
    if type(value) in _CONTAINERS or type(value).__name__ == "ndarray":
        return shallow(value)
    return value


def _weighted_choice(applied: Applied, module: ModuleType) -> None:
    """Draw with probabilities by one cumulative sum; without replacement, by exponential keys."""

    def choice(
        original: Function, a: object, size: object = None, replace: bool = True, p: object = None
    ) -> object:
        if p is None or size is None or not isinstance(size, int):
            return original(a, size, replace, p)
        applied.took_effect()
        values = module.arange(a) if isinstance(a, int) else module.asarray(a)
        weights = module.asarray(p, dtype=float)
        if replace:
            total = weights.cumsum()
            drawn = module.random.random(size) * total[-1]
            return values[total.searchsorted(drawn, side="right")]
        # Efraimidis & Spirakis 2006: the smallest of exponential variates over weights.
        with module.errstate(divide="ignore"):
            keys = module.random.standard_exponential(len(weights)) / weights
        return values[module.argpartition(keys, size - 1)[:size]]

    applied.instead(module.random, "choice", choice)


def _cached_tables(applied: Applied, module: ModuleType) -> None:
    """Read the same file once: later reads get a copy of the first result."""
    for name in ("read_csv", "read_parquet", "read_json", "read_excel"):
        applied.redirect(module, name, lambda original: _reading_once(applied, original))


def _reading_once(applied: Applied, original: Function) -> Function:
    tables: dict[Any, Any] = {}

    def read(*args: object, **kwargs: object) -> object:
        if len(args) != 1 or type(args[0]) is not str or kwargs:
            return original(*args, **kwargs)
        (path,) = args
        if path in tables:
            applied.took_effect()
        else:
            tables[path] = original(path)
        return tables[path].copy()

    return read


#: Where `factory` is among `sqlite3.connect`'s arguments, if given by position.
_FACTORY = 5


def _fewer_commits(applied: Applied, module: ModuleType) -> None:
    """Commit every Nth time, and when a connection closes: all rows are written, later."""
    original = module.connect

    def leave(self: Any, kind: object, error: object, trace: object) -> object:
        """After `with connection:`, which commits by itself."""
        if kind is not None:
            return module.Connection.__exit__(self, kind, error, trace)
        return self.commit()

    takes_attributes = type("Connection", (module.Connection,), {"__exit__": leave})

    def connect(*args: object, **kwargs: object) -> object:
        if len(args) <= _FACTORY:
            kwargs.setdefault("factory", takes_attributes)
        connection = original(*args, **kwargs)
        commit, close = connection.commit, connection.close
        asked = 0

        def commit_sometimes() -> None:
            nonlocal asked
            asked += 1
            applied.took_effect()
            if asked % applied.number == 0:
                commit()

        def commit_and_close() -> None:
            commit()
            close()

        try:
            connection.commit, connection.close = commit_sometimes, commit_and_close
        except AttributeError:
            pass  # a class of connections that takes no attributes
        return connection

    applied.substitute(module, "connect", connect)


FIXES = {
    "fewer-commits": RuntimeFix(_fewer_commits, ("sqlite3",), takes_number=True),
    "threads": RuntimeFix(
        _set_threads,
        ("torch", "cv2", "tensorflow", "numpy"),
        takes_number=True,
        environment=("OMP_NUM_THREADS={}", "MKL_NUM_THREADS={}", "OPENBLAS_NUM_THREADS={}"),
    ),
    "no-gc-calls": RuntimeFix(_no_collections, ("gc", "torch")),
    "shallow-copies": RuntimeFix(_shallow_copies, ("copy",)),
    "weighted-choice": RuntimeFix(_weighted_choice, ("numpy",)),
    "cached-tables": RuntimeFix(_cached_tables, ("pandas",)),
}
