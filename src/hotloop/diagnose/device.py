"""Causes in how an accelerator is used: not at all, for too little, in too small pieces.

Rests on `analyze.device` (kernel time and launches by phase, from recordings) and `analyze.bounds`
(what the host's time went into), on the driver's own figure where nothing was recorded, and on the
`transfer` phase with its counters. Without an accelerator in the notes nothing here speaks; nor
does a rule without its figures.
"""

from __future__ import annotations

from hotloop.analyze.device import kernel_seconds, launches_in
from hotloop.analyze.model import Analysis
from hotloop.diagnose.evidence import (
    callers,
    finding,
    note,
    number,
    of_loop,
    phases_named,
    seconds_in,
    where,
)
from hotloop.diagnose.finding import LOW, MEDIUM, Finding, Place, Rule
from hotloop.diagnose.recorded import (
    LEARNING,
    NETWORKS,
    at,
    counted,
    networks,
    parameters,
    places_of,
)

#: Below this share of the loop no rule of this family speaks.
SMALLEST_PART = 0.02

#: Floating-point operations of one core, from small matrices to large ones (measured 64e9).
CORE_FLOPS = (2e10, 1e11)
#: A gradient step of a small network on one core: what Python and torch take without arithmetic.
#: Slow hosts of fast devices take most: 1.7 ms in a small PPO on the host of an H200.
CPU_STEP_S = (2.5e-3, 0.3e-3)
#: A call that acts, likewise: 0.35 ms there.
CPU_ACT_S = (0.5e-3, 0.04e-3)
#: What a gradient step takes on a device at least, launched operation by operation.
DEVICE_STEP_S = (4e-3, 1.2e-3)
#: What devices compute in networks of this size, far below what their makers print.
DEVICE_FLOPS = (3e12, 3e13)


def accelerators(analysis: Analysis) -> list[str]:
    """Accelerators that the machine showed; empty where that was not recorded."""
    found = note(analysis, "machine", "accelerators")
    return [str(each) for each in found] if isinstance(found, list) else []


def device_of(analysis: Analysis) -> str | None:
    """Where the largest network's parameters are; None where that was not seen."""
    known = [row for row in networks(analysis) if isinstance(row.get("device"), str)]
    if not known:
        # Without an optimizer no network was seen; a device in use was.
        return analysis.run.device if analysis.device is not None else None
    return str(max(known, key=lambda row: number(row.get("parameters")) or 0.0)["device"])


def busy_share(analysis: Analysis) -> float | None:
    """How busy the device was in the loop; None where nobody could say.

    Kernel time from recordings counts first: the driver's figure is the share of moments at which
    some kernel ran, which many tiny kernels make look high.
    """
    if analysis.device is not None and analysis.device.kernel_share is not None:
        return analysis.device.kernel_share
    known = [w for w in analysis.loop_windows if "gpu_busy_ns" in w.gauges]
    seconds = sum(window.seconds for window in known)
    busy = sum(window.gauges["gpu_busy_ns"] for window in known) / 1e9
    return min(busy / seconds, 1.0) if seconds > 0 else None


def _on_device(analysis: Analysis) -> bool:
    device = device_of(analysis)
    return bool(accelerators(analysis)) and device is not None and device != "cpu"


def _flops(analysis: Analysis) -> float | None:
    """Floating-point operations of a gradient step of dense layers: 6 a weight and row."""
    size, batch = parameters(analysis), analysis.run.batch_size
    return 6 * size * batch if size and batch else None


def _has_convolutions(analysis: Analysis) -> bool:
    return any(row.get("convolutions") for row in networks(analysis))


# -- not used --

#: Below this a gradient step is over before a device has been told of it.
WORTH_A_DEVICE_S = 10e-3


