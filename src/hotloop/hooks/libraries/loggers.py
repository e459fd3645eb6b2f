"""What programs log while they train: TensorBoard, tensorboardX, Weights & Biases.

`print` and `logging` are not hooked: they are called everywhere, and rarely slow training down.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, once

_ADD = (
    "add_scalar add_scalars add_histogram add_histogram_raw add_image add_images "
    "add_image_with_boxes add_figure add_video add_audio add_text add_graph add_embedding "
    "add_pr_curve add_mesh add_hparams add_custom_scalars add_tensor flush close"
)


def _writer(module: str) -> tuple[Target, ...]:
    """Both writers have nearly the same methods."""
    return tuple(
        once(module, f"SummaryWriter.{name}", "log", optional=name != "add_scalar")
        for name in sorted(_ADD.split())
    )


def _run(name: str) -> Target:
    # `wandb.log` is the current run's method, bound again by each `wandb.init`.
    return once("wandb.sdk.wandb_run", f"Run.{name}", "log", optional=name != "log")


def tensorboard(_: HookContext) -> Library:
    """The table of TensorBoard, as torch writes it."""
    return Library("TensorBoard", "tensorboard", _writer("torch.utils.tensorboard.writer"))


def tensorboardx(_: HookContext) -> Library:
    """The table of tensorboardX."""
    return Library("tensorboardX", "tensorboardX", _writer("tensorboardX.writer"))


def wandb(_: HookContext) -> Library:
    """The table of Weights & Biases."""
    methods = ("log", "log_artifact", "log_code", "save", "finish")
    init = once("wandb", "init", "log", optional=True)
    return Library("Weights & Biases", "wandb", (*map(_run, methods), init))
