"""A finding's evidence in words: each figure with its label and unit.

Rules record figures under short names that include the unit (`comm_s_per_update`: `s` for seconds,
`share`, `mb` or `bytes`). A name without an entry here is shown as it is, without its unit.
"""

from __future__ import annotations

from typing import Any

from hotloop import units
from hotloop.diagnose.finding import Finding

#: Already shown next to the finding's title.
_SHOWN_ELSEWHERE = ("gain_of_loop",)

_LABELS = {
    "seconds": "time in the loop",
    "share_of_loop": "share of the loop",
    "share_of_env_step": "share of the environment step",
    "step_s": "time per step",
    "step_before_s": "time per step before",
    "step_after_s": "time per step after",
    "step_first_s": "time per step at first",
    "step_last_s": "time per step at the end",
    "learning_s": "learning per step",
    "first_s": "per call at first",
    "last_s": "per call at the end",
    "per_call_s": "time per call",
    "each_s": "time of each",
    "reset_s": "time per reset",
    "act_s": "choosing an action, per step",
    "on_s": "time with it switched on",
    "forward_s": "forward passes",
    "backward_s": "backward passes",
    "parent_env_step_s": "main process in env.step",
    "workers_computing_s": "workers computing",
    "worker_mean_s": "a worker's step on average",
    "slowest": "slowest worker",
    "slowest_s": "the slowest worker's step",
    "moving_s": "moving data",
    "waiting_s": "waiting for the slowest",
    "waiting_for_cores": "waiting for a CPU core",
    # Of all threads together: more than one if several wait.
    "threads_waiting": "threads waiting for a CPU core",
    "waiting_for_a_core": "waiting for a CPU core",
    "waiting_for_the_slowest_s": "waiting for the slowest rank",
    "comm_s": "communication",
    "comm_s_per_update": "communication per update",
    "computing_s_per_update": "computing per update",
    "excess_s": "more than other ranks",
    "env_step_s": "in environments",
    "in_env_step_s": "in env.step",
    "elsewhere_s": "elsewhere",
    "graphs_alive": "graphs still alive",
    "graphs_used": "graphs that learning used",
    "graphs_watched": "graphs watched",
    "backward_ratio": "backward at the end compared with first",
    "memory_added_mb": "memory added",
    "updates_in_a_row": "updates in a row",
    "empty_caches": "calls of empty_cache",
    "gc_collects": "calls of gc.collect",
    "networks_at_their_fastest_s": "networks, at their fastest",
    "other_code_s": "other code",
    "other_code_at_its_fastest_s": "other code, at its fastest",
    "foreach_s": "in foreach kernels",
    "single_tensor_s": "one tensor at a time",
    "puts": "copies into the object store",
    "p99_over_median": "slowest 1% compared with the median",
    "uncached": "calls without a KV cache",
    "passes": "forward passes",
    "peak_share_of_memory": "memory in use at the peak",
    "one_thread_s": "expected with one thread",
    "networks_s": "time in networks",
    "throttled_s": "stopped by the quota",
    "throttled_periods": "periods with a stop",
    "periods": "periods in all",
    "quota_cores": "cores of the quota",
    "torch_threads": "PyTorch threads",
    "envs": "environments",
    "parts": "parts of a step",
    "episodes_longer": "steps per episode, times the first",
    "steps_slower": "time per step, times the first",
    "everything_slower": "time of all other code, times the first",
    "rows_per_call": "batch size per call",
    "rows_per_update": "batch size",
    "rows_first": "entries at first",
    "rows_last": "entries at the end",
    "gradient_steps_per_vector_step": "gradient steps per vector step",
    "gradient_steps_per_env_step": "gradient steps per environment step",
    "pushes_per_vector_step": "pushes per vector step",
    "forward_calls_per_round": "forward passes per vector step",
    "compile_s": "compiling",
    "startup_s": "before the loop",
    "in_loop_s": "in the loop",
    "gpu_busy": "GPU busy",
    "kernel_share": "kernels running",
    "subnormal_share": "denormal numbers",
    "flops": "operations per step",
    "times_slower": "times slower",
    "p": "chance that this is noise",
    "container": "grows",
    "function": "function",
    "actual_s": "measured",
    "predicted_from_first_part_s": "predicted from the first part",
    "own_code_share": "in the program's own code",
    "workers_loading_s": "workers loading",
    "waiting_for_thread_s": "waiting for the thread",
    "thread_busy_s": "other threads busy",
    "major_faults_per_s": "page faults per second",
    "buffer_bytes": "the full buffer",
    "limit_bytes": "memory limit",
    "float_frame_bytes": "frames stored as floats",
    "frame_is_observation": "the frame is the observation",
}
_UNITS = ("s", "mb", "bytes")
#: Shares whose names do not contain `share`.
_SHARES = ("gpu_busy", "waiting_for_cores", "waiting_for_a_core", "graphs_alive", "parts")


def evidence_in_words(finding: Finding) -> list[tuple[str, str]]:
    """Label and value of each figure that is known."""
    return [
        (_label(name), _value(name, value))
        for name, value in finding.evidence.items()
        if value is not None and name not in _SHOWN_ELSEWHERE
    ]


def _label(name: str) -> str:
    known = _LABELS.get(name)
    if known is not None:
        return known
    first, *rest = name.split("_")
    return " ".join([first, *(word for word in rest if word not in _UNITS)])


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return _number(name, float(value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value(name, each)}" for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_value("", each) for each in value)
    return str(value)


def _number(name: str, value: float) -> str:
    if name == "p":
        return "below 0.1%" if value < 0.001 else units.percent(value)
    words = name.split("_")
    if name in _SHARES or "share" in words:
        return units.percent(value)
    if "seconds" in words or ("s" in words and not name.endswith("_per_s")):
        return units.seconds(value)
    if "mb" in words:
        return units.megabytes(value)
    if "bytes" in words:
        return units.size(value)
    return units.amount(value)
