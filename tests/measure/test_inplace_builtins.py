"""Functions and methods of C, hooked where they stand."""

from __future__ import annotations

import gc
import inspect
import pickle
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hooked_functions import Calls, add

from hotloop.measure.core import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="without the native core")


def test_every_calling_convention(hook: Any) -> None:
    text = "a b"
    for function, arguments, names in [
        (gc.isenabled, (), {}),  # METH_NOARGS
        (sys.getsizeof, (1,), {}),  # METH_VARARGS | METH_KEYWORDS
        (sys.intern, ("x",), {}),  # METH_O
        (gc.collect, (0,), {}),
        (gc.collect, (), {"generation": 0}),
        (divmod, (7, 2), {}),  # METH_FASTCALL
        (sorted, ([2, 1],), {"reverse": True}),  # METH_FASTCALL | METH_KEYWORDS
        (str.split, (text,), {"maxsplit": 1}),
        (str.upper, (text,), {}),
        (str.join, (text, ("x", "y")), {}),
        (str.startswith, (text, "a"), {}),
        (str.format, (text, *range(20)), {}),
    ]:
        calls: Calls = []
        plain = function(*arguments, **names)  # type: ignore[operator]
        detach = hook(function, calls)
        for _ in range(200):
            result = function(*arguments, **names)  # type: ignore[operator]
        assert (len(calls), result) == (200, plain) or function is gc.collect
        assert calls[0] == arguments
        detach()
        function(*arguments, **names)  # type: ignore[operator]
        assert len(calls) == 200


def test_specialised_call_sites(hook: Any) -> None:
    calls: Calls = []
    text = "a b"

    def loop() -> None:
        for _ in range(500):
            divmod(7, 2)
            "a b".upper()
            text.split(" ")
            "a b".startswith("a")
            gc.isenabled()

    loop()
    functions = (divmod, str.upper, str.split, str.startswith, gc.isenabled)
    for function in functions:
        hook(function, calls)
    loop()
    assert len(calls) == 500 * len(functions)


def test_a_bound_method_outlives_the_hook(hook: Any) -> None:
    calls: Calls = []
    detach = hook(str.upper, calls)
    bound = "a".upper
    assert bound() == "A"
    detach()
    assert bound() == "A"
    assert "b".upper() == "B"


def test_errors_are_those_of_the_function(hook: Any) -> None:
    def message(call: Callable[[], object]) -> str:
        with pytest.raises((TypeError, ZeroDivisionError)) as caught:
            call()
        return repr(caught.value)

    wrong: list[Callable[[], object]] = [
        lambda: divmod(1),  # type: ignore[call-overload]
        lambda: divmod(1, 0),
        lambda: str.upper(1),  # type: ignore[arg-type]
        lambda: "a".upper(1),  # type: ignore[call-arg]
        lambda: gc.isenabled(1),  # type: ignore[call-arg]
        lambda: add(),  # type: ignore[call-arg]
        lambda: add(1, 2, 3),  # type: ignore[misc]
    ]
    plain = [message(call) for call in wrong]
    for function in (divmod, str.upper, gc.isenabled, add):
        hook(function, [])
    assert [message(call) for call in wrong] == plain


def test_the_object_is_the_same(hook: Any) -> None:
    known = {divmod, str.upper}
    facts = [
        lambda: repr(divmod),
        lambda: divmod.__text_signature__,
        lambda: str(inspect.signature(divmod)),
        lambda: divmod.__self__.__name__,
        lambda: pickle.loads(pickle.dumps(divmod)) is divmod,
        lambda: pickle.loads(pickle.dumps(str.upper)) is str.upper,
        lambda: repr(str.upper),
        lambda: "a".upper.__self__,
        lambda: type("a".upper),
        lambda: divmod.__doc__,
        lambda: (hash(divmod), hash(str.upper), divmod in known, str.upper in known),
    ]
    plain = [fact() for fact in facts]
    hook(divmod, [])
    hook(str.upper, [])
    assert [fact() for fact in facts] == plain


def test_special_methods_of_a_c_class(hook: Callable[[Any, Calls], Callable[[], None]]) -> None:
    others = [
        (list.__getitem__, ([1], 0)),
        (dict.__contains__, ({}, 0)),
        (object.__reduce_ex__, (1, 2)),
        (object.__format__, (1, "")),
        (complex.__getnewargs__, (1j,)),
    ]
    for other, arguments in others:  # torch's tensors have as many
        other_calls: Calls = []
        hook(other, other_calls)
        other(*arguments)  # type: ignore[operator]
        assert other_calls == [arguments]
    calls: Calls = []
    method: Any = vars(sqlite3.Connection)["__exit__"]
    before = repr(method), method.__doc__, inspect.ismethoddescriptor(method)
    detach = hook(method, calls)
    connection = sqlite3.connect(":memory:")
    with connection:
        pass
    bound = connection.__exit__
    bound(None, None, None)
    method(connection, None, None, None)
    assert calls == [(connection, None, None, None)] * 3
    for wrong in ((), (1,), range(20)):
        with pytest.raises(TypeError):
            bound(*wrong)
    assert (repr(method), method.__doc__, inspect.ismethoddescriptor(method)) == before
    detach()
    with connection:
        bound(None, None, None)  # made while it was hooked
    assert len(calls) == 3
    connection.close()
