"""Which argument of a JAX function is a batch: parameters and keys are pytrees as well."""

from __future__ import annotations

import sys

from hotloop.hooks.inference.networks import batch_size_of
from hotloop.hooks.protocols import Foreign


def batch_argument(args: tuple[Foreign, ...]) -> int:
    """The argument whose arrays share a first dimension: parameters and keys do not."""
    best, most = -1, (0, False)
    for index, value in enumerate(args):
        leaves = leaves_of(value)
        shapes = [getattr(leaf, "shape", None) for leaf in leaves]
        firsts = {shape[0] for shape in shapes if shape}
        if len(firsts) != 1 or not all(shapes) or _is_key(leaves):
            continue
        size = firsts.pop()
        # Of several, the one with the most arrays; of equals, one whose entries are not single
        # numbers (rewards and dones may be separate); of these the last: parameters come first.
        rank = (len(leaves), any(shape and len(shape) > 1 for shape in shapes))
        if rank >= most and size > 0:
            best, most = index, rank
    return best


def network_batch(args: tuple[Foreign, ...]) -> int:
    """The batch size of a network's call."""
    return batch_size_of(args[batch_argument(args)]) if args else 0


def _is_key(leaves: list[Foreign]) -> bool:
    kinds = [str(getattr(leaf, "dtype", "")) for leaf in leaves]
    return all(kind.startswith("key") or kind == "uint32" for kind in kinds)


def leaves_of(value: Foreign) -> list[Foreign]:
    """The arrays in dictionaries, lists and tuples."""
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves_of(each)]
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in leaves_of(each)]
    return [value] if hasattr(value, "shape") else []


def all_leaves_of(value: Foreign) -> list[Foreign]:
    """The same with JAX's own tree functions, which know the program's classes; slower."""
    return list(sys.modules["jax"].tree_util.tree_leaves(value))
