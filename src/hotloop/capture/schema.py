"""Every counter, gauge, note and header field of a capture, declared once.

Writers use the names declared here, so a typo is a type error rather than a missing finding.
Readers get typed objects and merge windows by the declared rule. Names on disk never change: older
captures stay readable.

A counter is an amount since the last window; counters always add up. Programs add counters of
their own with `hotloop.count(name, n)`: a counter that is not declared here belongs to the program.
A gauge is a value at the end of a window; how two merge is part of its declaration. A gauge that is
not declared here is dropped (a newer hotloop wrote it), or an error in strict mode.

The header is written first, notes as facts become known. `Header.pid` is the name to write,
`header.pid` the value that was read (see `records`).
"""

from __future__ import annotations

from typing import Final

from hotloop.capture.merge_rules import MAX, MIN, SUM
from hotloop.capture.metrics import COUNTERS as COUNTERS
from hotloop.capture.metrics import GAUGES as GAUGES
from hotloop.capture.metrics import declare_counter as _counter
from hotloop.capture.metrics import declare_gauge as _gauge
from hotloop.capture.metrics import merge_gauge as merge_gauge
from hotloop.capture.records import (
    Damage,
    Field,
    Record,
    flag,
    list_of,
    number,
    optional,
    pair_of,
    part,
    record,
    required,
    rows,
    scalar,
    table,
    table_of,
    text,
    whole,
)
from hotloop.capture.strictness import require
from hotloop.capture.values import LineCalls as LineCalls
from hotloop.capture.values import SourceLine as SourceLine
from hotloop.capture.values import TransferLine as TransferLine
from hotloop.capture.values import line_calls, region_cost, source_line, transfer_line

# -- counters: training --

ENV_STEPS: Final = _counter("env_steps", "steps", "environment steps; a vector step is many")
AGENT_STEPS: Final = _counter(
    "agent_steps", "steps", "steps of each agent, where several act in one environment"
)
EPISODES: Final = _counter("episodes", "episodes", "episodes that ended")
GRADIENT_STEPS: Final = _counter("gradient_steps", "updates", "optimizer steps")
SAMPLES: Final = _counter("samples", "transitions", "transitions learned from: sum of batch sizes")
SEQUENCES: Final = _counter(
    "sequences", "sequences", "sequences of these transitions, if batches consist of sequences"
)
#: How the counters of one optimizer begin; the program's own name of it follows.
OPTIMIZER_STEPS: Final = "optimizer_steps:"
OPTIMIZER_NS: Final = "optimizer_ns:"
ITERATIONS: Final = _counter("iterations", "iterations", "rounds of rollout and learning")
LEARN_EVENTS: Final = _counter("learn_events", "calls", "learning events reported by a library")

GENERATE_CALLS: Final = _counter("generate_calls", "calls", "calls that generated completions")
GENERATE_UNCACHED: Final = _counter("generate_uncached", "calls", "of these, without a KV cache")
COMPLETIONS: Final = _counter("completions", "completions", "completions that were generated")
PROMPT_TOKENS: Final = _counter("prompt_tokens", "tokens", "tokens of their prompts")
TOKENS_GENERATED: Final = _counter("tokens_generated", "tokens", "tokens of these completions")
DECODE_SLOTS: Final = _counter(
    "decode_slots", "tokens", "completions times the longest of their batch: tokens and padding"
)
TOKENS_LEARNED: Final = _counter("tokens_learned", "tokens", "completion tokens in losses")
LEARN_SLOTS: Final = _counter(
    "learn_slots", "tokens", "completion tokens in losses, with their padding"
)
SEARCHES: Final = _counter("searches", "searches", "tree searches for a move")
SIMULATIONS: Final = _counter("simulations", "simulations", "simulations of these searches")
SEARCH_LEAVES: Final = _counter(
    "search_leaves", "positions", "positions that networks evaluated in searches"
)
GAMES: Final = _counter("games", "games", "games whose moves a tree search chose")
GENERATIONS: Final = _counter("generations", "generations", "populations that were tried")
INFERENCE_ROWS: Final = _counter(
    "inference_rows", "inputs", "inputs of forward passes that neither act nor learn"
)
GAP_NS: Final = _counter("gap_ns", "ns", "time of code between two events of the loop")

