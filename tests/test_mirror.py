"""Tests mirror modules by name: ``hooks/redirect.py`` is tested by ``tests/hooks/test_redirect.py``.

Modules without such a file are listed here, with the file that tests them or the reason why none
does. The list may only shrink: an entry whose own test file exists fails.
"""

from pathlib import Path

import hotloop

PACKAGE = Path(hotloop.__file__).parent
TESTS = Path(__file__).parent

#: Tested through others, in the file that is named.
TESTED_IN = {
    "cli/live_viewer.py": "cli/test_live.py",
    "cli/mcp.py": "integrations/test_mcp_server.py",
    "cli/report.py": "cli/test_manners.py",
    "cli/to_return.py": "experiment/test_to_return.py",
    "diagnose/rules/learning/advantages.py": "diagnose/rules/storage/test_buffers.py",
    "experiment/paired.py": "cli/test_compare.py",
    "experiment/sweeping.py": "cli/test_sweep.py",
    "hooks/compat/cloudpickle.py": "hooks/libraries/test_multiprocessing.py",
    "hooks/compat/dynamo.py": "hooks/libraries/test_torch_programs.py",
    "hooks/compat/torch_functions.py": "faults/differential/test_differential.py",
    "hooks/fixes/keras_calls.py": "hooks/fixes/test_runtime.py",
    "hooks/fixes/standard_library.py": "hooks/fixes/test_runtime.py",
    "hooks/fixes/torch_calls.py": "hooks/fixes/test_runtime.py",
    "hooks/fixes/vector_envs.py": "hooks/fixes/test_runtime.py",
    "hooks/inference/jitted.py": "hooks/libraries/test_jax.py",
    "hooks/inference/jitted_agents.py": "hooks/libraries/test_jax.py",
    "hooks/libraries/gym.py": "hooks/libraries/test_gymnasium.py",
    "hooks/libraries/jax_gradients.py": "hooks/libraries/test_jax.py",
    "hooks/libraries/jax_loops.py": "hooks/libraries/test_jax.py",
    "hooks/libraries/jax_networks.py": "hooks/libraries/test_jax.py",
    "hooks/libraries/jax_sizes.py": "hooks/libraries/test_jax.py",
    "hooks/libraries/joblib.py": "hooks/libraries/test_threads.py",
    "hooks/libraries/ray_actors.py": "hooks/libraries/test_ray.py",
    "hooks/libraries/ray_relay.py": "run/test_several_machines.py",
    "hooks/libraries/sb3_contrib.py": "hooks/libraries/test_sb3.py",
    "hooks/libraries/torch_networks.py": "hooks/libraries/test_torch.py",
    "hooks/program/own_code.py": "hooks/program/test_attaching.py",
    "hooks/telemetry/tensorflow.py": "hooks/libraries/test_tensorflow.py",
    "integrations/profiler_reports.py": "measure/test_profiler.py",
    "measure/core.py": "measure/test_regions.py",
    "measure/twin/core.py": "measure/test_regions.py",
    "measure/twin/own_thread.py": "measure/test_own_threads.py",
    "measure/twin/region.py": "measure/test_regions.py",
    "measure/twin/sampler.py": "measure/test_sampler.py",
    "measure/twin/stacks.py": "measure/test_regions.py",
    "report/after_run.py": "cli/test_manners.py",
    "run/attachments.py": "run/test_forks.py",
    "run/current.py": "run/test_forks.py",
    "run/execution.py": "run/test_program.py",
    "run/functions.py": "run/test_exact.py",
    "run/session.py": "run/test_exits.py",
}

#: Nothing to run: names, types and plain data.
WITHOUT_LOGIC = {
    *("analyze/comparing/defaults.py", "capture/sample_modes.py", "errors.py"),
    *("hooks/protocols.py", "measure/shared.py", "report/view.py"),
}

#: The library cannot be installed beside the others.
NOT_INSTALLABLE = {"hooks/libraries/rsl_rl.py"}


def modules() -> set[str]:
    found = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return {
        path.as_posix()
        for path in found
        # The programs of `hotloop demo` are linked into a wheel; they have tests of their own.
        if not path.name.startswith("__") and path.parts[0] != "workloads"
    }


def has_own_tests(module: str) -> bool:
    path = TESTS / module
    return path.with_name(f"test_{path.name}").is_file()


def listed() -> set[str]:
    return TESTED_IN.keys() | WITHOUT_LOGIC | NOT_INSTALLABLE


def test_every_module_has_tests_of_its_name_or_a_reason() -> None:
    assert {module for module in modules() - listed() if not has_own_tests(module)} == set()


def test_the_list_holds_nothing_else() -> None:
    assert {module for module in listed() if has_own_tests(module)} == set()
    assert listed() - modules() == set()


def test_the_files_that_test_others_exist() -> None:
    assert {file for file in TESTED_IN.values() if not (TESTS / file).is_file()} == set()
