"""Secrets: planted wherever a program can put one, and searched for in everything that is written.

None of these was ever given out: they only look like it.
"""

from __future__ import annotations

import base64
import gzip
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from hotloop.cli import main as hotloop
from hotloop.experiment.command import parse_command, short_names
from hotloop.masking import MASK, mask_arguments, mask_shapes

WORD = "hunter2hunter2"
#: Keys in the shapes that services give out. In parts, so that scanners do not report this file.
KEYS = {
    "AWS key": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS secret": "wJalrXUtnFEMI" + "K7MDENGbPxRfiCYEXAMPLE9KEY4aB",
    "GitHub": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "GitHub, fine-grained": "github_pat_" + "11ABCDEFG0abcdefghij_0123456789abcdefABCDEF",
    "GitLab": "glpat-" + "x9Yz8Ww7Vv6Uu5Tt4Ss3",
    "OpenAI": "sk-" + "proj-abcdEFGH1234ijklMNOP5678qrst",
    "Anthropic": "sk-" + "ant-api03-AbCdEfGh1234567890",
    "Stripe": "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "Hugging Face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "Weights & Biases": "wandb_v1_" + "AbCdEfGh1234567890IjKl",
    "Google": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "Slack": "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKl",
    "Databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "JSON Web Token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
}

#: Arguments of a program; each holds a secret, by its name or its place.
ARGUMENTS = [
    ["--password", WORD],
    [f"--password={WORD}"],
    ["--api-key", WORD],
    [f"--api_key={WORD} with spaces"],
    ["--wandb-key", WORD],
    ["--key", WORD],
    ["--hf_token", WORD],
    [f"--authToken={WORD}"],
    ["--aws-secret-access-key", WORD],
    [f"+wandb.api_key={WORD}"],
    [f"WANDB_API_KEY={WORD}"],
    [f"https://me:{WORD}@host.example/x"],
    [f"postgresql://me:{WORD}@db.example:5432/runs"],
    ["-H", f"Authorization: Bearer {WORD}"],
    ["-H", f"Authorization: Basic {WORD}"],
    ["--config", f'{{"lr": 0.1, "db": {{"password": "{WORD}", "user": "me"}}}}'],
    ["--dsn", f"Server=db;User=me;Password={WORD};Pooling=true"],
    [f"https://host.example/upload?api_key={WORD}&run=3"],
    [f"https://hooks.slack.com/services/T00/B00/{WORD}"],
    [f"-----BEGIN RSA PRIVATE KEY-----\n{WORD}\n-----END RSA PRIVATE KEY-----"],
]

#: What must stay as it is.
HARMLESS = [
    "--lr", "0.1", "--seed", "3", "--max-tokens", "512", "--tokenizer", "bpe", "--obs-key", "image",
    "--author", "me", "--env", "CartPole-v1", "--run-name", "PPO-CartPole-v1-LongExperimentName-seed12",
    "task_with_a_long_name_here_and_more", "--commit", "3d9a2eb05e0bb1b3c4d5e6f708192a3b4c5d6e7f", "--policy",
    "MlpPolicy", "data/train/2026-11-15/part-00001-of-00010.parquet", "model.policy=recurrent", "--auth-free",
    "https://host.example/x?run=3", "12:30", "--shuffle_buffer_with_long_name",
]  # fmt: skip


@pytest.mark.parametrize("words", ARGUMENTS, ids=lambda words: words[0][:30].replace(WORD, "…"))
def test_arguments_are_masked(words: list[str]) -> None:
    masked = mask_arguments(["train.py", *words, "--lr", "0.1"])
    assert WORD not in " ".join(masked)
    assert MASK in " ".join(masked)
    assert masked[-2:] == ["--lr", "0.1"]
    assert len(masked) == len(words) + 3


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_known_by_their_shape(name: str) -> None:
    for text in (KEYS[name], f"fetch {KEYS[name]}", f"a={KEYS[name]},b=2", f"'{KEYS[name]}'"):
        assert KEYS[name] not in mask_shapes(text)
        assert MASK in mask_shapes(text)


def test_other_arguments_stay() -> None:
    assert mask_arguments(HARMLESS) == HARMLESS