# -- counters: transfers between host and device, and between processes --

TRANSFERS: Final = _counter("transfers", "copies", "copies between host and device or library")
TRANSFER_BYTES: Final = _counter("transfer_bytes", "bytes", "bytes of these copies")
SYNCS: Final = _counter("syncs", "waits", "times that the host waited for the device")
PIPE_MESSAGES: Final = _counter("pipe_messages", "messages", "messages sent to other processes")
PIPE_BYTES: Final = _counter("pipe_bytes", "bytes", "bytes of these messages")
BACKWARD_COMM_S: Final = _counter(
    "backward_comm_s", "s", "time that backward passes waited for gradients to be reduced"
)
DDP_BACKWARD_S: Final = _counter(
    "ddp_backward_s", "s", "time that DDP computed the loss and backward passes, without reductions"
)
LOADED_ITEMS: Final = _counter("loaded_items", "items", "dataset items that a data loader fetched")

# -- counters: autograd and compilers --

ACTS_SEEN: Final = _counter("acts_seen", "calls", "inspected forward passes that choose an action")
ACTS_WITH_GRAPH: Final = _counter("acts_with_graph", "calls", "of these, those that built a graph")
ACT_GRAPHS_WATCHED: Final = _counter("act_graphs_watched", "graphs", "graphs watched for their use")
ACT_GRAPHS_USED: Final = _counter("act_graphs_used", "graphs", "of these, those used by a backward")
FORWARDS_WITH_GRAPH: Final = _counter(
    "forwards_with_graph", "calls", "inspected forward passes, of any kind, that built a graph"
)
AUTOCASTS: Final = _counter("autocasts", "calls", "uses of mixed precision")
TRACES: Final = _counter("traces", "traces", "functions traced by TensorFlow or JAX")
RETRACES: Final = _counter("retraces", "traces", "of these, functions that had been traced before")

# -- counters: expensive calls of the program --

PREDICT_CALLS: Final = _counter("predict_calls", "calls", "calls of Keras' `predict`")
PREDICT_ROWS: Final = _counter("predict_rows", "inputs", "inputs of these calls")
PREDICT_S: Final = _counter("predict_s", "s", "time in these calls")
GC_COLLECTS: Final = _counter("gc_collects", "calls", "calls of `gc.collect`")
GC_COLLECT_S: Final = _counter("gc_collect_s", "s", "time in these calls")
EMPTY_CACHES: Final = _counter("empty_caches", "calls", "calls of `torch.cuda.empty_cache`")
EMPTY_CACHE_S: Final = _counter("empty_cache_s", "s", "time in these calls")
LIST_TENSORS: Final = _counter("list_tensors", "calls", "tensors made from a list of arrays")
LIST_TENSOR_S: Final = _counter("list_tensor_s", "s", "time in these calls")
ALTERED_DELAY_US: Final = _counter("altered_delay_us", "us", "delay that `--slow` added")

# -- counters: the recording --

DAMAGED_VALUES: Final = _counter("damaged_values", "values", "counts that were not numbers")

#: Counted only while calls are measured; a report scales them like phases. All others are exact.
RESTED_COUNTERS: Final = frozenset(
    {
        TRANSFERS,
        TRANSFER_BYTES,
        SYNCS,
        PIPE_MESSAGES,
        PIPE_BYTES,
        AUTOCASTS,
        SEARCH_LEAVES,
        INFERENCE_ROWS,
    }
)

# -- gauges: hotloop's own cost --

