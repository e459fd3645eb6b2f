"""Causes in how an accelerator computes: not at all, too little, in pieces or with a precision
that do not suit it.

The figures come from `analyze.device_use` (kernel time and launches by phase, from recordings),
`analyze.bounds` (what the host's time went into), and the driver where nothing was recorded. A
rule finds nothing without its figures, or without an accelerator in the notes.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotloop import units
from hotloop.analyze.device_use import kernel_seconds, launches_in
from hotloop.analyze.model import Analysis
from hotloop.capture import schema
from hotloop.diagnose.evidence import (
    callers,
    finding,
    of_loop,
    phases_named,
    seconds_in,
    where,
)
from hotloop.diagnose.finding import LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import (
    LEARNING,
    NETWORKS,
    counted,
    lines_of,
    networks,
    parameters,
)
from hotloop.phases import is_unidentified

#: Rules of this family find nothing below this share of the loop.
SMALLEST_PART = 0.02

#: Floating-point operations of one core, from small matrices to large ones (measured 64e9).
CORE_FLOPS = (2e10, 1e11)
#: Overhead of Python and torch in a gradient step of a small network on one core.
#: Slow hosts of fast devices take most: 1.7 ms in a small PPO on the host of an H200.
CPU_STEP_S = (2.5e-3, 0.3e-3)
#: A call that acts, likewise: 0.35 ms there.
CPU_ACT_S = (0.5e-3, 0.04e-3)
#: What a gradient step takes on a device at least, launched operation by operation.
DEVICE_STEP_S = (4e-3, 1.2e-3)
#: A call that acts, likewise (0.35 ms with its copies on an H200).
DEVICE_ACT_S = (1e-3, 0.3e-3)
#: Floating-point rate of devices in networks of this size, far below the vendors' figures.
DEVICE_FLOPS = (3e12, 3e13)


def accelerators(analysis: Analysis) -> list[str]:
    """Accelerators that the machine showed; empty where that was not recorded."""
    return analysis.notes.machine.accelerators


def device_of(analysis: Analysis) -> str | None:
    """Where the largest network's parameters are; None where that was not seen."""
    known = [each for each in networks(analysis) if each.device]
    if not known:
        # Without an optimizer no network was seen; a device in use was.
        return analysis.run.device if analysis.device is not None else None
    return max(known, key=lambda network: network.parameters or 0.0).device


def busy_share(analysis: Analysis) -> float | None:
    """How busy the device was in the loop; None if unknown.

    Kernel time from recordings counts first: the driver's figure is the share of moments at which
    some kernel ran, which many tiny kernels make look high.
    """
    if analysis.device is not None and analysis.device.kernel_share is not None:
        return analysis.device.kernel_share
    known = [w for w in analysis.loop_windows if schema.GPU_BUSY_NS in w.gauges]
    seconds = sum(window.seconds for window in known)
    busy = sum(window.gauges[schema.GPU_BUSY_NS] for window in known) / 1e9
    return min(busy / seconds, 1.0) if seconds > 0 else None


def on_device(analysis: Analysis) -> bool:
    """Whether the network runs on an accelerator."""
    device = device_of(analysis)
    return bool(accelerators(analysis)) and device is not None and device != "cpu"


def _flops(analysis: Analysis) -> float | None:
    """Floating-point operations of a gradient step of dense layers: 6 per weight and row."""
    size, batch = parameters(analysis), analysis.run.batch_size
    return 6 * size * batch if size and batch else None


def _has_convolutions(analysis: Analysis) -> bool:
    return any(each.convolutions for each in networks(analysis))


# -- not used --

#: Below this a gradient step is over before a device has received it.
WORTH_A_DEVICE_S = 10e-3


