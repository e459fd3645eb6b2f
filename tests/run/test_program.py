"""`hotloop run` on real processes: the program's manners, and every way to end."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from real_runs import LOOP, Hotloop, report


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_the_programs(hotloop: Hotloop, code: int) -> None:
    assert hotloop("run", "-c", f"import sys; sys.exit({code})").returncode == code


def test_an_exit_with_a_message_prints_it(hotloop: Hotloop) -> None:
    done = hotloop("run", "-q", "-c", "import sys; sys.exit('that went wrong')")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "that went wrong\n")


PROBE = """
import __main__, sys, json
from pickle import dumps, loads
class Thing: pass
print(json.dumps({
    "argv": sys.argv, "path0": sys.path[0], "name": __name__, "doc": __doc__,
    "file": globals().get("__file__"), "package": __package__,
    "spec": getattr(__spec__, "name", None), "loader": type(__loader__).__name__,
    "main": __main__.__dict__ is globals(), "pickled": type(loads(dumps(Thing()))).__name__,
    "globals": sorted(globals()),
}))
"""


HOWS = ["script", "relative", "dotted", "folder", "link", "compiled", "archive", "module", "code"]


@pytest.mark.parametrize("how", HOWS)
def test_the_program_sees_what_python_would_show_it(
    hotloop: Hotloop, tmp_path: Path, how: str
) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROBE)
    (package / "probe.py").write_text(f'"""Its documentation."""{PROBE}')
    if how == "link":
        (tmp_path / "link.py").symlink_to(package / "probe.py")
    if how == "compiled":
        py_compile.compile(str(package / "probe.py"), cfile=str(tmp_path / "probe.pyc"))
    if how == "archive":
        with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
            archive.write(package / "__main__.py", "__main__.py")
    words = {
        "script": [str(package / "probe.py")],
        "relative": ["pack/probe.py"],
        "dotted": ["./pack/probe.py"],
        "folder": ["pack"],
        "link": ["link.py"],
        "compiled": ["probe.pyc"],
        "archive": ["app.zip"],
        "module": ["-m", "pack.probe"],
        "code": ["-c", PROBE],
    }[how]
    arguments = ["--help", "-o", "x", "--", "-q"]
    plain = subprocess.run(
        [sys.executable, *words, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    under = hotloop("run", "-q", *words, *arguments)
    assert under.returncode == 0, under.stderr
    expected, seen = json.loads(plain.stdout), json.loads(under.stdout)
    expected["globals"] = [n for n in expected["globals"] if n != "__annotations__"]
    assert {**seen, "globals": None} == {**expected, "globals": None}


def test_a_traceback_is_as_python_shows_it(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(
        "def inner():\n    raise ValueError('boom')\n\ntry:\n    inner()\n"
        "except ValueError as error:\n    raise KeyError('outer') from error\n"
    )
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    under = hotloop("run", "-q", str(script))
    assert under.returncode == plain.returncode == 1
    assert under.stderr == plain.stderr


@pytest.mark.parametrize("how", ["module", "folder"])
def test_frames_of_runpy_are_where_python_has_them(
    hotloop: Hotloop, tmp_path: Path, how: str
) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__main__.py").write_text(
        "import runpy, sys, traceback\nfrom pathlib import Path\n"
        "print(runpy.run_path(str(Path(__file__).with_name('other.py')))['x'], sys.argv)\n"
        "def fail():\n    raise ValueError('boom')\n\nfail()\n"
    )
    (package / "other.py").write_text("x = 5\n")
    words = ["-m", "pack", "--flag"] if how == "module" else [str(package), "--flag"]
    plain = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
    under = hotloop("run", "-q", *words, cwd=tmp_path)
    assert (under.returncode, under.stdout, under.stderr) == (1, plain.stdout, plain.stderr)


def test_a_program_that_does_not_parse_shows_pythons_error(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    script = tmp_path / "bad.py"
    script.write_text("def x(:\n")
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    under = hotloop("run", "-q", str(script))
    assert (under.returncode, under.stderr) == (1, plain.stderr)


def test_an_import_that_fails_shows_no_frame_of_ours(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import not_there_at_all\n")
    script = tmp_path / "main.py"
    script.write_text("import traceback\ntry:\n    import broken\nexcept ImportError:\n"
                      "    traceback.print_exc()\n")  # fmt: skip
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert hotloop("run", "-q", str(script)).stderr == plain.stderr


def test_standard_output_is_the_programs_alone(hotloop: Hotloop) -> None:
    done = hotloop("run", "-c", "print('hello')")
    assert done.stdout == "hello\n"
    assert "Next: hotloop open" in done.stderr


def test_atexit_and_threads_of_the_program_come_before_the_end(hotloop: Hotloop) -> None:
    code = (
        "import atexit, threading, time\nfrom hotloop import profile\n"
        "def late():\n    with profile('late'):\n        print('atexit')\n"
        "atexit.register(late)\n"
        "def work():\n    time.sleep(0.2)\n    print('thread')\n"
        "threading.Thread(target=work).start()\n"
    )
    done = hotloop("run", "-q", "-o", "cap", "-c", code)
    assert done.stdout == "thread\natexit\n"
    assert "late" in {p["name"] for p in report(hotloop)["phases"]}


def test_the_report_of_a_run(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(100)\nprint(sys.argv[1:])\n")
    done = hotloop("run", "-o", "cap", script.name, "--lr", "0.1", "--stop-after", "1s")
    assert done.stdout == "finally ran\n['--lr', '0.1', '--stop-after', '1s']\n"
    document = report(hotloop)
    assert document["run"]["env_steps"] == 200
    assert document["run"]["exit"] == {"reason": "exit", "code": 0}
    paths = {phase["path"]: phase for phase in document["phases"]}
    assert paths["collect/env.step"]["calls"] == 100
    assert document["coverage"] > 0.97
    functions = {(f["function"], f["phase"]) for f in document["functions"]}
    assert ("busy", "collect/env.step") in functions
    text = hotloop("report", "cap").stdout
    assert max(map(len, text.splitlines())) <= 100
    assert "env.step" in text


def test_a_summary_while_it_runs(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(500)\n")
    done = hotloop("run", "-q", "--summary-every", "1s", str(script))
    assert done.stderr.count("region ") >= 2
    assert "  env.step" in done.stderr


def test_the_twin_says_that_it_is_one(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(50)\n")
    done = hotloop("run", "-o", "cap", str(script), env={"HOTLOOP_PURE": "1"})
    assert "pure-Python twin: HOTLOOP_PURE is set" in done.stderr
    document = report(hotloop)
    assert document["run"]["native"] is False
    assert document["coverage"] > 0.97


def test_captures_are_never_overwritten(hotloop: Hotloop, tmp_path: Path) -> None:
    for _ in range(3):
        assert hotloop("run", "-q", "--name", "same", "-c", "pass").returncode == 0
    assert len(list((tmp_path / "runs" / "hotloop").glob("same-*"))) == 3
    assert hotloop("report").returncode == 0


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["run", "nothing.py"], "no such file"),
            (["run"], "no program"),
            (["run", "--stop-after", "soon", "-c", "pass"], "60s"),
            (["run", "--stop-after", "0s", "-c", "pass"], "above 0"),
            (["run", "--bogus", "x.py"], "--bogus"),
            (["run", "-m"], "needs a module"),
            (["run", "-m", "no_such_module_here"], "No module named"),
            (["run", "-o", "/proc/nope/x", "-c", "pass"], "-o"),
            (["report", "nothing"], "no such capture"),
            (["report"], "hotloop run train.py"),
            (["repotr", "x"], "did you mean `hotloop report`"),
            (["train.py", "--lr", "1"], "did you mean `hotloop run train.py --lr 1`"),
            (["--bogus"], "--bogus"),
        ],
    )
    def test_one_or_two_clear_lines_and_exit_code_2(
        self, hotloop: Hotloop, arguments: list[str], words: str
    ) -> None:
        done = hotloop(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert words in done.stderr
        assert len(done.stderr.strip().splitlines()) <= 2
        assert "Traceback" not in done.stderr

    def test_a_close_name_is_offered(self, hotloop: Hotloop, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("")
        assert "did you mean train.py?" in hotloop("run", "trian.py").stderr

    def test_an_existing_folder_is_refused(self, hotloop: Hotloop, tmp_path: Path) -> None:
        (tmp_path / "cap").mkdir()
        done = hotloop("run", "-o", "cap", "-c", "print('never')")
        assert (done.returncode, done.stdout) == (2, "")
        assert "never overwritten" in done.stderr


def test_a_closed_pipe_is_silent(hotloop: Hotloop, tmp_path: Path) -> None:
    hotloop("run", "-q", "-o", "cap", "-c", "pass")
    command = f"{sys.executable} -m hotloop report cap --format json | head -c 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""


def test_a_program_from_standard_input(hotloop: Hotloop, tmp_path: Path) -> None:
    source = f"{PROBE}\nprint(sys.stdin.read(), __name__)\nraise ValueError('from a pipe')"
    plain = subprocess.run(
        [sys.executable, "-", "a", "-b"], input=source, cwd=tmp_path, capture_output=True, text=True
    )
    under = hotloop("run", "-q", "-", "a", "-b", input=source)
    assert (under.returncode, under.stdout, under.stderr) == (
        plain.returncode, plain.stdout, plain.stderr,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_program_from_a_pipe(hotloop: Hotloop, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    writer = subprocess.Popen(["sh", "-c", "echo 'print(__file__)' > pipe.py"], cwd=tmp_path)
    done = hotloop("run", "-q", "pipe.py")
    writer.wait()
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path}/pipe.py\n", "")
