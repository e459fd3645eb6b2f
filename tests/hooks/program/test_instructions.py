"""Instructions are decoded once per code object, and know their lines."""

import dis

from hotloop.hooks.program.instructions import instructions, line_at


def total(values: list[int]) -> int:
    result = 0
    for value in values:
        result += value
    return result


def test_the_instructions_are_those_of_dis() -> None:
    decoded = instructions(total.__code__)
    assert [each.opname for each in decoded] == [
        each.opname for each in dis.get_instructions(total.__code__)
    ]


def test_a_code_object_is_decoded_once() -> None:
    assert instructions(total.__code__) is instructions(total.__code__)


def test_every_instruction_of_the_body_has_its_line() -> None:
    lines = line_at(total.__code__)
    first = total.__code__.co_firstlineno
    stored = next(each for each in instructions(total.__code__) if each.opname == "STORE_FAST")
    assert lines[stored.offset] == first + 1
    assert set(lines.values()) >= set(range(first + 1, first + 5))
