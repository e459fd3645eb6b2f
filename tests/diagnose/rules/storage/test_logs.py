"""Rules on what a run writes: logs, plots and checkpoints."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample

from hotloop.analyze.model import Frame
from hotloop.diagnose import diagnose
from hotloop.diagnose.rules.storage import logs


@pytest.mark.parametrize(("seconds", "said"), [(0.4, False), (0.6, True)])
def test_logging_from_its_share(make: Make, seconds: float, said: bool) -> None:
    analysis = make(phase("log", seconds, 1000), env_steps=1000)
    assert bool(logs.logging(analysis)) is said


def test_the_place_is_where_most_of_it_is(make: Make) -> None:
    """A logger that formats in every vector step, and a line that is printed once in a while."""
    formats, asks = frame("Log.record", line=104), frame("collect", line=129)
    prints = frame("run", line=153)
    notes = {
        "lines": {prints.file: {"153": [["print"], 0], "104": [["self.log.info"], 0]}},
        "shapes": {"log": ["__main__:Log.record"]},
    }
    (found,) = logs.logging(
        make(
            phase("log", 3.0, 100),
            samples=[
                sample("log", 3.0, formats, asks),
                sample("learn", 6.0, frame("learn", line=145)),
                sample("", 0.1, prints),
            ],
            notes=notes,
            gauges={"envs": 64},
            env_steps=6400,
        )
    )
    assert [line.line for line in found.where] == [104, 129]
    assert found.title.endswith(": 1 call per step of 64 environments")
    assert "isEnabledFor" in found.after


def test_what_runs_networks_is_no_log_whatever_it_is_called(make: Make) -> None:
    written = [sample("log/inference", 5.0, frame("Writer.write"))]
    phases = phase("log", 6.0, 100, self_s=1.0), phase("log/inference", 5.0, 100)
    assert logs.logging(make(*phases, samples=written, gradient_steps=100)) == []


def test_a_librarys_own_metrics_are_not_the_programs_to_write_less_often(make: Make) -> None:
    own = frame("log_value", "/venv/lib/python3.11/site-packages/ray/rllib/metrics_logger.py")
    analysis = make(phase("log", 2.0, 1000), samples=[sample("log", 2.0, own)], env_steps=1000)
    (found,) = logs.logging(analysis)
    assert "The library records these metrics itself" in found.fix
    assert (found.before, found.confidence) == ("", "low")


@pytest.mark.parametrize("own_line", [False, True])
def test_what_is_logged_below_the_line_that_trains_is_the_librarys(
    make: Make, own_line: bool
) -> None:
    trainer = "/venv/lib/python3.11/site-packages/tianshou/trainer.py"
    stack = frame("log_update", trainer), frame("main", line=142)
    if own_line:
        stack = (frame("Callback.after", line=20), *stack)
    samples = [
        sample("log", 2.0, *stack),
        sample("learn", 8.0, frame("update", trainer), frame("main", line=142)),
    ]
    analysis = make(phase("log", 2.0, 1000), phase("learn", 8.0), samples=samples, env_steps=1000)
    (found,) = logs.logging(analysis)
    assert ("The library records" in found.fix) is not own_line


def test_a_tracker_that_no_hook_knows_is_seen_in_the_stacks(make: Make) -> None:
    tracker = frame("log_metric", "/venv/lib/python3.11/site-packages/mlflow/fluent.py")
    analysis = make(samples=[sample("", 2.0, tracker, frame("train", line=5))], env_steps=1000)
    (found,) = logs.logging(analysis)
    assert found.where[0].line == 5


def calling(*names: str) -> dict[str, object]:
    """The note of a program whose line 10 calls these."""
    return {"lines": {"/home/me/train.py": {"10": [list(names), 3]}}}


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("print", 5.0),
        ("log_file.write", 2.0),  # an environment may write for its own
        ("os.fsync", 5.0),
        ("writer.writerow", 5.0),
    ],
)
def test_a_line_that_writes_is_logging(make: Make, name: str, seconds: float) -> None:
    """What C does has no frame: the line of the program says what it called."""
    taken = [sample("buffer.add", 2.0, frame("train")), sample("env.step", 3.0, frame("Env.step"))]
    (found,) = logs.logging(make(samples=taken, notes=calling(name), env_steps=1000))
    assert found.evidence["seconds"] == pytest.approx(seconds)
    assert found.where[0].line == 10
    assert logs.logging(make(samples=taken, notes=calling("append"), env_steps=1000)) == []


def test_the_python_around_a_call_of_c_is_the_programs_line(make: Make) -> None:
    """`Path.write_text(json.dumps(…))` ends in frames of Python's own library."""
    around = (
        Frame("<frozen codecs>", "IncrementalEncoder.__init__", 1, 186, of_program=False),
        frame("Path.write_text", "/usr/lib/python3.11/pathlib.py"),
    )
    names = calling("self.path.write_text", "json.dumps")
    taken = [sample("callback", 2.0, *around, frame("Watcher._on_step"))]
    (found,) = logs.logging(make(samples=taken, notes=names, env_steps=1000))
    assert found.where[0].line == 10
    # Another library's code is its own affair, whatever else the line calls.
    other = frame("send", "/venv/lib/python3.11/site-packages/requests/sessions.py")
    taken = [sample("callback", 2.0, other, frame("Watcher._on_step"))]
    assert logs.logging(make(samples=taken, notes=names, env_steps=1000)) == []