def device_unused(analysis: Analysis) -> list[Finding]:
    """There is an accelerator, and a network that is worth it computes on the processor."""
    seen = accelerators(analysis)
    updates, seconds = counted(analysis, "gradient_steps"), seconds_in(analysis, *LEARNING)
    if not seen or device_of(analysis) != "cpu" or not updates:
        return []
    each, flops = seconds / updates, _flops(analysis)
    if flops is None or each < WORTH_A_DEVICE_S or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    if not _has_convolutions(analysis) and flops / CORE_FLOPS[1] < WORTH_A_DEVICE_S / 4:
        return []  # slow for another reason than its arithmetic
    flops = max(flops, each * CORE_FLOPS[0]) if _has_convolutions(analysis) else flops
    low, high = (
        1 - (launch + flops / speed) / each
        for launch, speed in zip(DEVICE_STEP_S, DEVICE_FLOPS, strict=True)
    )
    if low <= 0:
        return []
    build = note(analysis, "torch_build")
    why, fix = _why_unused(seen[0], build)
    return [
        finding(
            analysis,
            "device-unused",
            title=f"A {seen[0]} device is idle while the network computes on the processor: "
            f"{1e3 * each:.0f} ms a gradient step, {of_loop(analysis, seconds):.0%} of the "
            f"loop{why}",
            phase="learn",
            seconds=seconds,
            low=low,
            high=high,
            confidence=LOW if _has_convolutions(analysis) else MEDIUM,
            where=callers(analysis, *LEARNING),
            evidence={"accelerators": seen, "build": build, "step_s": each, "flops": flops},
            fix=fix,
            before="model = Policy()",
            after=f'device = torch.device("{_torch_name(seen[0])}")\nmodel = Policy().to(device)',
            learning="Sums are added in another order: results differ in the last digits.",
        )
    ]


def _torch_name(kind: str) -> str:
    return "mps" if kind == "MPS" else "cuda"


def _why_unused(kind: str, build: object) -> tuple[str, str]:
    fits = {"CUDA": "cuda", "ROCm": "rocm", "MPS": "mps"}.get(kind)
    if isinstance(build, str) and build != fits:
        return (
            f"; this torch is built for {build} only",
            f"This torch cannot use the device: install a build for {kind} (`hotloop doctor` "
            "says what is missing), then move the network and its batches there.",
        )
    return (
        "",
        "Move the network, and each batch as it is sampled, to the device. Libraries have an "
        "option for it (`device=` in Stable-Baselines3). Keep acting on few rows in mind: a "
        "call of a device takes about a third of a millisecond.",
    )


# -- too little work --

#: A device that computes less than this is waiting for its host.
HARDLY_BUSY = 0.30


def small_work_on_gpu(analysis: Analysis) -> list[Finding]:
    """The network is so small that the processor alone would be faster."""
    busy, flops = busy_share(analysis), _flops(analysis)
    updates = counted(analysis, "gradient_steps")
    if not _on_device(analysis) or busy is None or flops is None or not updates:
        return []
    if busy >= HARDLY_BUSY or _has_convolutions(analysis):
        return []
    seconds = seconds_in(analysis, *NETWORKS, "transfer")
    acts = sum(p.calls for p in analysis.phases if p.name == "policy.act" and p.process == "main")
    low, high = (
        1 - (updates * (step + flops / speed) + acts * act) / seconds if seconds else 0.0
        for step, speed, act in zip(CPU_STEP_S, CORE_FLOPS, CPU_ACT_S, strict=True)
    )
    low = _certain(analysis, seconds, updates * flops / CORE_FLOPS[0], low)
    if low <= 0 or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    size = parameters(analysis) or 0
    return [
        finding(
            analysis,
            "small-work-on-gpu",
            title=f"The device is busy {busy:.0%} of the time: a network of {size:,.0f} "
            f"parameters with {analysis.run.batch_size:.0f} rows is too little work for it",
            phase="learn",
            seconds=seconds,
            low=low,
            high=high,
            confidence=MEDIUM,
            where=callers(analysis, *NETWORKS),
            evidence={"gpu_busy": busy, "parameters": size, "flops": flops},
            fix="Each operation costs microseconds to launch and almost nothing to compute. Train "
            "on the processor with one or two threads, or give the device more at once: larger "
            "batches, more environments.",
            before='model = PPO("MlpPolicy", env, device="cuda")',
            after='model = PPO("MlpPolicy", env, device="cpu")',
            learning="Moving to the processor changes the last digits; a larger batch changes the "
            "learning itself.",
        )
    ]


