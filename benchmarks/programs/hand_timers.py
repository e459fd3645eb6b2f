"""Timers around the phases of a training, as people write them by hand into a program or a library.

Nothing here is hotloop's: it is the reference that hotloop's figures are compared with, and a peer
whose cost is measured. A phase's time is that of its outermost call, what it calls included. The
loop reaches from the first phase's begin to the last one's end. As in hotloop's own words, what a
network computes is `learn.forward`, and from there to the backward pass it is `learn.loss`.
"""

import functools
import json
from time import perf_counter

LOSS_ENDS = ("learn.forward", "learn.optimizer", "learn.backward")

totals = {}
_open = []
_begins = {}
_first = _last = 0.0
_loss_since = 0.0


def enter(name):
    global _first, _loss_since
    now = perf_counter()
    _first = _first or now
    if _loss_since:
        if name in LOSS_ENDS:
            totals["learn.loss"] = totals.get("learn.loss", 0.0) + now - _loss_since
        _loss_since = 0.0
    if name not in _begins:
        _begins[name] = now
        _open.append(name)
    else:
        _open.append(None)


def leave():
    global _last, _loss_since
    name = _open.pop()
    if name is None:
        return
    now = _last = perf_counter()
    totals[name] = totals.get(name, 0.0) + now - _begins.pop(name)
    if name == "learn.forward":
        _loss_since = now


def around(owner, attribute, name, inside=None, outside=None):
    """Time every call of `owner.attribute`, or only those inside or outside another phase."""
    original = getattr(owner, attribute)

    @functools.wraps(original)
    def timed(*args, **kwargs):
        if (inside and inside not in _begins) or outside in _begins:
            return original(*args, **kwargs)
        enter(name)
        try:
            return original(*args, **kwargs)
        finally:
            leave()

    setattr(owner, attribute, timed)


def around_torch(optimizer):
    """The gradient step of a program on torch."""
    import torch

    around(torch.Tensor, "backward", "learn.backward")
    around(optimizer, "zero_grad", "learn.optimizer")
    around(torch.nn.utils, "clip_grad_norm_", "learn.optimizer")
    around(optimizer, "step", "learn.optimizer")


def around_on_policy(model):
    """An on-policy algorithm of Stable-Baselines3."""
    buffer = model.rollout_buffer
    around(model, "collect_rollouts", "collect")
    around(model.get_env(), "step", "env.step")
    around(type(model.policy), "__call__", "policy.act")
    around(model.policy, "predict_values", "policy.act")
    around(buffer, "add", "buffer.add")
    around(buffer, "compute_returns_and_advantage", "advantage")
    around(model, "train", "learn")
    around(buffer, "swap_and_flatten", "buffer.sample")
    around(buffer, "_get_samples", "buffer.sample")
    around(model.policy, "evaluate_actions", "learn.forward")
    around_torch(model.policy.optimizer)


def around_off_policy(model):
    """DQN of Stable-Baselines3."""
    around(model, "collect_rollouts", "collect")
    around(model.get_env(), "step", "env.step")
    around(model, "_sample_action", "policy.act")
    around(model, "_store_transition", "buffer.add")
    around(model, "train", "learn")
    around(model.replay_buffer, "sample", "buffer.sample")
    around(type(model.q_net), "__call__", "learn.forward", inside="learn")
    around_torch(model.policy.optimizer)


def show():
    """Print what was measured, in seconds."""
    print("timers " + json.dumps({"loop": _last - _first, "phases": totals}), flush=True)
