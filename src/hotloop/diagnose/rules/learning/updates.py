"""Causes inside a gradient step: the optimizer, target networks, distributions, recurrence."""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    Match,
    callers,
    calls_of,
    finding,
    in_package,
    inner_lines,
    largest_phase,
    memory_limit,
    of_loop,
    program_line,
    samples_under,
    seconds_in,
    use_by,
    use_of,
    uses,
    without_drivers,
)
from hotloop.diagnose.finding import HIGH, INFO, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import LEARNING, at, called_at, loop_key, networks
from hotloop.diagnose.rules.frameworks.accelerators import on_device

#: Rules of this family find nothing below this share of the loop.
SMALLEST_PART = 0.02

# -- optimizers --

#: Measured on the CPU (torch 2.13, one thread, 6 to 40 tensors, least of five): `fused=True` takes
#: 60 to 83% off a step of Adam or AdamW written tensor by tensor, 58 to 72% off `foreach`. SGD
#: gains nothing, and RMSprop has no fused kernel.
FUSED_WINS = (0.55, 0.83)
FOREACH_WINS = (0.5, 0.72)
#: Plain Adam, as in every tutorial, is not a mistake: a smaller share is only mentioned.
LOUD_OPTIMIZER = 0.12
#: On a GPU a tensor at a time launches a dozen kernels for each: an H200 spent 52% of a loop on 390
#: tensors, and nearly all of it went away. `foreach` launches a dozen kernels for all tensors.
DEVICE_FUSED_WINS = (0.8, 0.98)
DEVICE_FOREACH_WINS = (0.3, 0.75)
_FUSES = in_package("torch/optim/adam", "torch/optim/adamw")


def unfused_optimizer(analysis: Analysis) -> list[Finding]:
    """Adam updates its tensors in Python, operation by operation."""
    device = on_device(analysis)
    samples = samples_under(analysis)
    single = use_of(samples, lambda f: f.function.startswith("_single_tensor_") and _FUSES(f))
    multi = use_of(samples, lambda f: f.function.startswith("_multi_tensor_") and _FUSES(f))
    sampled = single.seconds + multi.seconds
    # Where the loop waits for a device, it may wait inside the optimizer for what others launched.
    seconds = min(sampled, seconds_in(analysis, "learn.optimizer")) if device else sampled
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    wins = (DEVICE_FUSED_WINS, DEVICE_FOREACH_WINS) if device else (FUSED_WINS, FOREACH_WINS)
    low, high = (
        (single.seconds * one + multi.seconds * each) / sampled
        for one, each in zip(*wins, strict=True)
    )
    larger = single if single.seconds >= multi.seconds else multi
    lines = larger.where()
    name = "AdamW" if "adamw" in (larger.largest() or ("", ""))[0] else "Adam"
    how = "one tensor at a time" if larger is single else "with `foreach`"
    before, after = _optimizer_examples(analysis, name)
    return [
        finding(
            analysis,
            "unfused-optimizer",
            title=f"{name} updates the weights {how}, a dozen operations each: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="learn.optimizer",
            seconds=seconds,
            saves=(low, high),
            confidence=HIGH,
            severity=INFO if of_loop(analysis, seconds) < LOUD_OPTIMIZER else None,
            where=lines,
            evidence={"single_tensor_s": single.seconds, "foreach_s": multi.seconds},
            fix="`fused=True` runs the whole step in one kernel, also on the CPU. It needs torch "
            "2.4 or newer and floating-point parameters.",
            before=before,
            after=after,
            learning="Results differ in the last digits.",
        )
    ]


def _optimizer_examples(analysis: Analysis, name: str) -> tuple[str, str]:
    if uses(analysis, "Stable-Baselines3"):
        kwargs = 'policy_kwargs={"optimizer_kwargs": {"fused": True}}'
        return 'PPO("MlpPolicy", env)', f'PPO("MlpPolicy", env, {kwargs})'
    made = f"torch.optim.{name}(net.parameters(), lr=lr"
    return f"{made})", f"{made}, fused=True)"


# -- precision --

#: Weights below which a network's calls, and not its arithmetic, take the time.
WIDE = 100_000
#: Twice the bytes and half the numbers per vector instruction. With two critics and an actor of 512
#: units, half of the time went away.
HALVED_WINS = (0.2, 0.53)
#: Phases in which a network computes.
_COMPUTES = ("policy.act", "inference", *LEARNING)