def device_unused(analysis: Analysis) -> list[Finding]:
    """A network that is large enough for the accelerator runs on the CPU."""
    seen = accelerators(analysis)
    updates, seconds = counted(analysis, schema.GRADIENT_STEPS), seconds_in(analysis, *LEARNING)
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
    acting = _acting_that_moves(analysis)
    low, high = (
        (seconds * learned + acting.total * acted) / (seconds + acting.total)
        for learned, acted in ((low, acting.low), (high, acting.high))
    )
    build = analysis.notes.torch_build
    why, fix = _why_unused(seen[0], build)
    return [
        finding(
            analysis,
            "device-unused",
            title=f"A {seen[0]} device is idle while the network runs on the CPU: "
            f"{units.seconds(each)} per gradient step, {of_loop(analysis, seconds):.0%} of the "
            f"loop{why}",
            phase="learn",
            seconds=seconds + acting.total,
            saves=(low, high),
            confidence=LOW if _has_convolutions(analysis) else MEDIUM,
            where=callers(analysis, *LEARNING),
            evidence={"accelerators": seen, "build": build, "step_s": each, "flops": flops},
            fix=fix,
            before="model = Policy()",
            after=f'device = torch.device("{_torch_name(seen[0])}")\nmodel = Policy().to(device)',
            learning="Summation order changes: results differ in the last digits.",
        )
    ]


@dataclass(frozen=True)
class _Acting:
    """Seconds of acting that get faster on a device, and the part of them that goes away."""

    total: float = 0.0
    low: float = 0.0
    high: float = 0.0


def _acting_that_moves(analysis: Analysis) -> _Acting:
    """Acting moves with the network: calls on large batches get faster, the others slower."""
    acts = phases_named(analysis, "policy.act")
    calls, seconds = sum(p.calls for p in acts), sum(p.total_s for p in acts)
    if not calls or seconds / calls <= DEVICE_ACT_S[0]:
        return _Acting()
    low, high = (1 - least / (seconds / calls) for least in DEVICE_ACT_S)
    return _Acting(seconds, low, high)


def _torch_name(kind: str) -> str:
    return "mps" if kind == "MPS" else "cuda"


def _why_unused(kind: str, build: str | None) -> tuple[str, str]:
    fits = {"CUDA": "cuda", "ROCm": "rocm", "MPS": "mps"}.get(kind)
    if build is not None and build != fits:
        return (
            f"; this torch is built for {build} only",
            f"This build of torch cannot use the device. Install a build for {kind} (`hotloop "
            "doctor` says what is missing), then move the network and its batches there.",
        )
    return (
        "",
        "Move the network, and each batch as it is sampled, to the device. Libraries have an "
        "option for it (`device=` in Stable-Baselines3). Acting on a few observations at a time "
        "gets slower: a forward pass on a device takes at least about a third of a millisecond.",
    )


# -- too little work --

#: A device that computes less than this is waiting for its host.
HARDLY_BUSY = 0.30


def small_work_on_gpu(analysis: Analysis) -> list[Finding]:
    """The network is so small that the CPU alone would be faster."""
    busy, flops = busy_share(analysis), _flops(analysis)
    updates = counted(analysis, schema.GRADIENT_STEPS)
    if not on_device(analysis) or busy is None or flops is None or not updates:
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
            f"parameters with batch size {analysis.run.batch_size:.0f} is too little work for it",
            phase="learn",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM,
            where=callers(analysis, *NETWORKS),
            evidence={"gpu_busy": busy, "parameters": size, "flops": flops},
            fix="Each operation costs microseconds to launch and almost nothing to compute. Train "
            "on the CPU with one or two threads, or give the device more work per call: larger "
            "batches, more environments.",
            before='model = PPO("MlpPolicy", env, device="cuda")',
            after='model = PPO("MlpPolicy", env, device="cpu")',
            learning="Moving to the CPU changes the last digits; a larger batch changes the "
            "learning itself.",
        )
    ]


