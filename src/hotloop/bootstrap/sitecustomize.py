"""Lets a child process join its parent's run: Python imports this file at start-up.

`hotloop run` puts this folder on PYTHONPATH and names the run in HOTLOOP_SESSION; workers that are
spawned, forked by a server or started as separate programs inherit both. The program sees none of
it: the folder is removed from `sys.path`, and `sys.modules["sitecustomize"]` is the user's own, or
does not exist. An error in here never reaches the child.
"""

import os
import sys


def _is_bootstrap(folder: str) -> bool:
    """Whether a folder is this one, or that of another installation of hotloop."""
    try:
        with open(os.path.join(folder or ".", "sitecustomize.py"), "rb") as file:
            return b"HOTLOOP_SESSION" in file.read()
    except OSError:
        return False


def _import_the_users_own() -> None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [folder for folder in sys.path if not _is_bootstrap(folder)]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        # Python expects this error if there is no sitecustomize.
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _join() -> None:
    if "HOTLOOP_SESSION" not in os.environ:
        return
    try:
        from hotloop.run.children import join_from_environment
    except ImportError:
        return  # another Python, without hotloop
    try:
        join_from_environment()
    except Exception as error:
        print(f"hotloop: a child process could not join the run ({error!r})", file=sys.stderr)


try:
    _import_the_users_own()
finally:
    _join()