def float64_by_accident(analysis: Analysis) -> list[Finding]:
    """Networks compute in double precision, as NumPy's arrays have it by default."""
    known = [each for each in networks(analysis) if each.parameters]
    double = [each.parameters or 0.0 for each in known if each.dtype == "float64"]
    weights = max(double, default=0.0)
    if 2 * sum(double) <= sum(each.parameters or 0.0 for each in known):
        return []  # acting and learning are mostly about other networks
    seconds = seconds_in(analysis, *_COMPUTES)
    if weights < WIDE or on_device(analysis) or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "float64-by-accident",
            title=f"Networks compute in float64, the largest with {weights:,.0f} weights: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="learn",
            seconds=seconds,
            saves=HALVED_WINS,
            confidence=MEDIUM,
            where=callers(analysis, "learn.forward"),
            evidence={"parameters": weights},
            fix="NumPy makes float64 arrays, torch float32 weights: `.double()` or "
            "`set_default_dtype` hides the difference at twice the cost. Keep networks in float32 "
            "and convert observations where they are stored.",
            before="torch.set_default_dtype(torch.float64)",
            after="obs = obs.astype(np.float32)",
            learning="Sums have 7 digits instead of 16, which makes no difference to "
            "reinforcement learning. A simulator that needs float64 can keep it.",
        )
    ]


# -- distributions --

#: What validation takes is gone without it; only the test for whether it is on remains.
VALIDATION_WINS = (0.85, 1.0)
#: It is torch's default, and some programs want it: a smaller share is only mentioned.
LOUD_VALIDATION = 0.06
_CHECKS = in_package("torch/distributions/constraints")
#: The base class's constructor checks every argument; `log_prob` and `cdf` check the sample.
_VALIDATES = in_package("torch/distributions/distribution")
_VALIDATING = frozenset({"__init__", "_validate_sample"})


def distribution_validation(analysis: Analysis) -> list[Finding]:
    """torch's distributions check their arguments at every construction and `log_prob`."""
    use = use_of(samples_under(analysis), _validates)
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "distribution-validation",
            title="torch.distributions validates its arguments at every call"
            f"{at(without_drivers(analysis, use.where()))}: "
            f"{of_loop(analysis, use.seconds):.0%} of the loop",
            phase=_largest_phase(analysis, _validates),
            seconds=use.seconds,
            saves=VALIDATION_WINS,
            confidence=HIGH,
            severity=INFO if of_loop(analysis, use.seconds) < LOUD_VALIDATION else None,
            where=use.where(),
            fix="Switch validation off once the program works: it evaluates a comparison and a "
            "reduction over every parameter and sample.",
            before="import torch",
            after="import torch\ntorch.distributions.Distribution.set_default_validate_args(False)",
            learning="Invalid parameters (NaN logits, negative scales) no longer raise.",
        )
    ]


def _validates(frame: Frame) -> bool:
    name = frame.short
    return _CHECKS(frame) or (name in _VALIDATING and _VALIDATES(frame))


def _largest_phase(analysis: Analysis, match: Match) -> str:
    in_phases = [sample for sample in samples_under(analysis) if sample.path]
    return largest_phase(s for s in in_phases if any(map(match, s.frames))) or "policy.act"


# -- target networks --

#: Measured like the optimizer: `torch._foreach_lerp_` takes 94 to 98% off a loop of `copy_`, 68 to
#: 85% off one that already uses `lerp_`.
TARGET_WINS = (0.75, 0.97)
#: What a line calls to blend one tensor into another.
_BLENDS = frozenset({"copy_", "lerp_", "mul_", "add_"})
#: What the loop around it walks over.
_WALKS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "zip", "items"})


#: Keras' copies of all weights, measured for two small networks on the CPU: 80% less time with
#: variables that are assigned inside a `tf.function`, no less with the same assignments outside.
KERAS_WINS = (0.6, 0.85)
_IN_KERAS = in_package("keras")


def target_update_loop(analysis: Analysis) -> list[Finding]:
    """A target network follows its network by way of Python."""
    return _tensor_by_tensor(analysis) or _through_arrays(analysis)


def _tensor_by_tensor(analysis: Analysis) -> list[Finding]:
    """A Python loop over the tensors of both networks."""
    use = use_by(samples_under(analysis), lambda sample: _blending_line(analysis, sample))
    seconds = max(use.seconds, seconds_in(analysis, "learn.target") if use.lines else 0.0)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "target-update-loop",
            title=f"The target network is updated tensor by tensor{at(use.where())}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="learn.target",
            seconds=seconds,
            saves=TARGET_WINS,
            confidence=HIGH,
            where=use.where(),
            fix="Each tensor costs several calls into torch. A single `torch._foreach_lerp_` "
            "over lists that are built once updates all of them.",
            before="for t, p in zip(target.parameters(), net.parameters()):\n"
            "    t.data.copy_(tau * p.data + (1 - tau) * t.data)",
            after="targets, sources = list(target.parameters()), list(net.parameters())  # once\n"
            "with torch.no_grad():\n    torch._foreach_lerp_(targets, sources, tau)",
            learning="Results differ in the last digits.",
        )
    ]