def _certain(analysis: Analysis, seconds: float, arithmetic_s: float, guess: float) -> float:
    """The share of the networks' time that is certainly saved on the CPU.

    Calls that launch, copy and wait do. What Python and the framework take around them may stay,
    and the CPU then does the arithmetic.
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

#: More launches in a gradient step, or in a call of another phase, than this is worth recording
#: as one graph.
MANY_LAUNCHES = 50
#: Host time of one launch at most, with the code of Python and torch around it. On the host of an
#: H200 it was 9 µs in an elementwise simulator and 25 µs in a small DQN; what takes longer is other
#: work.
LAUNCH_S = 40e-6
#: How much of the time in which the device waits for launches goes away with compiled code or
#: graphs (LeanRL: 1,022 to 6,809 frames per second, 0.85; one operation on all of a tensor instead
#: of a loop over its parts on an H200: 0.9).
LAUNCH_WINS = (0.45, 0.92)


@dataclass(frozen=True)
class _Launching:
    """Code that launches kernels: phases, and how often they run."""

    names: tuple[str, ...]
    #: "gradient step", or a call of the phase.
    unit: str
    runs: float
    seconds: float
    kernels_s: float
    launches: float

    @property
    def busy(self) -> float:
        return min(self.kernels_s / self.seconds, 1.0)

    @property
    def late_s(self) -> float:
        """Time in which the device waits for these launches."""
        return min(self.seconds * (1 - self.busy), self.launches * LAUNCH_S)

    @property
    def in_pieces(self) -> bool:
        return self.busy < HARDLY_BUSY and self.launches / self.runs >= MANY_LAUNCHES


def _launching(analysis: Analysis) -> list[_Launching]:
    """Learning as a whole, and each other phase that launches kernels."""
    updates = counted(analysis, schema.GRADIENT_STEPS)
    groups: list[tuple[tuple[str, ...], str, float]] = [(LEARNING, "gradient step", updates)]
    others = dict.fromkeys(p.name for p in analysis.phases if p.process == "main")
    for name in others:
        if name not in LEARNING and not is_unidentified(name):
            calls = sum(p.calls for p in phases_named(analysis, name))
            groups.append(((name,), f"call of `{name}`", calls))
    found = []
    for names, unit, runs in groups:
        seconds = seconds_in(analysis, *names)
        kernels, launches = kernel_seconds(analysis, *names), launches_in(analysis, *names)
        if runs and seconds and kernels and launches:
            found.append(_Launching(names, unit, runs, seconds, kernels, launches))
    return found


def launch_bound(analysis: Analysis) -> list[Finding]:
    """Most of the time the device waits for the next small kernel."""
    groups = [each for each in _launching(analysis) if each.in_pieces]
    if not on_device(analysis) or not groups:
        return []
    most = max(each.late_s for each in groups)
    # Phases nest: of those that hold nearly all of it, the innermost says where.
    worst = min((g for g in groups if g.late_s >= 0.8 * most), key=lambda each: each.seconds)
    if of_loop(analysis, worst.late_s) < SMALLEST_PART:
        return []
    learning = worst.names == LEARNING
    called = "update(batch)" if learning else "step(state)"
    name = called.partition("(")[0]
    return [
        finding(
            analysis,
            "launch-bound",
            title=f"{units.count(worst.launches / worst.runs)} kernels are launched for each "
            f"{worst.unit} and compute {worst.busy:.0%} of its time: the device waits for the host",
            phase="learn" if learning else worst.names[0],
            seconds=worst.late_s,
            saves=LAUNCH_WINS,
            confidence=MEDIUM,
            where=callers(analysis, *worst.names) if learning else where(analysis, *worst.names),
            evidence={
                "launches_per_run": worst.launches / worst.runs,
                "kernel_share": worst.busy,
            },
            fix="Launching takes longer than computing. Let torch fuse the operations "
            f'(`torch.compile({name}, mode="reduce-overhead")` records CUDA graphs), '
            + (
                "use fused optimizers, and call a recurrent network once per sequence, not once "
                "per timestep."
                if learning
                else "and replace a Python loop over parts of a tensor by one operation on all of "
                "it."
            ),
            before=f"result = {called}",
            after=f'{name} = torch.compile({name}, mode="reduce-overhead")   # once\n'
            f"result = {called}",
            learning="Fused operations round differently in the last digits.",
        )
    ]


# -- mixed precision --

#: What casts cost on a device that is mostly idle.
CASTING_WINS = (0.03, 0.20)
#: Above this, half precision may well be what keeps the device's work short.
HALF_BUSY = 0.40


def mixed_precision_no_gain(analysis: Analysis) -> list[Finding]:
    """Autocast is on, but the loop does not wait for the device."""
    busy, casts = busy_share(analysis), counted(analysis, schema.AUTOCASTS)
    if casts and device_of(analysis) == "cpu":
        return _casts_on_cpu(analysis, casts)
    if not on_device(analysis) or busy is None or not casts or busy >= HALF_BUSY:
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
            saves=CASTING_WINS,
            confidence=LOW,
            where=lines_of(analysis, schema.CALL_AUTOCAST) or callers(analysis, *LEARNING),
            evidence={"autocasts": casts, "gpu_busy": busy},
            fix="Half precision shortens kernels, but here the time goes to launching them, "
            "and every cast is one more launch. Switch it off until the device is the "
            "bottleneck.",
            before='with torch.autocast("cuda"):\n    loss = compute_loss(batch)',
            after="loss = compute_loss(batch)",
            learning="Full precision is what the algorithm was written for.",
        )
    ]


#: With fewer floating-point operations per gradient step than this, casting takes longer on a CPU
#: than it saves. Measured (AMD server CPU, one thread, one pair of runs): a network of 10,000
#: parameters with 64 rows makes 1.5 times as many steps per second without autocast.
FEW_FLOPS = 1e9
#: What casting costs of the time in networks, from large layers to small ones.
CPU_CASTING_WINS = (0.2, 0.55)


def _casts_on_cpu(analysis: Analysis, casts: float) -> list[Finding]:
    """Autocast on a CPU, around a network whose operations are too small to gain from it."""
    work, seconds = _flops(analysis), seconds_in(analysis, *NETWORKS)
    if work is None or work > FEW_FLOPS or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "mixed-precision-no-gain",
            title="Mixed precision is on, but the network is small and runs on the CPU: its casts "
            f"are part of the {of_loop(analysis, seconds):.0%} of the loop in networks",
            phase="learn",
            seconds=seconds,
            saves=CPU_CASTING_WINS,
            confidence=MEDIUM,
            where=lines_of(analysis, schema.CALL_AUTOCAST) or callers(analysis, *LEARNING),
            evidence={"autocasts": casts},
            fix="Every weight and every input is converted in every pass, which takes longer than "
            "the small matrix products that follow. Switch autocast off on the CPU.",
            before='with torch.autocast("cpu", dtype=torch.bfloat16):\n'
            "    loss = compute_loss(batch)",
            after="loss = compute_loss(batch)",
            learning="Full precision is what the algorithm was written for.",
        )
    ]


# -- TF32 --

#: Below this share of the loop, faster matrix products are not worth another rounding.
SMALLEST_FLOAT32 = 0.10
#: How much of a float32 matrix product TF32 saves. Consumer cards double their speed; an
#: H200 takes a tenth of the time for products of 4,096 by 4,096.
TF32_WINS = (0.4, 0.95)


def tf32_off(analysis: Analysis) -> list[Finding]:
    """The loop waits for float32 matrix products that tensor cores could do."""
    use = analysis.device
    if not on_device(analysis) or use is None or not use.kernel_s:
        return []
    known = [each for each in use.phases if each.kernel_s > 0]
    seconds = sum(each.awaited_s * each.float32_s / each.kernel_s for each in known)
    if of_loop(analysis, seconds) < SMALLEST_FLOAT32:
        return []
    share = sum(each.float32_s for each in known) / use.kernel_s
    return [
        finding(
            analysis,
            "tf32-off",
            title=f"The loop spends {of_loop(analysis, seconds):.0%} of its time waiting for "
            "float32 matrix products that do not use the tensor cores",
            phase="learn",
            seconds=seconds,
            saves=TF32_WINS,
            confidence=MEDIUM,
            where=callers(analysis, *NETWORKS),
            evidence={"float32_kernel_share": share},
            fix="Allow TF32: inputs of matrix products are rounded to 10 bits of mantissa, "
            "sums stay in float32. NVIDIA GPUs since Ampere then use their tensor cores. "
            "bfloat16 through `torch.autocast` goes further.",
            before="# torch's default: float32 matrix products at full precision",
            after='torch.set_float32_matmul_precision("high")   # once, before training',
            learning="Matrix products round to about three digits; most agents learn the same.",
        )
    ]


RULES: tuple[Rule, ...] = (
    device_unused,
    small_work_on_gpu,
    launch_bound,
    tf32_off,
    mixed_precision_no_gain,
)
