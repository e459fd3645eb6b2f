"""Secrets are masked by name, position and shape; useful words survive; time is linear."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotloop.masking import LONGEST, MASK, mask_all, mask_arguments, mask_shapes, mask_text

WORD = "hunter2hunter2"
#: A key of 40 hexadecimal digits, which looks like a commit.
HEX = "3d9a2eb05e0bb1b3c4d5" + "e6f708192a3b4c5d6e7f"

#: Arguments that hold `WORD` or `HEX` as a secret.
ARGUMENTS = [
    ["wandb", "login", HEX],
    ["wandb", "login", "--relogin", HEX],
    [f"wandb login {HEX}"],
    [f"hf auth login {WORD}"],
    [f"https://{WORD}@github.com/me/repo.git"],
    [f"git+https://{HEX}@github.com/me/repo.git"],
    [f"https://me:{WORD}/{WORD}@host.example/x"],
    [f"https://me:{WORD}@{WORD}@host.example/x"],
    ["curl", "-u", f"me:{WORD}"],
    [f"curl -u me:{WORD} host"],
    ["--password", f"-{WORD}"],
    ["--passwords", WORD],
    ["--api-keys", f"{WORD},{WORD}"],
    [f'{{"wandb": {{"project": "snake", "key": "{WORD}"}}}}'],
    [json.dumps({"env": json.dumps({"password": WORD})})],
    [json.dumps(json.dumps({"api_key": WORD, "lr": 0.1}))],
    [f"https://x.blob.core.windows.net/c/b?sv=2022&sig={WORD}%3D"],
    [f"token='{WORD} {WORD}"],
    [f"{'a.' * 500}password={WORD}"],
    [f"password2={WORD}"],
    [f"db_pass={WORD}"],
    [f"--pass={WORD}"],
]


@pytest.mark.parametrize("words", ARGUMENTS, ids=lambda words: " ".join(words)[:40])
def test_secrets_by_name_and_position(words: list[str]) -> None:
    masked = " ".join(mask_arguments(["train.py", *words, "--lr", "0.1"]))
    assert WORD not in masked
    assert HEX not in masked
    assert MASK in masked
    assert masked.endswith("--lr 0.1")


@pytest.mark.parametrize(
    "key",
    [
        "gsk_" + "AbCdEfGh1234567890IjKlMnOp",
        "nvapi-" + "AbCd_EfGh-1234567890IjKlMnOp",
        "rpa_" + "ABCDEFGH1234567890IJKLMNOP",
        "ak-" + "AbCdEfGh1234567890IjKl",
        "sk-" + "or-v1-0123456789abcdef0123456789abcdef",
    ],
)
def test_secrets_by_shape(key: str) -> None:
    for text in (key, f"use {key} now", f"a={key},b=2"):
        assert key not in mask_shapes(text)


@pytest.mark.parametrize(
    "words",
    [
        ["forward_pass=True"],
        ["--pad-token", "<pad>"],
        ["--eos_token=</s>"],
        ["cls_token=True"],
        ["--n-pass=2"],
        ["--max-tokens", "512"],
        ["tokens=512"],
        ["sig=0.1"],
        ["sk_dqn_cartpole_seed_12345"],
        ["--run-name=sk_dqn_cartpole_seed_12345"],
        ["--auth", "--lr", "0.1"],
        ["--token", "-v"],
        ["--commit", HEX],
        ["use_auth_token=False"],
        ["ssh://git@github.com/me/repo.git"],
        ["http://localhost:8080/users/me@example.com"],
        ["me@example.com:runs/3"],
        ["python -u train.py"],
        ["obs_key=image", "key=agent_0_position"],
    ],
    ids=" ".join,
)
def test_useful_words_survive(words: list[str]) -> None:
    assert mask_arguments(words) == words


def test_values_of_any_depth() -> None:
    settings = {
        "wandb": {"key": WORD, "project": "snake"},
        "tokens": [WORD, WORD],
        "key": "image",
        "model": {"cls_token": True, "hidden": [64, 64]},
    }
    assert mask_all(settings) == {
        "wandb": {"key": MASK, "project": "snake"},
        "tokens": [MASK, MASK],
        "key": "image",
        "model": {"cls_token": True, "hidden": [64, 64]},
    }


# -- properties --

NAMES = ["password", "API_KEY", "authToken", "db.passwd", "hf_tokens", "clientSecret", "my-dsn"]
VALUES = st.text("abcdefghXYZ0123456789_/+.-", min_size=12, max_size=40)


@given(
    st.sampled_from(NAMES),
    VALUES,
    st.sampled_from(["{}={}", "{}: {}", '"{}": "{}"', "{} => {}", "?{}={}&x=1"]),
)
def test_a_named_value_never_survives(name: str, value: str, form: str) -> None:
    assert value not in mask_text("x " + form.format(name, value)).replace(name, "")


@given(st.sampled_from(NAMES), VALUES)
def test_nested_json_never_shows_it(name: str, value: str) -> None:
    text: Any = {name: value}
    for _ in range(3):
        text = json.dumps({"config": text})
        assert value not in mask_text(text).replace(name, "")


@given(st.text(max_size=300))
def test_any_text_is_masked_once(text: str) -> None:
    masked = mask_text(text)
    assert mask_text(masked) == masked


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=20))
def test_any_arguments_keep_their_number(arguments: list[str]) -> None:
    assert len(mask_arguments(arguments)) == len(arguments)


# -- linear time --

#: Parts that make a pattern begin again and again, or backtrack.
ADVERSARIAL = [
    ".", "-", "a", "A", "aA", "a.", "_-.+", "a=", "a:", "key=", '"key": ', "token=", "pass", "password", "://",
    "://:", "@", "://@", "a@", "https://a:", "https://a:b@", "sk-", "sk_a", "SG.", "SG.a", "eyJ", "eyJa.", "1", "A1a",
    "bearer ", "basic  ", "wandb login -", "-u a:", "-u ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", '\\"', '"', "'",
    "hooks.slack.com/services/", "=", " ", "\n", "wandb:{", 'wandb": {"key', "é", "/", "a/",
]  # fmt: skip


def _seconds(text: str) -> float:
    """The least of three: other processes only ever add time."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        mask_text(text)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("part", ADVERSARIAL)
def test_time_is_linear(part: str) -> None:
    short, long = LONGEST // 16, LONGEST
    # Sixteen times as much text; quadratic time would be 256 times as long.
    measured = _seconds((part * short)[:short]), _seconds((part * long)[:long])
    assert measured[1] < 64 * max(measured[0], 0.000_2)


def test_text_beyond_any_use_is_cut_after_it_was_masked() -> None:
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    text = "x" * (LONGEST - 10) + " " + key + "y" * 1_000_000
    masked = mask_text(text)
    assert len(masked) < LONGEST + 100
    assert "ghp_" not in masked
    assert "more characters" in masked