def test_plots_that_are_drawn_in_the_loop(make: Make) -> None:
    figure = frame("Figure.savefig", "/venv/lib/python3.11/site-packages/matplotlib/figure.py")
    taken = [sample("", 4.0, figure, frame("train", line=24))]
    (found,) = logs.logging(make(samples=taken, env_steps=1000))
    assert found.title.startswith("Drawing plots takes 40%")
    assert "draw them once" in found.fix
    assert found.where[0].line == 24
    taken = [sample("env.step", 4.0, figure, frame("Env.step", line=24))]
    assert logs.logging(make(samples=taken, env_steps=1000)) == []  # that is drawing a frame


def test_what_has_a_frame_is_not_counted_again_by_its_line(make: Make) -> None:
    numpy = frame("savez", "/venv/lib/python3.11/site-packages/numpy/lib/npyio.py")
    taken = [sample("", 2.0, numpy, frame("keep"))]
    (found,) = logs.checkpointing(make(samples=taken, notes=calling("np.savez"), env_steps=1000))
    assert found.evidence["seconds"] == pytest.approx(2.0)
    rows = frame("DictWriter.writerow", "/usr/lib/python3.11/csv.py")
    taken = [sample("", 2.0, rows, frame("train"))]
    (found,) = logs.logging(make(samples=taken, notes=calling("w.writerow"), env_steps=1000))
    assert found.evidence["seconds"] == pytest.approx(2.0)


def test_what_packs_a_network_is_no_log(make: Make) -> None:
    taken = [sample("", 4.0, frame("keep"))]
    analysis = make(samples=taken, notes=calling("f.write", "pickle.dumps"), env_steps=1000)
    assert [found.id for found in diagnose(analysis)] == ["checkpointing"]


def test_a_table_that_is_written_is_logging_and_not_pandas_in_step(make: Make) -> None:
    pandas = "/venv/lib/python3.11/site-packages/pandas/core/generic.py"
    stack = (frame("write", pandas), frame("NDFrame.to_csv", pandas), frame("Metrics.done", line=4))
    (found,) = diagnose(make(samples=[sample("", 4.0, *stack)], env_steps=1000))
    assert (found.id, found.where[0].line) == ("logging", 4)


def test_a_line_that_dumps_is_saving(make: Make) -> None:
    taken = [sample("learn.target", 2.0, frame("Trainer.persist"))]
    (found,) = logs.checkpointing(make(samples=taken, notes=calling("pickle.dump"), env_steps=1000))
    assert found.where[0].function == "Trainer.persist"
    assert logs.checkpointing(make(samples=taken, notes=calling("json.dump"), env_steps=9)) == []


@pytest.mark.parametrize(("seconds", "said"), [(0.4, False), (0.6, True)])
def test_saving_from_its_share(make: Make, seconds: float, said: bool) -> None:
    analysis = make(phase("checkpoint", seconds, 5), env_steps=1000)
    assert bool(logs.checkpointing(analysis)) is said


def test_saving_by_hand_is_seen_in_the_stacks(make: Make) -> None:
    numpy = frame("savez_compressed", "/venv/lib/python3.11/site-packages/numpy/lib/npyio.py")
    analysis = make(samples=[sample("", 2.0, numpy, frame("train", line=8))], env_steps=1000)
    (found,) = logs.checkpointing(analysis)
    assert found.where[0].line == 8


def test_the_disk_that_a_checkpoint_waits_for_is_part_of_it(make: Make) -> None:
    train = frame("train", line=90)
    dump, sync = frame("save", line=20), frame("save", line=22)
    lines = {dump.file: {"20": [["pickle.dump"], 0], "22": [["os.fsync", "fileno"], 0]}}
    samples = [
        sample("between optimizer and act", 2.0, dump, train),
        sample("between optimizer and act", 1.0, sync, train),
        sample("learn.backward", 4.0, train),
    ]
    analysis = make(phase("learn.backward", 4.0), samples=samples, notes={"lines": lines})
    (found,) = logs.checkpointing(analysis)
    assert found.evidence["seconds"] == pytest.approx(3.0)
    assert logs.logging(analysis) == []


def test_a_training_loop_that_saves_may_log_as_well(make: Make) -> None:
    dump, write = frame("train", line=20), frame("train", line=22)
    lines = {dump.file: {"20": [["pickle.dump"], 0], "22": [["out.write"], 0]}}
    samples = [sample("", 2.0, dump), sample("", 1.0, write), sample("learn.backward", 4.0, dump)]
    analysis = make(phase("learn.backward", 4.0), samples=samples, notes={"lines": lines})
    assert [each.evidence["seconds"] for each in logs.logging(analysis)] == [pytest.approx(1.0)]


def test_what_is_computed_to_be_written_goes_away_with_the_writing(make: Make) -> None:
    norm = frame("norm", "/venv/lib/python3.11/site-packages/torch/functional.py")
    keeps, loop_line = frame("Registro.apuntar", line=46), frame("main", line=77)
    taken = [
        sample("", 3.0, norm, keeps, loop_line),
        sample("", 1.0, frame("Registro.apuntar", line=48), loop_line),
        sample("env.step", 6.0, frame("step", line=9), loop_line),
    ]
    notes = {"lines": {"/home/me/train.py": {"48": [["f.write"], 0]}}}
    (found,) = logs.logging(make(samples=taken, notes=notes, env_steps=1000))
    assert (found.evidence["seconds"], found.where[0].line) == (4.0, 77)
    learns = [*taken, sample("learn.backward", 1.0, norm, keeps, loop_line)]
    (found,) = logs.logging(make(samples=learns, notes=notes, env_steps=1000))
    assert found.evidence["seconds"] == 1.0