STRETCHES: Final = _gauge("stretches", "flag", "whether only stretches were measured", MIN)
SAMPLER_NS: Final = _gauge("sampler_ns", "ns", "time that the sampler took from the program", SUM)
SAMPLER_CPU_S: Final = _gauge("sampler_cpu_s", "s", "CPU time of the sampler's thread so far")
SAMPLES_DROPPED: Final = _gauge(
    "samples_dropped", "samples", "samples of which no copy was whole so far"
)
HOOKS_NS: Final = _gauge("hooks_ns", "ns", "time that hooks measured of themselves", SUM)
DEVICE_NS: Final = _gauge("device_ns", "ns", "time that recording the device took", SUM)
RECORDER_NS: Final = _gauge("recorder_ns", "ns", "CPU time of the thread that writes", SUM)
GPU_SPENT_S: Final = _gauge("gpu_spent_s", "s", "time spent on recording the device so far")

# -- gauges: CPU and memory --

PROCESS_CPU_NS: Final = _gauge("process_cpu_ns", "ns", "CPU time of all threads", SUM)
MAIN_CPU_S: Final = _gauge("main_cpu_s", "s", "CPU time of the main thread so far")
MAIN_DELAY_S: Final = _gauge("main_delay_s", "s", "time the main thread waited for a core so far")
RUN_DELAY_S: Final = _gauge("run_delay_s", "s", "time all threads waited for a core so far")
STARTUP_CPU_S: Final = _gauge(
    "startup_cpu_s", "s", "CPU time of the main thread when the loop began"
)
STARTUP_DELAY_S: Final = _gauge(
    "startup_delay_s", "s", "time the main thread had waited for a core when the loop began"
)
THROTTLED_S: Final = _gauge("throttled_s", "s", "time that a CPU quota stopped the process so far")
THROTTLED_PERIODS: Final = _gauge("throttled_periods", "periods", "quota periods cut short so far")
QUOTA_PERIODS: Final = _gauge("quota_periods", "periods", "quota periods so far")
COMPILED_ENVS: Final = _gauge(
    "compiled_envs", "environments", "environments stepped at once inside a compiled loop"
)
RESIDENT: Final = _gauge("resident", "bytes", "resident memory")
RESIDENT_PEAK: Final = _gauge("resident_peak", "bytes", "largest resident memory", MAX)
MAJOR_FAULTS: Final = _gauge("major_faults", "faults", "page faults that read from disk so far")

# -- gauges: settings of the training --

LEARNING_STARTS: Final = _gauge("learning_starts", "steps", "steps before the first update")

# -- gauges: environments and replay buffers --

REWARDS_CHANGED: Final = _gauge(
    "rewards_changed",
    "flag",
    "whether wrappers change the rewards of environments in other processes",
)
ENVS: Final = _gauge("envs", "environments", "environments of a vector step")
ENVS_IN_TURN: Final = _gauge("envs_in_turn", "environments", "environments stepped one by one")
OBSERVATION_BYTES: Final = _gauge("observation_bytes", "bytes", "one observation")
LOADER_WORKERS: Final = _gauge("loader_workers", "processes", "worker processes of a data loader")
BUFFER_LENGTH: Final = _gauge("buffer_length", "transitions", "transitions in the replay buffer")
BUFFER_BYTES: Final = _gauge("buffer_bytes", "bytes", "replay buffer when it is full")
BUFFER_FLOAT_FRAME_BYTES: Final = _gauge(
    "buffer_float_frame_bytes", "bytes", "of that, image frames stored as floats"
)

# -- gauges: returns --

RETURN_RECENT: Final = _gauge("return_recent", "return", "mean return of the last 100 episodes")
RETURN_BEST: Final = _gauge("return_best", "return", "highest value of that mean so far", MAX)
RETURN_BEST_S: Final = _gauge("return_best_s", "s", "when that was reached, on the shard's clock")

# -- gauges: frameworks --

