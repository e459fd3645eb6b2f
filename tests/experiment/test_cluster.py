"""Comparisons on a Ray cluster: a real one, on this machine."""

from __future__ import annotations

import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

from hotloop.experiment.cluster import Answer, _at, _Shared, do_on_node
from hotloop.experiment.command import parse_command
from hotloop.experiment.here import Job
from hotloop.experiment.launch import Launch

pytestmark = pytest.mark.framework


def job(program: Path, text: str, capture: str = "work/pair-01/first") -> Job:
    command = replace(parse_command(text), folder=str(program))
    return Job(0, (Launch("first", command, str(program / capture)),))


def test_pairs_are_made_on_ray(hotloop: Hotloop, program: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("scipy")
    result = hotloop(
        "compare",
        "train.py --env-ms 12 --steps 20",
        "train.py --env-ms 2 --steps 20",
        *("--pairs", "3", "--warm-up", "0", "--on", "ray", "--cpus", "1", "--format", "json"),
        timeout=180,
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["pairs"] == 3
    assert document["ratio"]["estimate"] > 2
    assert "on Ray: 1 node, 1 core per run" in result.stderr
    outcomes = [
        json.loads((Path(document["folder"]) / f"pair-{n:02d}" / f"{side}.json").read_text())
        for n in (1, 2, 3)
        for side in "ab"
    ]
    assert all(outcome["node"] for outcome in outcomes) or all(o["code"] == 0 for o in outcomes)


def test_more_than_any_node_has(hotloop: Hotloop, program: Path) -> None:
    pytest.importorskip("ray")
    result = hotloop(
        "compare", "train.py", "train.py", "--on", "ray", "--cpus", "9999", timeout=180
    )
    check_refused(result, "no node of the cluster has more than")


def test_a_failed_run_is_tried_once_more(program: Path) -> None:
    (program / "flaky.py").write_text(
        "import pathlib, sys\nmark = pathlib.Path('mark')\n"
        "if not mark.exists():\n    mark.touch()\n    sys.exit(3)\n"
        "from hotloop import count, profile\n"
        "with profile('env.step'): count('env_steps', 5)\n"
    )
    made = job(program, "flaky.py")
    token = program / "token"
    token.touch()
    (outcome,) = do_on_node(made, str(token)).outcomes
    assert (outcome.failure, outcome.retried) == ("", True)
    assert outcome.node


def test_files_come_back_from_a_node_that_does_not_share_them(program: Path) -> None:
    made = job(program, "train.py --steps 3")
    answer = do_on_node(made, str(program / "no such token"))
    assert answer.packed
    assert not (program / "work").exists()
    shared = _Shared(program / "work")
    (outcome,) = shared.bring_back(made, answer)
    assert Path(outcome.capture, "main.jsonl").is_file()
    assert Path(outcome.capture + ".json").is_file()
    shared.close()
    assert not shared.token.exists()


def test_nothing_is_unpacked_outside_its_folder(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("../../outside.txt")
        archive.addfile(member, io.BytesIO())
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    made = job(tmp_path / "deep" / "er", "train.py")
    shared = _Shared(tmp_path / "deep" / "er")
    shared.bring_back(made, Answer([], buffer.getvalue()))
    shared.close()
    assert not list(tmp_path.rglob("outside.txt"))
    assert not list(tmp_path.rglob("link"))


def test_a_folder_that_the_node_does_not_have(tmp_path: Path) -> None:
    made = job(tmp_path / "elsewhere", "train.py")
    (outcome,) = do_on_node(made, str(tmp_path)).outcomes
    assert "there is no folder" in outcome.failure


def test_a_job_knows_the_folder_it_was_given_in(program: Path) -> None:
    made = Job(0, (Launch("first", parse_command("train.py"), "relative/first"),))
    (launch,) = _at(made).launches
    assert launch.command.folder == os.getcwd()
    assert os.path.isabs(launch.capture)
