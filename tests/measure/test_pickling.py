"""hotloop's objects inside a program's pickles are those of the process that unpickles."""

from __future__ import annotations

import pickle

import pytest

import hotloop
from hotloop import Profiler
from hotloop.measure.pickling import reduce_timed, same


def test_the_global_profiler_travels_by_reference() -> None:
    assert pickle.loads(pickle.dumps(hotloop.get_profiler())) is hotloop.get_profiler()
    assert pickle.loads(pickle.dumps(hotloop.profile)).__self__ is hotloop.get_profiler().core
    with pytest.raises(TypeError):
        pickle.dumps(Profiler())


def test_a_hooked_function_goes_by_its_name_where_that_finds_it() -> None:
    assert reduce_timed(same, same) == "same"
    assert reduce_timed(object(), same) == (same, (same,))