TORCH_THREADS: Final = _gauge("torch_threads", "threads", "threads of one torch operation")
GRAPHS_ALIVE: Final = _gauge("graphs_alive", "share", "watched graphs that are still alive")
SUBNORMALS: Final = _gauge("subnormals", "share", "subnormal numbers in weights")
SUBNORMAL_STATES: Final = _gauge("subnormal_states", "share", "the same in optimizer states")
ANOMALY_S: Final = _gauge("anomaly_s", "s", "time that anomaly mode was on so far")
ANOMALY_OWN_FRAMES: Final = _gauge("anomaly_own_frames", "frames", "hotloop's frames it records")
COMPILES: Final = _gauge("compiles", "compilations", "compilations by `torch.compile` so far")
COMPILE_S: Final = _gauge("compile_s", "s", "time of these compilations")
COMPILED_FUNCTIONS: Final = _gauge("compiled_functions", "functions", "functions compiled so far")

# -- gauges: the device --

GPU_ALLOCATED: Final = _gauge("gpu_allocated", "bytes", "device memory in tensors")
GPU_ALLOCATED_LOW: Final = _gauge("gpu_allocated_low", "bytes", "its smallest value", MIN)
GPU_RESERVED: Final = _gauge("gpu_reserved", "bytes", "device memory held by the allocator")
GPU_MEMORY: Final = _gauge("gpu_memory", "bytes", "largest memory in use on the card", MAX)
GPU_MEMORY_PEAK: Final = _gauge("gpu_memory_peak", "bytes", "the same (older captures)", MAX)
GPU_POWER_W: Final = _gauge("gpu_power_w", "W", "power draw of the card")
GPU_CLOCK_MHZ: Final = _gauge("gpu_clock_mhz", "MHz", "clock of the card")
GPU_BUSY_NS: Final = _gauge("gpu_busy_ns", "ns", "time that the card was busy", SUM)
GPU_STRETCHES: Final = _gauge("gpu_stretches", "recordings", "recordings of the device so far")
GPU_RECORDED_S: Final = _gauge("gpu_recorded_s", "s", "time covered by these recordings")

#: Gauges that describe one window alone; the writer removes them when it closes a window.
PER_WINDOW_GAUGES: Final = frozenset(n for n, gauge in GAUGES.items() if gauge.rule.per_window)


# -- kinds of calls whose source lines are noted (`Notes.places`) --

CALLS: Final[dict[str, str]] = {}


def _call(name: str, meaning: str) -> str:
    CALLS[name] = meaning
    return name


CALL_ACT_WITH_GRAPH: Final = _call("acts with a graph", "an action is chosen with a graph")
CALL_ANOMALY_MODE: Final = _call("anomaly mode", "autograd's anomaly mode is switched on")
CALL_AUTOCAST: Final = _call("autocast", "mixed precision is used")
CALL_EMPTY_CACHE: Final = _call("empty_cache", "`torch.cuda.empty_cache` is called")
CALL_GC_COLLECT: Final = _call("gc.collect", "`gc.collect` is called")
CALL_LIST_TENSOR: Final = _call("tensor of a list", "a tensor is made from a list of arrays")
CALL_PREDICT: Final = _call("predict", "Keras' `predict` is called")
CALL_RECOMPILED: Final = _call("recompiled", "`torch.compile` compiled a function again")
CALL_RETRACED: Final = _call("retracing call", "TensorFlow traced a function again")
CALL_TRANSFER: Final = _call("transfer", "data moves to or from the device (older captures)")


def _source_lines(value: object, damage: Damage) -> dict[str, list[SourceLine]]:
    if type(value) is dict:
        require("kind of call", value, CALLS)
    return table_of(list_of(source_line))(value, damage)


# -- the header --


