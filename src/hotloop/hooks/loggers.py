"""What programs write down while they train: TensorBoard, Weights & Biases, databases.

One table for all of them: a place whose library is not there is never asked for. `print` and
`logging` are left alone: they are everywhere, and mostly not what a training run waits for.
"""

from __future__ import annotations

from hotloop.hooks import vocabulary as v
from hotloop.hooks.table import Library, Place

_ADD = v.words_set(
    "add_scalar add_scalars add_histogram add_histogram_raw add_image add_images "
    "add_image_with_boxes add_figure add_video add_audio add_text add_graph add_embedding "
    "add_pr_curve add_mesh add_hparams add_custom_scalars add_tensor flush close"
)


def _writer(module: str) -> tuple[Place, ...]:
    """Both writers have the same methods, give or take some."""
    return tuple(
        Place(module, f"SummaryWriter.{name}", "log", outermost=True, optional=name != "add_scalar")
        for name in sorted(_ADD)
    )


def _run(name: str) -> Place:
    # `wandb.log` is the current run's method, bound anew by each `wandb.init`.
    return Place(
        "wandb.sdk.wandb_run", f"Run.{name}", "log", outermost=True, optional=name != "log"
    )


TENSORBOARD = Library(
    title="TensorBoard",
    distribution="tensorboard",
    places=_writer("torch.utils.tensorboard.writer"),
)

TENSORBOARDX = Library(
    title="tensorboardX",
    distribution="tensorboardX",
    places=_writer("tensorboardX.writer"),
)

WANDB = Library(
    title="Weights & Biases",
    distribution="wandb",
    places=(
        _run("log"),
        _run("log_artifact"),
        _run("log_code"),
        _run("save"),
        _run("finish"),
        Place("wandb", "init", "log", outermost=True, optional=True),
    ),
)
