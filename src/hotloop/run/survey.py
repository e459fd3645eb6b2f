"""Surveys the machine and every installed framework, each in a separate process.

A framework may crash, hang or take a device when imported, so a child process imports it, within a
time limit, and prints the result as one line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from hotloop.measure import machine
from hotloop.measure.core import NATIVE, WHY_TWIN

#: Time limit of a check in seconds; `--wait` gives slow disks more.
TIME_LIMIT_S = 8.0
#: Seconds over which the load of the machine is measured.
LOAD_S = 0.3

#: Variables that limit what programs see, and those that set threads. Only what follows from them
#: is recorded, never a value that is not a number.
HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_TORCH = """
import torch
found = {"version": torch.__version__, "threads": torch.get_num_threads(), "devices": []}
if torch.version.cuda: found["build"] = "cuda " + torch.version.cuda
elif getattr(torch.version, "hip", None): found["build"] = "rocm " + torch.version.hip
elif torch.backends.mps.is_built(): found["build"] = "mps"
else: found["build"] = "cpu"
if torch.cuda.is_available():
    found["devices"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
elif torch.backends.mps.is_available(): found["devices"] = ["MPS"]
"""
_TENSORFLOW = """
import tensorflow as tf
build = tf.sysconfig.get_build_info()
found = {"version": tf.__version__, "devices": [d.name for d in tf.config.list_physical_devices()
                                              if d.device_type != "CPU"]}
cuda = build.get("cuda_version")
found["build"] = ("cuda " + cuda if cuda else "cuda" if build.get("is_cuda_build") else
                  "rocm" if build.get("is_rocm_build") else "cpu")
"""
_JAX = """
import jax
devices = [d for d in jax.devices() if d.platform != "cpu"]
found = {"version": jax.__version__, "devices": [str(d) for d in devices]}
from importlib import metadata
names = {d.metadata["Name"].lower() for d in metadata.distributions() if d.metadata["Name"]}
found["build"] = ("cuda" if any("jax-cuda" in n for n in names) else
                  "rocm" if any("jax-rocm" in n for n in names) else
                  "metal" if "jax-metal" in names else "cpu")
"""
_CV2 = """
import cv2
found = {"version": cv2.__version__, "threads": cv2.getNumThreads(), "devices": [], "build": "cpu"}
"""

#: Title -> (module, what a child runs).
FRAMEWORKS: dict[str, tuple[str, str]] = {
    "torch": ("torch", _TORCH),
    "TensorFlow": ("tensorflow", _TENSORFLOW),
    "JAX": ("jax", _JAX),
    "cv2": ("cv2", _CV2),
}

#: Imports every library that hotloop has a table for, with hooks, and reports missing targets.
_HOOKS = """
import importlib, importlib.util
from hotloop import get_profiler
from hotloop.hooks import LIBRARIES
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
hooks = Hooks(HookContext(get_profiler()))
hooks.install()
for wakers in LIBRARIES.values():
    for waker in wakers:
        try:
            if importlib.util.find_spec(waker) is not None: importlib.import_module(waker)
        except Exception:
            pass
found = {"libraries": hooks.libraries, "failures": dict(hooks.failures)}
"""


def survey(time_limit_s: float = TIME_LIMIT_S) -> dict[str, Any]:
    """Everything, as the fields of `analyze.doctor.Survey`."""
    busy = busy_cores(LOAD_S)  # before the child processes below make it busy
    titles = [title for title in FRAMEWORKS if _is_installed(title)]
    with ThreadPoolExecutor(len(titles) + 1) as pool:
        asked = pool.submit(ask, _HOOKS, time_limit_s)
        frameworks = list(pool.map(lambda title: _framework(title, time_limit_s), titles))
        hooks = asked.result()
    unfinished = hooks.pop("unfinished", False)
    return {
        "busy_cores": busy,
        "cores": machine.affinity_cores(),
        "quota_cores": machine.quota_cores(),
        "memory_bytes": machine.memory_bytes(),
        "memory_limit": machine.memory_limit(),
        "memory_available": machine.memory_available(),
        "swap": machine.swap_bytes(),
        "accelerators": machine.accelerators(),
        "driver": machine.driver_version(),
        "card_error": card_error(),
        "hidden_by": hiding_variables(),
        "thread_settings": thread_variables(),
        "frameworks": frameworks,
        "native": NATIVE,
        "why_twin": WHY_TWIN,
        "hooks": hooks.get("libraries", {}),
        "hook_failures": hooks.get("failures", {})
        | ({"hooks": hooks["error"]} if "error" in hooks else {}),
        "hooks_unfinished": unfinished,
    }


def busy_cores(seconds: float) -> float | None:
    """Cores that were busy during a short time; None if the system does not report it."""
    before = machine.cpu_ticks()
    time.sleep(seconds)
    after = machine.cpu_ticks()
    if before is None or after is None or after[1] <= before[1]:
        return None
    share = (after[0] - before[0]) / (after[1] - before[1])
    return max(share, 0.0) * (os.cpu_count() or 1)


def card_error() -> str | None:
    """Why the first card's figures cannot be read; None if they can, or there is no card."""
    from hotloop.measure.cards import AmdCard, CardError, NvidiaCard

    kinds = machine.accelerators()
    try:
        if "CUDA" in kinds:
            NvidiaCard().read()
        elif "ROCm" in kinds:
            AmdCard().read()
    except (CardError, OSError, AttributeError) as error:
        return str(error)
    return None


def hiding_variables() -> dict[str, bool]:
    """Variables that hide devices -> whether none is left."""
    found = {name: os.environ[name].strip() for name in HIDING if name in os.environ}
    return {name: value in ("", "-1", "none", "NoDevFiles") for name, value in found.items()}


def thread_variables() -> dict[str, int]:
    """Numbers of threads that variables ask for."""
    found = {name: os.environ.get(name, "").strip() for name in THREADS}
    return {name: int(value) for name, value in found.items() if value.isdigit()}


def _is_installed(title: str) -> bool:
    try:
        return find_spec(FRAMEWORKS[title][0]) is not None
    except (ImportError, ValueError):
        return False


def _framework(title: str, time_limit_s: float) -> dict[str, Any]:
    module, code = FRAMEWORKS[title]
    found = ask(code, time_limit_s)
    found.setdefault("version", _version(module))
    return {"name": title, **found}


def _version(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return ""


def ask(code: str, time_limit_s: float = TIME_LIMIT_S) -> dict[str, Any]:
    """A child process's result; {"error": why} on failure, {"unfinished": True} if too slow."""
    mark = "hotloop-doctor:"
    program = f"{code}\nimport json\nprint({mark!r} + json.dumps(found, default=str))"
    environment = {
        name: value for name, value in os.environ.items() if name != "HOTLOOP_SESSION"
    } | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=time_limit_s,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return {"unfinished": True}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(mark):
            found = json.loads(line.removeprefix(mark))
            return found if isinstance(found, dict) else {"error": "unexpected output"}
    last = done.stderr.strip().splitlines()[-1:] or [f"ended with exit code {done.returncode}"]
    return {"error": last[0][:300]}