class Header(Record):
    """The first line of a shard: the process and the machine."""

    hotloop = optional(text, "format and version of the capture")
    version = optional(text, "version of hotloop")
    role = optional(text, "name of the process in the run")
    pid = required(whole, 0, "process id")
    parent = optional(whole, "process id of the parent")
    host = required(text, "", "name of the machine")
    boot = optional(text, "boot of the machine: processes with the same one share a clock")
    command = rows(text, "command line of the program, secrets masked")
    python = optional(text, "version of Python")
    platform = optional(text, "operating system")
    machine = optional(text, "processor architecture")
    cores = optional(whole, "CPU cores that the process may use")
    native = optional(flag, "whether the native core was used")
    why_twin = optional(text, "why it was not")
    started = optional(number, "Unix time of the clock origin, in s")
    origin_ns = optional(whole, "clock origin on the monotonic clock, in ns")
    cost = optional(region_cost, "overhead of one region, as calibrated")
    functions = optional(text, "how functions were measured: samples, exact or off")
    samples_per_second = optional(number, "rate of the sampler")
    byteorder = optional(text, "byte order of a trace")


class End(Record):
    """The last line of a shard whose process was not killed."""

    reason = optional(text, "exit, or the name of the exception")
    code = optional(scalar, "exit code of the program")


# -- notes --


class Machine(Record):
    """The limits of the machine."""

    cores = optional(number, "CPU cores by affinity")
    quota_cores = optional(number, "CPU cores by the container's quota")
    memory_bytes = optional(number, "memory of the machine")
    memory_limit = optional(number, "memory limit of the container")
    accelerators = rows(text, "kinds of accelerators present: CUDA, ROCm, MPS")


class LibraryUse(Record):
    """A library in use."""

    version = optional(text, "its version")
    targets = optional(whole, "targets that were hooked", key="places")
    missing = rows(text, "targets that this version does not have")


class Network(Record):
    """The parameters of one optimizer."""

    library = optional(text, "torch or keras")
    optimizer = optional(text, "class of the optimizer")
    groups = optional(whole, "parameter groups")
    parameters = optional(number, "number of parameters")
    tensors = optional(whole, "number of tensors")
    convolutions = optional(number, "number of convolution kernels")
    device = optional(text, "where the parameters are")
    dtype = optional(text, "their type")


class TorchThreads(Record):
    torch = optional(number, "threads of one operation")
    torch_interop = optional(number, "threads between operations")


class TensorflowThreads(Record):
    intra_op = optional(number, "threads of one operation; 0 lets TensorFlow choose")
    inter_op = optional(number, "threads between operations; 0 lets TensorFlow choose")


class Gpu(Record):
    """The device in use."""

    name = required(text, "", "CUDA, ROCm or MPS")
    card = required(text, "", "model of the card")
    mode = required(text, "", "how device activity is recorded")
    memory_bytes = optional(whole, "memory of the card")
    visible = optional(whole, "devices that the process can use")
    remarks = rows(text, "what could not be measured")


class GrowingAttribute(Record):
    """A container of an environment that grows from episode to episode."""

    size = optional(number, "its last size")
    each_episode = optional(number, "growth per episode")
    in_steps = optional(number, "growth during steps")
    in_resets = optional(number, "growth during resets")


class SkippedPhase(Record):
    calls = required(whole, 0, "calls that were skipped")


class SlowedPhase(Record):
    by = optional(text, "the delay, as it was asked for")
    calls = required(whole, 0, "calls that were delayed")
    added_s = optional(number, "total delay")


class Altered(Record):
    """How `--skip` (with `--every`) and `--slow` changed the program."""

    skip = table(record(SkippedPhase), "skipped phases")
    slow = table(record(SlowedPhase), "delayed phases")


class Weights(Record):
    """The parameters that the program was training when it ended."""

    tensors = required(whole, 0, "trained tensors")
    digest = required(text, "", "digest of all of their bytes")
    norm = required(number, 0.0, "Euclidean norm of all of them")
    sketch = rows(number, "fixed random projections: close weights have close projections")


class ExactFunction(Record):
    """One function of `--functions exact`."""

    file = required(text, "", "its file")
    line = required(whole, 0, "its first line")
    function = required(text, "", "its name")
    calls = required(whole, 0, "calls")
    self_s = required(number, 0.0, "time in the function itself")
    total_s = required(number, 0.0, "time including what it calls")