def _through_arrays(analysis: Analysis) -> list[Finding]:
    """Keras' weights are taken out as arrays and put back."""
    if not uses(analysis, "TensorFlow"):
        return []
    updating = [s for s in samples_under(analysis) if not _NOT_TARGETS & set(s.phases)]
    use = use_of(updating, _moves_weights)
    seconds = max(use.seconds, seconds_in(analysis, "learn.target") if use.lines else 0.0)
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "target-update-loop",
            title=f"The target network's weights go through NumPy arrays{at(use.where())}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="learn.target",
            seconds=seconds,
            saves=KERAS_WINS,
            confidence=HIGH,
            where=use.where(),
            fix="`get_weights` and `set_weights` copy every tensor to the host and back. "
            "Assign the variables inside one `tf.function`; outside one, assigning them "
            "takes just as long.",
            before="target.set_weights([tau * w + (1 - tau) * t for w, t in …])",
            after="@tf.function\ndef follow():\n    for t, w in zip(target.variables, "
            "net.variables):\n        t.assign(tau * w + (1 - tau) * t)",
            learning="Results differ in the last digits.",
        )
    ]


#: Phases in which weights are copied for another purpose.
_NOT_TARGETS = frozenset({"checkpoint", "evaluate", "startup", "sync.weights"})


def _moves_weights(frame: Frame) -> bool:
    return frame.function.endswith(("get_weights", "set_weights")) and _IN_KERAS(frame)


def _blending_line(analysis: Analysis, sample: Sample) -> SourceLine | None:
    """The program's line, in a loop over a network's tensors, that this sample is about."""
    line = sample.line
    if line is None:
        return None
    called = called_at(analysis, line)
    loop = called.loop_line
    if loop == line.line:  # the loop's own line: `for t, p in zip(a.parameters(), …)`
        blends = _loop_calls(analysis, line.file, loop, _BLENDS)
        return line if "parameters" in called.short and blends else None
    if not loop or not called.short & _BLENDS:
        return None
    header = called_at(analysis, SourceLine(line.file, loop, line.function))
    return line if not header.names or header.short & _WALKS else None


def _loop_calls(analysis: Analysis, file: str, loop: int, wanted: frozenset[str]) -> bool:
    """Whether a line inside this loop calls one of these functions."""
    return any(
        calls.loop_line == loop and calls.short & wanted
        for calls in analysis.notes.lines.get(file, {}).values()
    )


# -- recurrence --

#: Measured (LSTM, forward and backward, one thread): one call over the sequence takes 43% (20
#: steps of 32 rows, 128 wide) to 89% (100 steps of 4 rows, 64 wide) off a loop over timesteps.
SEQUENCE_WINS = (0.4, 0.9)
#: On a GPU cuDNN runs the sequence in a few kernels: 94% off for 48 steps of 256 rows on an H200.
DEVICE_SEQUENCE_WINS = (0.6, 0.97)
_RECURRENT = in_package("torch/nn/modules/rnn")
#: What learns from a graph that is already built.
_BUILT = frozenset({"learn.backward", "learn.optimizer", "learn.target"})
#: What an imagined rollout does next depends on its last state: it has to go step by step.
_IMAGINED = "imagine"
#: A loop that also does this goes over minibatches, not over timesteps.
_UPDATES = frozenset({"backward", "step", "zero_grad", "train_step", "update"})


#: Backward passes for each update from which on several losses have one each, and of those it is
#: not known which go through the loop over timesteps.
SEVERAL_PASSES = 1.5


