"""Frames of hotloop that the program does not meet: below it, and around a hooked function."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hotloop.measure import core as cores
from hotloop.measure.core import Core, native_constant, run_at_bottom

pytestmark = pytest.mark.skipif(
    not native_constant("HIDES_FRAMES", 0), reason="frames of hotloop are not hidden here"
)


def names_below() -> list[str]:
    return [frame.name for frame in traceback.extract_stack()][:-1]


def depth_of_recursion() -> int:
    try:
        return 1 + depth_of_recursion()
    except RecursionError:
        return 0


def test_code_runs_at_the_bottom() -> None:
    before = names_below()
    found: dict[str, Any] = {"names_below": names_below}
    run_at_bottom(compile("found = names_below()", "<program>", "exec"), found)
    assert found["found"] == ["<module>"]
    assert names_below() == before


def test_an_error_comes_out_with_the_frames_of_both() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_at_bottom(compile("1 / 0", "<program>", "exec"), {})
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["run_at_bottom", "<module>"]
    assert names_below()[-1] == "test_an_error_comes_out_with_the_frames_of_both"


def test_the_depth_is_counted_from_the_bottom() -> None:
    limit = sys.getrecursionlimit()
    depths: list[int] = []

    def measure() -> None:
        depths.append(depth_of_recursion())

    def change_limit() -> None:
        sys.setrecursionlimit(limit + 100)
        measure()

    run_at_bottom(measure)
    here = depth_of_recursion()
    assert limit - 5 < depths[0] <= limit
    assert here < depths[0]
    try:
        run_at_bottom(change_limit)
        assert depths[1] == depths[0] + 100 - 1
    finally:
        sys.setrecursionlimit(limit)
    assert depth_of_recursion() == here


Attach = Callable[[Any, Callable[[Any], Any]], None]


@pytest.fixture
def attach() -> Iterator[Attach]:
    """Hooks functions with code of this file, which counts as hotloop's meanwhile."""
    core: Any = Core()
    undo: list[Callable[[], None]] = []
    folder = str(Path(__file__).parent)
    native = cores.native_parts(core)
    native.set_own_folder(folder, folder + "/nothing")
    yield lambda function, make: undo.append(core.attach(function, make))
    for each in undo:
        each()
    package = str(Path(cores.__file__).parent.parent)
    native.set_own_folder(package + "/", package + "/workloads/")


def program(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "<program>", "exec"), names)
    return names


def hook_of(original: Any) -> Any:
    def hook(*args: Any) -> Any:
        return helper(original, *args)

    def helper(original: Any, *args: Any) -> Any:
        return original(*args)

    return hook


def test_a_hooked_function_does_not_see_its_hook(attach: Attach) -> None:
    names = program(
        "import sys\n"
        "def inner(): return sys._getframe(1).f_code.co_name\n"
        "def outer(): return inner(), sys._getframe().f_code.co_name\n"
    )
    attach(names["inner"], hook_of)
    assert names["outer"]() == ("outer", "outer")


def test_errors_of_a_hooked_function_have_its_frames_only(attach: Attach) -> None:
    names = program("def inner(x): return 1 / x\ndef outer(): return inner(0)\n")
    attach(names["inner"], hook_of)
    with pytest.raises(ZeroDivisionError) as caught:
        names["outer"]()
    trace = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in trace][1:] == ["outer", "inner"]


def test_a_profile_function_sees_the_function_and_not_its_hook(attach: Attach) -> None:
    names = program("def inner(): return 1\ndef outer(): return inner()\n")
    seen: list[tuple[str, str]] = []

    def note(frame: Any, event: str, argument: object) -> None:
        seen.append((event, frame.f_code.co_name))

    def events() -> list[tuple[str, str]]:
        seen.clear()
        sys.setprofile(note)
        try:
            names["outer"]()
        finally:
            sys.setprofile(None)
        return [event for event in seen if event[0] in ("call", "return")]

    plain = events()
    attach(names["inner"], hook_of)
    assert events() == plain
    assert sys.getprofile() is None


def test_a_recursion_through_a_hook_is_as_deep_as_without(attach: Attach) -> None:
    names = program(
        "def fall(depth):\n"
        "    try:\n"
        "        return fall(depth + 1)\n"
        "    except RecursionError:\n"
        "        return depth\n"
        "def begin():\n"
        "    return fall(0)\n"
    )
    limit = sys.getrecursionlimit()
    # Calls from C have a limit of their own, which is not far above the usual one in 3.12.
    sys.setrecursionlimit(len(names_below()) + 200)
    try:
        plain = names["begin"]()
        attach(names["fall"], hook_of)
        assert names["begin"]() == plain
        assert names["begin"]() == plain
    finally:
        sys.setrecursionlimit(limit)
    assert names_below()[-1] == "test_a_recursion_through_a_hook_is_as_deep_as_without"


def test_threads_step_aside_on_their_own(attach: Attach) -> None:
    names = program(
        "import sys\n"
        "def inner(turn):\n"
        "    turn.wait()\n"
        "    return sys._getframe(1).f_code.co_name\n"
        "def outer(turn): return inner(turn)\n"
    )
    attach(names["inner"], hook_of)
    turn = threading.Barrier(4)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(names["outer"](turn))) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == ["outer"] * 4
