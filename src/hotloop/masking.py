"""What looks like a secret, and its mask: nothing is written down without it.

Three things give a secret away: its name (`--api-key`, `password=`), its place (`user:…@host`,
`Bearer …`) and its shape (keys that services give out begin in known ways). Both halves use this,
and it imports nothing of either.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

MASK = "********"

#: Names of secrets, as the last words of an option, a setting or a key. A key alone may be
#: anybody's (`--obs-key image`); what stands before it tells.
_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|token|auth|authorization|bearer|credentials?"
    r"|cookie|signature|dsn|connection[-_.]?string|webhook(?:[-_.]?url)?"
    r"|(?:api|access|account|auth|client|deploy|encryption|license|master|private|secret|service"
    r"|session|shared|signing|ssh|storage|aws|azure|comet|gcp|hf|huggingface|mlflow|neptune|openai"
    r"|anthropic|wandb)[-_.]?key(?:[-_.]?id)?)"
)
#: In camel case no mark is between the words: apiKey, authToken.
_BEFORE = r"(?:[\w.+-]*(?:[-_.+]|(?<=[a-z])(?=[A-Z])))?"
_OPTION = re.compile(rf"^-{{1,2}}(?:key|{_BEFORE}(?i:{_NAME}))(?:[-_.](?:value|str|string))?$")
#: The rest of the argument is the value, whatever is in it.
_SETTING = re.compile(
    rf"^([-+]{{0,2}}{_BEFORE}(?i:{_NAME})(?:[-_.](?:value|str|string))?=).+$", re.DOTALL
)
#: Inside a text: a dictionary, a query, a header, a connection string.
_INSIDE = re.compile(
    rf"((?<![A-Za-z0-9])[\"']?{_BEFORE}(?i:{_NAME})[\"']?\s*(?:=>|[:=])\s*)"
    r"(\"[^\"]*\"|'[^']*'|(?i:bearer|basic|token)\s+[^\s\"'&;,]+|[^\s\"'&;,)}\]]+)"
)
_KEY_NAME = re.compile(rf"^{_BEFORE}(?i:{_NAME})$")

_SCHEME = re.compile(r"\b((?i:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}")
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^\s/]+(@)")
_WEBHOOK = re.compile(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[\w/-]+")

#: Keys as services give them out.
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{12,}"
    r"|hf_[A-Za-z0-9]{16,}|wandb_v\d_\w{16,}|r8_\w{16,}|npm_\w{20,}|pypi-[\w-]{20,}|dapi[0-9a-f]{32}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[0-9a-f]{32,}"
    r"|eyJ[\w-]{8,}(?:\.[\w-]{4,}){0,2}"  # a JSON Web Token
    r"|\d{8,10}:[A-Za-z0-9_-]{35}"  # a Telegram bot's
    r")"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL
)
#: Long, and its cases and digits as if thrown: nobody chose such a name. Of words written together
#: about a quarter of the letters are of another kind than those before them, of keys a half.
_LONG = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}={0,2}(?![A-Za-z0-9+/=])")
_SHARE_OF_CHANGES = 0.37


def mask_arguments(arguments: list[str]) -> list[str]:
    """The arguments, with what looks like a secret replaced."""
    masked: list[str] = []
    hide_next = False
    for argument in arguments:
        if hide_next and not re.match(r"--?[A-Za-z]", argument):
            masked.append(MASK)
            hide_next = False
            continue
        hide_next = bool(_OPTION.match(argument))
        masked.append(mask_text(argument))
    return masked


def mask_text(text: str) -> str:
    """Text, with what looks like a secret by its name, its place or its shape replaced."""
    text = _SETTING.sub(rf"\g<1>{MASK}", text)
    text = _INSIDE.sub(rf"\g<1>{MASK}", text)
    return mask_shapes(text)


def mask_shapes(text: str) -> str:
    """Text, with what looks like a secret by its place or its shape replaced."""
    if len(text) < 8:
        return text
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _SCHEME.sub(rf"\g<1>{MASK}", text)
    text = _URL_PASSWORD.sub(rf"\g<1>{MASK}\g<2>", text)
    text = _WEBHOOK.sub(rf"\g<1>{MASK}", text)
    text = _SHAPES.sub(MASK, text)
    return _LONG.sub(_mask_if_random, text)


def mask_all(value: Any) -> Any:
    """A value of any depth, every text in it masked, and whatever has a secret's name."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, dict):
        return {
            mask_text(key) if isinstance(key, str) else key: (
                MASK
                if isinstance(each, str) and isinstance(key, str) and _KEY_NAME.match(key)
                else mask_all(each)
            )
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mask_all(each) for each in value]
    return value


def _mask_if_random(match: re.Match[str]) -> str:
    text = match[0].rstrip("=")
    kinds = [(letter.isdigit(), letter.islower(), letter.isupper()) for letter in text]
    changes = sum(one != other for one, other in pairwise(kinds))
    if all(map(any, zip(*kinds, strict=True))) and changes >= _SHARE_OF_CHANGES * len(text):
        return MASK
    return match[0]