def _certain(analysis: Analysis, seconds: float, arithmetic_s: float, guess: float) -> float:
    """The share of the networks' time that goes away for certain on the processor.

    Calls that launch, copy and wait do; what Python and the framework take around them may stay as
    it is, and the arithmetic is then the processor's. Not more than a machine like ours would win.
    """
    if analysis.device is None or analysis.device.kernel_share is None:
        return guess
    gone = 0.0
    for phase in phases_named(analysis, *NETWORKS, "transfer"):
        bound = analysis.bounds.get(phase.path)
        if bound is not None:
            gone += (bound.launching + bound.moving + bound.kernels) * phase.self_s
    return min((gone - arithmetic_s) / seconds, guess) if seconds > 0 else guess


# -- too small pieces --

#: More launches in a gradient step than this is worth recording as one graph.
MANY_LAUNCHES = 50
#: How much of the time in which the device waits for launches goes away with compiled code or
#: graphs (LeanRL: 1,022 to 6,809 frames a second).
LAUNCH_WINS = (0.45, 0.85)


def launch_bound(analysis: Analysis) -> list[Finding]:
    """The device waits for the next small kernel most of the time."""
    kernels = kernel_seconds(analysis, *LEARNING)
    launches = launches_in(analysis, *LEARNING)
    updates, seconds = counted(analysis, "gradient_steps"), seconds_in(analysis, *LEARNING)
    if not _on_device(analysis) or not (kernels and launches and updates and seconds):
        return []
    busy = min(kernels / seconds, 1.0)
    if busy >= HARDLY_BUSY or launches / updates < MANY_LAUNCHES:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "launch-bound",
            title=f"{launches / updates:.0f} kernels are launched for each gradient step and "
            f"compute {busy:.0%} of its time: the device waits for the host",
            phase="learn",
            seconds=seconds * (1 - busy),
            low=LAUNCH_WINS[0],
            high=LAUNCH_WINS[1],
            confidence=MEDIUM,
            where=callers(analysis, *LEARNING),
            evidence={"launches_per_update": launches / updates, "kernel_share": busy},
            fix="Launching takes longer than computing. Let torch join the operations "
            '(`torch.compile(update, mode="reduce-overhead")` records CUDA graphs), use fused '
            "optimizers, and take Python out of the update.",
            before="loss = update(batch)",
            after='update = torch.compile(update, mode="reduce-overhead")   # once\n'
            "loss = update(batch)",
            learning="Joined operations round differently in the last digits.",
        )
    ]


# -- waits and copies --

#: Less than this on average is a number that Python wanted to see, not data.
SMALL_TRANSFER_BYTES = 512
#: Reads a step that are more than one look at the loss.
FEW_READS = 1.0
#: A read waits for work that has to be done anyway: the catalogue has 5 to 7% of a run, and once
#: half of an optimizer step.
SYNC_WINS = (0.25, 0.8)
#: Copies themselves go away, and with them the waits; the catalogue's case won half of the run.
COPY_WINS = (0.5, 0.95)


def waits_and_copies(analysis: Analysis) -> list[Finding]:
    """Values are read from the device, or data goes to the host and back, all the time."""
    transfers, syncs = counted(analysis, "transfers"), counted(analysis, "syncs")
    size, seconds = counted(analysis, "transfer_bytes"), seconds_in(analysis, "transfer")
    turns = max(counted(analysis, "gradient_steps"), counted(analysis, "iterations"))
    turns = max(turns, sum(p.calls for p in analysis.phases if p.name == "env.step"))
    if not _on_device(analysis) or not transfers or not turns:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    places = _lines(analysis) or places_of(analysis, "transfer") or where(analysis, "transfer")
    if size / transfers <= SMALL_TRANSFER_BYTES:
        return _sync_per_step(analysis, syncs / turns, seconds, places)
    return _host_transfers(analysis, transfers / turns, size / turns, seconds, places)


