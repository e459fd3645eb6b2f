"""JAX's operations outside `jax.jit`."""

from __future__ import annotations

import pytest
from analyses import Make, frame, ids, phase, sample

from hotloop.diagnose.rules.frameworks.dispatch import missing_jit

JAX = "/venv/lib/python3.11/site-packages/jax"
NOTES = {"libraries": {"JAX": {}}}
UPDATE, TRAIN = frame("update", line=12), frame("train", line=30)
BIND = frame("Primitive.bind", f"{JAX}/_src/core.py")


def test_operations_one_by_one_are_found_at_the_line_that_calls_them(make: Make) -> None:
    samples = [sample("", 4.0, BIND, UPDATE, TRAIN), sample("", 6.0, TRAIN)]
    (found,) = missing_jit(make(phase("learn", 4.0), samples=samples, notes=NOTES))
    assert (found.id, found.where[0].line) == ("missing-jit", 12)
    assert found.gain.low > 1.2


@pytest.mark.parametrize(
    ("path", "frames"),
    [
        ("jax.update", (TRAIN,)),  # a jitted call: no frames of JAX
        ("compile", (BIND, TRAIN)),
        ("wait", (frame("block_until_ready", f"{JAX}/_src/api.py"), TRAIN)),
        ("", (frame("ArrayImpl.__array__", f"{JAX}/_src/array.py"), TRAIN)),
        ("", (frame("asarray", f"{JAX}/_src/numpy/array_constructors.py"), TRAIN)),
        ("", (BIND, frame("_pjit_call_impl", f"{JAX}/_src/pjit.py"), TRAIN)),
        ("", (BIND, frame("learn", "/venv/lib/python3.11/site-packages/sbx/ppo.py"), TRAIN)),
        ("", (frame("f", "/venv/lib/python3.11/site-packages/optax/update.py"),)),
    ],
)
def test_what_else_jax_does_is_not(make: Make, path: str, frames: tuple[object, ...]) -> None:
    samples = [sample(path, 9.0, *frames)]  # type: ignore[arg-type]
    assert ids(missing_jit(make(phase("learn", 1.0), samples=samples, notes=NOTES))) == []


def test_operations_that_are_compiled_for_each_new_shape(make: Make) -> None:
    apply = frame("apply_primitive", f"{JAX}/_src/dispatch.py")
    samples = [
        sample("jax.unstack/compile", 4.0, BIND, apply, frame("main", line=98)),
        sample("", 1.0, BIND, frame("main", line=98)),
        sample("", 5.0, TRAIN),
    ]
    (found,) = missing_jit(make(phase("learn", 5.0), samples=samples, notes=NOTES))
    assert found.id == "missing-jit"
    assert "compiles operations outside `jax.jit` again and again" in found.title
    # The update and the policy may be jitted already.
    assert "function that chooses actions" not in found.fix
    assert [place.line for place in found.where] == [98]


def test_without_jax_nothing_is_said(make: Make) -> None:
    assert missing_jit(make(samples=[sample("", 9.0, BIND, TRAIN)])) == []
