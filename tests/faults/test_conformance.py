"""A small suite of another project, plain and under hotloop; `make conformance` runs all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "conformance.py"


@pytest.fixture(scope="module")
def conformance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    spec = spec_from_file_location("conformance", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look their module up.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "conformance", module)
        spec.loader.exec_module(module)
        module.FOLDER = tmp_path_factory.mktemp("conformance")
        yield module


def test_gymnasiums_own_tests(conformance: ModuleType, say) -> None:
    pytest.importorskip("gymnasium")
    suite = conformance.SUITES[0]
    try:
        result = conformance.compare(suite, suite.short)
    except SystemExit as error:
        pytest.skip(f"cannot be fetched here: {error}")
    assert result.plain
    assert result.different == []
    say(f"{len(result.plain)} tests of Gymnasium plain and under hotloop: {result.same} the same")


def test_outcomes_are_compared_test_by_test(conformance: ModuleType, tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(
        "<testsuites><testsuite><testcase classname='a' name='one'/>"
        "<testcase classname='a' name='two'><failure/></testcase>"
        "<testcase classname='a' name='three'><skipped/></testcase></testsuite></testsuites>"
    )
    plain = conformance.read_outcomes(results)
    assert plain == {"a::one": "passed", "a::two": "failure", "a::three": "skipped"}
    result = conformance.Result(
        conformance.SUITES[0], plain, plain | {"a::two": "passed", "a::new": "passed"}
    )
    assert result.different == ["a::new", "a::two"]
    result.unstable = ["a::two"]
    assert result.different == ["a::new"]