def stepwise_recurrence(analysis: Analysis) -> list[Finding]:
    """While learning, a recurrent network is called once for each timestep."""
    passes = [s for s in samples_under(analysis, *LEARNING) if not _BUILT & set(s.phases)]
    built = [sample for sample in passes if _IMAGINED not in sample.phases]
    loops = {loop_key(analysis, _stepping_line(analysis, sample)) for sample in built} - {None}

    def looping(sample: Sample) -> SourceLine | Frame | None:
        # Slicing, heads and lists in the same loop go away with it.
        inside = (frame for frame in sample.own if loop_key(analysis, frame) in loops)
        return _stepping_line(analysis, sample) or next(inside, None)

    use = use_by(built, looping)
    if not use.seconds or of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    # The backward pass retraces every timestep as well.
    whole = seconds_of(built)
    backward = seconds_in(analysis, "learn.backward")
    backward *= whole / seconds_of(passes)
    part = min(use.seconds / whole, 1.0) if whole else 0.0
    # At least in proportion to the forward pass. At most wholly, where there is one pass for each
    # update: what is not in the loop over timesteps is a few nodes of a graph of thousands.
    surely = use.seconds + part * backward
    several = calls_of(analysis, "learn.backward") >= SEVERAL_PASSES * analysis.run.gradient_steps
    seconds = surely if analysis.run.gradient_steps and several else use.seconds + backward
    low, high = DEVICE_SEQUENCE_WINS if on_device(analysis) else SEQUENCE_WINS
    low *= surely / seconds
    return [
        finding(
            analysis,
            "stepwise-recurrence",
            title="The recurrent network learns one timestep per call"
            f"{at(use.where())}: {of_loop(analysis, seconds):.0%} of the loop",
            phase="learn.forward",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM,
            where=use.where(),
            evidence={"forward_s": use.seconds, "backward_s": backward},
            fix="During learning, the whole sequence is known: pass it to `nn.LSTM` or "
            "`nn.GRU` in one call, split where episodes end, and apply the surrounding "
            "layers to all timesteps at once. Only acting has to proceed step by step.",
            before="for t in range(len(sequence)):\n    h = self.cell(sequence[t], h)",
            after="out, h = self.rnn(sequence, h)      # (time, batch, features)",
        )
    ]


def _stepping_line(analysis: Analysis, sample: Sample) -> SourceLine | None:
    """The line of a loop over timesteps that calls a recurrent layer in this sample."""
    inner = next((i for i, f in enumerate(sample.frames) if _RECURRENT(f)), None)
    line = program_line(sample.frames[inner:]) if inner is not None else None
    if line is None:
        return None
    loop = called_at(analysis, line).loop_line
    return line if loop and not _loop_calls(analysis, line.file, loop, _UPDATES) else None


# -- recomputation --

#: What is computed a second time goes away whole; more memory costs a little in the caches.
RECOMPUTE_WINS = (0.75, 1.0)
#: Share of memory that a run may use at its peak and still have room for activations.
ROOMY = 0.5
_CHECKPOINTS = in_package("torch/utils/checkpoint")
_BACKWARD = in_package("torch/autograd/graph", "torch/autograd/__init__")


def checkpointing_with_memory_to_spare(analysis: Analysis) -> list[Finding]:
    """Backward passes repeat forward passes to save memory that is not scarce."""
    repeated = [s for s in samples_under(analysis, "learn.backward") if _is_recomputing(s)]
    seconds = seconds_of(repeated)
    limit, peak_mb = memory_limit(analysis), analysis.run.memory_peak_mb
    if of_loop(analysis, seconds) < SMALLEST_PART or not limit or not peak_mb:
        return []
    used = peak_mb * 1e6 / limit
    if used > ROOMY:
        return []
    transformers = uses(analysis, "Transformers")
    return [
        finding(
            analysis,
            "checkpointing-with-memory-to-spare",
            title="Gradient checkpointing repeats forward passes: "
            f"{of_loop(analysis, seconds):.0%} of the loop, and memory peaks at {used:.0%} of what "
            "there is",
            phase="learn.backward",
            seconds=seconds,
            saves=RECOMPUTE_WINS,
            confidence=MEDIUM,
            where=_checkpointing_lines(analysis) or inner_lines(repeated),
            evidence={"peak_share_of_memory": used},
            fix="Checkpointing trades time for memory. While memory is free, keep the activations: "
            "switch it off, or checkpoint fewer layers.",
            before="GRPOConfig(gradient_checkpointing=True)"
            if transformers
            else "x = checkpoint(layer, x)",
            after="GRPOConfig(gradient_checkpointing=False)" if transformers else "x = layer(x)",
        )
    ]


def _checkpointing_lines(analysis: Analysis) -> list[SourceLine]:
    """The lines of the program that call `checkpoint`, as forward passes were seen in them."""
    found = (
        frame.source_line
        for sample in samples_under(analysis, "learn.forward")
        for frame in sample.own
        if "checkpoint" in called_at(analysis, frame).short
    )
    return list(dict.fromkeys(found))[:3]


def _is_recomputing(sample: Sample) -> bool:
    """Whether a checkpoint computes its forward pass again, not the gradients after it."""
    for frame in sample.frames:
        if _CHECKPOINTS(frame) or _BACKWARD(frame):
            return _CHECKPOINTS(frame)
    return False


RULES: tuple[Rule, ...] = (
    unfused_optimizer,
    float64_by_accident,
    distribution_validation,
    target_update_loop,
    stepwise_recurrence,
    checkpointing_with_memory_to_spare,
)