def _lines(analysis: Analysis) -> list[Place]:
    """Lines of the program that move or read the most, as they were counted."""
    rows = note(analysis, "transfer_lines")
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, list) and len(row) == 7 and isinstance(row[1], int):
            found.append(Place(str(row[0]), row[1], str(row[2])))
    return found[:3]


def _sync_per_step(
    analysis: Analysis, each: float, seconds: float, places: list[Place]
) -> list[Finding]:
    if each < FEW_READS:
        return []
    return [
        finding(
            analysis,
            "sync-per-step",
            title=f"Python reads {each:.1f} values from the device in each step{at(places)} and "
            f"waits for it: {of_loop(analysis, seconds):.0%} of the loop",
            phase="transfer",
            seconds=seconds,
            low=SYNC_WINS[0],
            high=SYNC_WINS[1],
            confidence=LOW,
            where=places,
            evidence={"syncs_per_step": each},
            fix="Every `.item()` stops the host until the device is done, so that it cannot "
            "prepare what comes next. Add values up on the device and read them once every "
            "hundred steps.",
            before="log(loss.item())",
            after="total += loss.detach()\nif step % 100 == 0:\n    log(total.item() / 100)",
        )
    ]


def _host_transfers(
    analysis: Analysis, each: float, size: float, seconds: float, places: list[Place]
) -> list[Finding]:
    if each < FEW_READS:
        return []
    return [
        finding(
            analysis,
            "host-transfers",
            title=f"{each:.1f} copies ({size / 1e3:.0f} kB) go between host and device in each "
            f"step{at(places)}: {of_loop(analysis, seconds):.0%} of the loop",
            phase="transfer",
            seconds=seconds,
            low=COPY_WINS[0],
            high=COPY_WINS[1],
            confidence=MEDIUM,
            where=places,
            evidence={"transfers_per_step": each, "bytes_per_step": size},
            fix="Keep what the device needs on the device: observations of a device's simulator, "
            "the replay buffer, the statistics. Where data comes from the host, move a whole "
            "batch at once from pinned memory.",
            before="for i in range(n):\n    buffer.add(obs[i].cpu().numpy())",
            after="buffer.add(obs)            # one tensor that stays on the device",
        )
    ]


# -- mixed precision --

#: What casting to and fro costs on a device that is hardly busy.
CASTING_WINS = (0.03, 0.20)
#: Above this, half precision may well be what keeps the device's work short.
HALF_BUSY = 0.40


def mixed_precision_no_gain(analysis: Analysis) -> list[Finding]:
    """Autocast is on, but the device is not what the run waits for."""
    busy, casts = busy_share(analysis), counted(analysis, "autocasts")
    if not _on_device(analysis) or busy is None or not casts or busy >= HALF_BUSY:
        return []
    seconds = seconds_in(analysis, *LEARNING)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "mixed-precision-no-gain",
            title=f"Mixed precision is on while the device is busy only {busy:.0%} of the time: "
            "its casts cost more than they save",
            phase="learn",
            seconds=seconds,
            low=CASTING_WINS[0],
            high=CASTING_WINS[1],
            confidence=LOW,
            where=places_of(analysis, "autocast") or callers(analysis, *LEARNING),
            evidence={"autocasts": casts, "gpu_busy": busy},
            fix="Half precision shortens kernels; here the host's launches are what takes the "
            "time, and each cast is one more. Leave it out until the device is the bottleneck.",
            before='with torch.autocast("cuda"):\n    loss = compute_loss(batch)',
            after="loss = compute_loss(batch)",
            learning="Full precision is what the algorithm was written for.",
        )
    ]


RULES: tuple[Rule, ...] = (
    device_unused,
    small_work_on_gpu,
    launch_bound,
    waits_and_copies,
    mixed_precision_no_gain,
)


def rules(analysis: Analysis) -> list[Finding]:
    """The findings of this family."""
    return [each for rule in RULES for each in rule(analysis)]
