"""Fixes in how a program calls PyTorch."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

from hotloop.hooks.fixes.runtime import Applied, RuntimeFix
from hotloop.hooks.protocols import Foreign, Function

#: Optimizers with a fused implementation.
_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
#: Positional arguments of `DataLoader.__init__`, `self` left out, before `num_workers`, and before
#: `pin_memory`.
_BEFORE_WORKERS, _BEFORE_PIN_MEMORY = 6, 8


def _flush_denormals(applied: Applied, torch: ModuleType) -> None:
    if torch.set_flush_denormal(True):
        applied.took_effect()
        applied.never(torch, "set_flush_denormal", True)


def _anomaly_off(applied: Applied, torch: ModuleType) -> None:
    def set_anomaly_enabled(original: Function, mode: bool, check_nan: bool = True) -> None:
        if mode:
            applied.took_effect()
        original(False, False)

    applied.instead(torch, "set_anomaly_enabled", set_anomaly_enabled)


def _one_array(applied: Applied, torch: ModuleType) -> None:
    """Join a list of arrays with NumPy before it becomes a tensor."""

    def joined(data: object) -> object:
        numpy = sys.modules.get("numpy")
        if (
            numpy is not None
            and isinstance(data, (list, tuple))
            and len(data) > 1
            and isinstance(data[0], numpy.ndarray)
            and data[0].ndim
        ):
            applied.took_effect()
            return numpy.asarray(data)
        return data

    def make(original: Function) -> Function:
        return lambda data, *args, **kwargs: original(joined(data), *args, **kwargs)

    for name in ("tensor", "as_tensor"):
        applied.redirect(torch, name, make)
    for name in ("FloatTensor", "LongTensor", "BoolTensor"):
        applied.substitute(torch, name, _JoinedType(getattr(torch, name), joined))


class _JoinedType:
    """A tensor type such as `torch.FloatTensor`, whose lists of arrays are joined first."""

    def __init__(self, kind: Foreign, joined: Function) -> None:
        self._kind = kind
        self._joined = joined

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or isinstance(args[0], int):
            return self._kind(*args, **kwargs)
        data = self._joined(args[0])
        if data is args[0]:
            return self._kind(data, **kwargs)
        return sys.modules["torch"].as_tensor(data, dtype=self._kind.dtype)

    def __getattr__(self, name: str) -> object:
        return getattr(self._kind, name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._kind)


def _fused_optimizer(applied: Applied, optim: ModuleType) -> None:
    """One kernel for all parameters, unless the program has chosen another way."""

    def init(original: Function, self: Any, params: Any, *args: Any, **kwargs: Any) -> None:
        params = list(params)
        if not any(kwargs.get(name) for name in ("fused", "foreach", "differentiable")):
            try:
                original(self, params, *args, **{**kwargs, "fused": True})
            except (RuntimeError, TypeError):
                pass  # parameters that no fused kernel takes
            else:
                applied.took_effect()
                return
        original(self, params, *args, **kwargs)

    for name in _FUSED:
        if hasattr(optim, name):
            applied.instead(getattr(optim, name), "__init__", init)


def _no_validation(applied: Applied, distributions: ModuleType) -> None:
    distributions.Distribution.set_default_validate_args(False)
    applied.took_effect()


def _eager(applied: Applied, torch: ModuleType) -> None:
    """Leave functions as they are instead of compiling them."""

    def compile(original: Function, model: object = None, **kwargs: object) -> object:
        if model is None:
            return lambda function: compile(original, function, **kwargs)
        applied.took_effect()
        return model

    applied.instead(torch, "compile", compile)


def _dynamic_shapes(applied: Applied, torch: ModuleType) -> None:
    applied.pass_on(torch, "compile", lambda args, kwargs: {"dynamic": True})


def _full_precision(applied: Applied, torch: ModuleType) -> None:
    """Autocast and its gradient scaler switched off."""

    def make(original: Function) -> Function:
        signature = inspect.signature(original)

        def init(*args: object, **kwargs: object) -> None:
            given = signature.bind(*args, **kwargs)  # it may be a positional argument
            given.arguments["enabled"] = False
            applied.took_effect()
            original(*given.args, **given.kwargs)

        return init

    applied.redirect(torch.autocast, "__init__", make)
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        applied.redirect(torch.amp.GradScaler, "__init__", make)


def _tf32(applied: Applied, torch: ModuleType) -> None:
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    applied.took_effect()


def _pinned(applied: Applied, data: ModuleType) -> None:
    def pinned(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = "pin_memory" in kwargs or len(args) > _BEFORE_PIN_MEMORY
        return {} if given else {"pin_memory": True}

    applied.pass_on(data.DataLoader, "__init__", pinned)


def _loader_workers(applied: Applied, data: ModuleType) -> None:
    def more(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        enough = (kwargs.get("num_workers") or 0) >= applied.number
        if len(args) > _BEFORE_WORKERS or enough:
            return {}
        return {"num_workers": applied.number, "persistent_workers": True}

    applied.pass_on(data.DataLoader, "__init__", more)


def _persistent_workers(applied: Applied, data: ModuleType) -> None:
    """Loader workers stay between epochs."""

    def persistent(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        workers = (*args[_BEFORE_WORKERS : _BEFORE_WORKERS + 1], kwargs.get("num_workers"))
        stay = not any(workers) or kwargs.get("persistent_workers")
        return {} if stay else {"persistent_workers": True}

    applied.pass_on(data.DataLoader, "__init__", persistent)


def _no_recomputation(applied: Applied, checkpoint: ModuleType) -> None:
    """Keep activations instead of computing them again in the backward pass."""
    ours = ("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state")

    def call(_: Function, function: Function, *args: object, **kwargs: object) -> object:
        applied.took_effect()
        return function(*args, **{k: v for k, v in kwargs.items() if k not in ours})

    applied.instead(checkpoint, "checkpoint", call)


def _foreach_polyak(applied: Applied, utils: ModuleType) -> None:
    """Stable-Baselines3's soft target update in two calls instead of two per parameter."""
    torch = sys.modules["torch"]

    def polyak_update(original: Function, params: Any, target_params: Any, tau: float) -> None:
        ours, targets = list(params), list(target_params)
        if not ours or len(ours) != len(targets):
            original(ours, targets, tau)
            return
        applied.took_effect()
        with torch.no_grad():
            torch._foreach_mul_(targets, 1 - tau)
            torch._foreach_add_(targets, ours, alpha=tau)

    applied.instead(utils, "polyak_update", polyak_update)


FIXES = {
    "flush-denormals": RuntimeFix(_flush_denormals, ("torch",)),
    "anomaly-off": RuntimeFix(_anomaly_off, ("torch",)),
    "one-array": RuntimeFix(_one_array, ("torch",)),
    "fused-optimizer": RuntimeFix(_fused_optimizer, ("torch.optim",)),
    "no-validation": RuntimeFix(_no_validation, ("torch.distributions",)),
    "eager": RuntimeFix(_eager, ("torch",)),
    "dynamic-shapes": RuntimeFix(_dynamic_shapes, ("torch",)),
    "full-precision": RuntimeFix(_full_precision, ("torch",)),
    "tf32": RuntimeFix(_tf32, ("torch",)),
    "pinned-memory": RuntimeFix(_pinned, ("torch.utils.data",)),
    "loader-workers": RuntimeFix(_loader_workers, ("torch.utils.data",), takes_number=True),
    "persistent-workers": RuntimeFix(_persistent_workers, ("torch.utils.data",)),
    "no-recomputation": RuntimeFix(_no_recomputation, ("torch.utils.checkpoint",)),
    "foreach-target": RuntimeFix(_foreach_polyak, ("stable_baselines3.common.utils",)),
}
