"""Lets a child process join its parent's run: Python imports this by itself as it starts.

`hotloop run` puts this folder on PYTHONPATH and says in HOTLOOP_SESSION which run to join; workers
that are spawned, forked by a server or started as programs of their own inherit both. Whatever
goes wrong here must not hurt the child, so everything is guarded; a `sitecustomize` of the user's
own is still run.
"""

import os
import sys


def _run_the_users_own() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        if os.path.abspath(folder or ".") == here:
            continue
        path = os.path.join(folder or ".", "sitecustomize.py")
        if os.path.isfile(path):
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec")
            exec(code, {"__name__": "sitecustomize", "__file__": path})
            return


def _join() -> None:
    if "HOTLOOP_SESSION" not in os.environ:
        return
    try:
        from hotloop.measure.session import join_from_environment
    except ImportError:
        return  # another Python, without hotloop
    join_from_environment()


_run_the_users_own()
try:
    _join()
except Exception as error:
    print(f"hotloop: a child process could not join the run ({error!r})", file=sys.stderr)
