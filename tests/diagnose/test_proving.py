"""Commands that verify a finding."""

from __future__ import annotations

from analyses import Make

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.proving import verify_command


def test_verify_can_be_pasted(make: Make) -> None:
    analysis = make()
    command, _, comment = verify_command(analysis).partition("  # ")
    assert command == "hotloop compare 'train.py --seed 1' 'train_fixed.py --seed 1'"
    assert comment == "after copying train.py to train_fixed.py and making the change there"
    elsewhere = verify_command(analysis, [SourceLine("/home/me/envs.py", 7, "step")])
    assert elsewhere.endswith("using a changed envs.py there")
    # A setting is the whole change: nothing has to be written first.
    assert verify_command(analysis, environment="OMP_NUM_THREADS=1") == (
        "hotloop compare 'train.py --seed 1' 'OMP_NUM_THREADS=1 train.py --seed 1'"
    )


def test_a_change_of_the_work_is_compared_all_the_same(make: Make) -> None:
    assert " --any-work  # after" in verify_command(make(), any_work=True)


def test_verify_of_a_module(make: Make) -> None:
    analysis = make()
    analysis.run.command = ["-m", "package.train", "--seed", "1"]
    assert verify_command(analysis).startswith(
        "hotloop compare '-m package.train --seed 1' '-m package.train_fixed --seed 1'  # after"
    )