class ContentionNote(Record):
    """CPU time that other programs took from a baseline run."""

    marks = rows(pair_of(number, number), "time of day, and time waited for a core so far")
    due_to_others = required(number, 0.0, "share of the waiting that other programs caused")


#: Among the functions of `Notes.recurrences`, where a slice of what came of them is given.
SLICE: Final = ":"


class Notes(Record):
    """Facts that become known during the run."""

    # the command
    stop_after = optional(text, "limit of `--stop-after`")
    stop_reached = optional(flag, "whether that limit ended the run")
    altered = optional(record(Altered), "changes by `--skip`, `--every` and `--slow`")
    fixes = table(whole, "run-time fixes of `--fix`, and how often each took effect")
    weights = optional(record(Weights), "parameters at the end of a run of `--weights`")
    started_as = rows(text, "the words after `hotloop run` that name the program")
    started_in = optional(text, "the folder that it was started in")
    own_package = optional(
        text, "the installed package that is run as the program: its folder or file"
    )
    # the machine and the libraries
    machine = part(Machine, "cores, memory, accelerators")
    libraries = table(record(LibraryUse), "libraries in use, by title")
    threads = part(TorchThreads, "threads of torch")
    tensorflow_threads = part(TensorflowThreads, "threads of TensorFlow")
    torch_build = optional(text, "what torch is built for: cuda, rocm, mps or cpu")
    device = optional(text, "device of the largest network")
    networks = rows(record(Network), "networks of torch")
    keras_networks = rows(record(Network), "networks of Keras")
    gpu = optional(record(Gpu), "the device in use")
    gpu_failure = optional(text, "why the device could not be watched")
    # phases
    rested = rows(text, "phases that were measured in stretches only, see gauge `stretches`")
    categories = table(text, "category of each phase")
    recognised = table(text, "how a phase was recognized: inferred or shape")
    shapes = table(list_of(text), "functions recognized as a phase, as module:function")
    gap_lines = table(list_of(text), "lines of gaps that nothing identifies, by their name")
    silent_loops = table(
        list_of(text),
        "gap: its inferred phase, and lines of loops whose names do not show it",
    )
    by_priority = rows(text, "recognized buffers with priorities")
    named_phases = table(whole, "functions that each pattern of `--phase` matched")
    # the program
    lines = table(table_of(line_calls), "calls of source lines, by file and line")
    loops = table(
        table_of(pair_of(whole, whole)),
        "loops around such lines, by file and first line: last line, whether they pick by index",
    )
    recurrences = table(
        table_of(list_of(text)), "functions that receive their own results, by file and line"
    )
    polls = table(list_of(pair_of(whole, whole)), "first and last lines of a file's polling loops")
    running_sums = table(
        list_of(pair_of(whole, whole)), "first and last lines of loops that draw by weight"
    )
    places: Field[dict[str, list[SourceLine]]] = Field(
        _source_lines, dict, "source lines of expensive calls, by kind of call", updates=True
    )
    transfer_lines = rows(transfer_line, "source lines that cause the most transfers")
    env_growth = table(record(GrowingAttribute), "containers of environments that grow")
    exact_functions = rows(record(ExactFunction), "functions with the most cumulative time")
    # memory, by phase or path
    memory_peaks = table(pair_of(number, number), "peak and growth of traced memory, in bytes")
    gpu_memory_peaks = table(number, "peak of allocated device memory, in bytes")
    gpu_sampled_peaks = table(pair_of(whole, whole), "sampled peaks: allocated, reserved, in bytes")
    # messages to the user
    sampling_limits = optional(text, "limits of the samples of functions, as a sentence")
    remarks = rows(text, "remarks for the report")
    failures = table(scalar, "hooks that failed, and their error")
    waited_for = table(number, "seconds that the process waited for others, by their kind")
    # added when a capture is read or kept
    trains_in = optional(text, "the process that trains, if the main one only started it")
    trains_beside = rows(text, "processes that train at the same time")
    contention = optional(record(ContentionNote), "time that other programs took from a baseline")