def test_experiments_show_commands_without_secrets() -> None:
    command = parse_command(f"WANDB_API_KEY={WORD} OMP_NUM_THREADS=1 train.py --password {WORD}")
    assert WORD not in str(command)
    assert "OMP_NUM_THREADS=1" in str(command)
    # What is run is what was written.
    assert command.argv("cap", None)[-3:] == ["train.py", "--password", WORD]
    assert parse_command(command.typed()) == command
    names = short_names(parse_command(f"a.py --key {WORD}"), parse_command("a.py --turbo"))
    assert WORD not in " ".join(names)


PROGRAM = """
import os, sys, threading, time
from hotloop import count, profile
from hotloop.run.current import current_session

KEYS = {keys!r}
session = current_session()
# What a hook may come to know of a program.
session.recorder.note("remarks", [f"cannot log in with {{key}}" for key in KEYS])
session.recorder.note("about", {{"password": {word!r}, "deep": [{{"api_key": {word!r}}}]}})
session.profiler.core.failures["sb3"] = f"ConnectionError('https://me:{word}@host/x')"
for _ in range(3):
    for key in KEYS:
        with profile(f"fetch {{key}}", category=f"of {{key}}"):
            count(f"calls with {{key}}")
            time.sleep(0.002)
    with profile("collect"), profile("env.step"):
        count("env_steps")
        time.sleep(0.01)
if os.fork() == 0:
    with profile("env.step"):
        time.sleep(0.01)
    os._exit(0)
os.wait()
raise ValueError({word!r})
"""

FORMATS = ("txt", "md", "html", "json", "detailed.json", "svg", "csv", "collapsed", "speedscope.json",
           "perfetto.json", "pstats", "parquet", "png")  # fmt: skip


REPORTS = ("txt", "md", "html", "json", "detailed.json", "svg", "png")


def contents(path: Path) -> bytes:
    """A file's bytes, with what is packed in it unpacked."""
    data = path.read_bytes()
    for packed in re.findall(rb'"d":"([A-Za-z0-9+/=]{40,})"', data):
        try:
            data += zlib.decompress(base64.b64decode(packed))
        except (ValueError, zlib.error):
            pass
    for packed in re.findall(rb"H4sI[A-Za-z0-9+/=]{20,}", data):
        try:
            data += gzip.decompress(base64.b64decode(packed))
        except (OSError, EOFError, ValueError):
            pass
    return data


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the program forks")
def test_nothing_that_is_written_holds_a_secret(
    tmp_path: Path, say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOTLOOP_STRICT_SCHEMA", "")  # a note with a key of its own is planted
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    keys = list(KEYS.values())
    (tmp_path / "train.py").write_text(PROGRAM.format(keys=keys, word=WORD))
    arguments = [word for words in ARGUMENTS for word in words] + keys
    environment = {f"PLANTED_{n}": key for n, key in enumerate(keys)}
    environment |= {"WANDB_API_KEY": WORD, "PLANTED": "an environment variable's value"}
    command = [sys.executable, "-m", "hotloop"]
    done = subprocess.run(
        [*command, "run", "-o", "cap", "--trace", "train.py", *arguments],
        cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    # The program's own traceback is its own; hotloop's report beside it is not.
    report = done.stderr.rpartition(f"ValueError: {WORD}\n")[2]
    for ending in FORMATS:
        which = "report" if ending in REPORTS else "export"
        assert hotloop([which, str(tmp_path / "cap"), "-o", str(tmp_path / f"out.{ending}")]) == 0
    files = [*(tmp_path / "cap").iterdir(), *tmp_path.glob("out.*")]
    planted = [WORD, *keys, "an environment variable's value"]
    searched = 0
    for path in files:
        data = contents(path)
        searched += len(data)
        for secret in planted:
            assert secret.encode() not in data, f"{path.name} holds {secret}"
    for secret in planted:
        assert secret not in report
    text = (tmp_path / "out.txt").read_text()
    assert MASK in text
    assert "env.step" in text
    say(
        f"{len(planted)} secrets in {len(arguments)} arguments, {len(environment)} variables, names, "
        f"counters and notes: none in {len(files)} files of captures, reports and exports "
        f"({searched:,} bytes)"
    )
