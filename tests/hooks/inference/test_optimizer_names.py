"""What a program calls the optimizer that it steps."""

from __future__ import annotations

import dis

import pytest

from hotloop.hooks.inference.optimizer_names import expression_before


def expression(source: str) -> str:
    """The name that is found for the first call in a piece of code."""
    code = compile(source, "train.py", "exec")
    call = next(each for each in dis.get_instructions(code) if each.opname.startswith("CALL"))
    return expression_before(code, call.offset)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("opt.step()", "opt"),
        ("self.actor_opt.step()", "actor_opt"),
        ("self.critic.optimizer.step()", "critic.optimizer"),
        ("optimizers['actor'].step()", "optimizers.actor"),
        ("self.optimizers[0].step()", "optimizers"),
        ("opt.zero_grad()", ""),
    ],
)
def test_the_expression_before_its_step(source: str, name: str) -> None:
    assert expression(source) == name


def test_an_attribute_of_something_called_is_named_by_its_own_name() -> None:
    code = compile("trainer().actor_opt.step()", "train.py", "exec")
    last = [each for each in dis.get_instructions(code) if each.opname.startswith("CALL")][-1]
    assert expression_before(code, last.offset) == "actor_opt"
