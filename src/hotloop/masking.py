"""Replaces secrets in text before it is written anywhere.

Three things identify a secret: its name (`--api-key`, `password=`), its position (`user:…@host`,
`Bearer …`, `wandb login …`) and its shape (keys of well-known services have fixed prefixes).

Every function is linear in the length of the text: names are found word by word, patterns start at
a literal or at the beginning of a word and repeat a bounded number of times, and text beyond
`LONGEST` characters is dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

MASK = "********"

#: No argument or message is useful beyond this many characters.
LONGEST = 32_768
#: Masked beyond what is kept, so that no secret is cut below the length that identifies it.
_MARGIN = 1_024
#: Short texts repeat (region names, notes); longer ones would only fill the cache.
_CACHED = 1_000


def _lazily(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A pattern that is compiled when it is first needed: most of them never are, and all of them
    together would take longer than importing the rest of the recording side."""
    return cache(lambda: re.compile(pattern, flags))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Last words of a name that holds a secret; plurals count too.
_SECRET_WORDS = _words(
    "password passwd passphrase passcode pwd secret token auth authorization bearer credential"
    " cookie signature sig dsn connectionstring webhook webhookurl"
)
#: A key alone may be anything (`--obs-key image`); these words before it make it a secret.
_KEY_OWNERS = _words(
    "api access account auth client deploy encryption license master private secret service session"
    " shared signing ssh storage aws azure comet gcp hf huggingface mlflow neptune openai anthropic"
    " wandb"
)
_JOINED_KEYS = frozenset(owner + "key" for owner in _KEY_OWNERS)
#: `pass` is a forward pass as often as a password; alone, or after these words, it is a password.
_PASS_OWNERS = _words(
    "db user smtp root admin my ssh sudo login mail email proxy ftp redis postgres mysql"
)
#: Tokens of text, not of access: `--pad-token`, `max_tokens`.
_TEXT_TOKENS = _words(
    "pad cls sep eos bos unk mask special image audio video text stop start end begin max min num n"
    " new per total first last prompt vocab sub class input output next think context"
)
#: `api_key_value`, `password_str`, `access_key_id`, `password2`.
_SUFFIXES = frozenset({"value", "str", "string", "id"})
_NEVER_SECRET = _lazily(r"(?i:true|false|none|null|yes|no|on|off)$")
_NUMBER = _lazily(r"[-+]?\d{1,9}(?:\.\d{0,9})?(?:[eE][-+]?\d{1,3})?$")
#: Names that also hold plain numbers: `tokens=512`, `sig=0.1`.
_MAY_BE_NUMBERS = frozenset({"token", "sig", "signature"})

#: Longer names are read from their end.
_LONGEST_NAME = 80
_WORD = _lazily(r"[\w.+-]+")
_PARTS = _lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
#: Between a name and its value: `=`, `: `, `" => "`, also in JSON inside JSON.
_ASSIGNS = _lazily(r"\\{0,3}[\"']?\s{0,8}(?:=>|[:=])\s{0,8}")
_VALUE = _lazily(
    r"\\{1,3}\"[^\"]*|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?"
    r"|(?i:bearer|basic|token)\s{1,8}[^\s\"'&;,]+|[^\s\"'&;,)}\]]+",
    re.DOTALL,
)
_OWNER = _lazily(rf"(?i:{'|'.join(sorted(_KEY_OWNERS))})[\"'\\]{{0,4}}\s{{0,8}}[:=]\s{{0,8}}\{{")
#: How far before a bare `key` its owner may be: `{"wandb": {"project": …, "key": …}}`.
_OWNER_DISTANCE = 120

_SCHEME = _lazily(r"\b((?i:bearer|basic)\s{1,8})[A-Za-z0-9._~+/=-]{8,}")
_LOGIN = _lazily(
    r"\b((?:wandb|comet|neptune|hf|huggingface-cli)(?:\s{1,8}auth)?\s{1,8}login\s{1,8}"
    r"(?:--?[\w-]{1,40}\s{1,8}){0,4})[^\s-]\S*"
)
_USER = _lazily(r"(?<!\S)((?:-u|--user|--proxy-user)[ =]{0,4}[^\s:=]{1,128}:)\S+")
_WEBHOOK = _lazily(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[\w/-]+")
_PORT = _lazily(r"[^:]*:\d{1,5}/")
#: The rest of a password that holds `@` itself.
_MORE_PASSWORD = _lazily(r"(?:[^\s\"'/@]{0,128}@){0,8}")
#: Longest user name and password in a URL.
_LONGEST_LOGIN = 400

#: Keys as services give them out.
_SHAPES = _lazily(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<maybe>(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,})"  # OpenAI, Anthropic, Stripe
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{12,}"
    r"|hf_[A-Za-z0-9]{16,}|wandb_v\d_\w{16,}|r8_\w{16,}|npm_\w{20,}|pypi-[\w-]{20,}|dapi[0-9a-f]{32}"
    r"|gsk_[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|rpa_[A-Za-z0-9]{20,}|a[ks]-[A-Za-z0-9]{16,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[0-9a-f]{32,}"
    r"|eyJ[\w-]{8,}(?:\.[\w-]{4,}){0,2}"  # a JSON Web Token
    r"|\d{8,10}:[A-Za-z0-9_-]{35}"  # a Telegram bot's
    r")"
)
#: The random part of a key; names of runs (`sk_dqn_cartpole_seed_12345`) have none.
_RUN = _lazily(r"[A-Za-z0-9]{16,}")
_PRIVATE_KEY = _lazily(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)",
    re.DOTALL,
)
#: Long, with upper case, lower case and digits in no order. Words written together change their
#: kind of character at about a quarter of the positions, keys at a half.
_LONG = _lazily(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}={0,2}(?![A-Za-z0-9+/=])")
_SHARE_OF_CHANGES = 0.37
#: Enough of a long text to see whether it is random.
_JUDGED = 256
#: No shape of a key is shorter.
_SHORTEST = 13


def mask_arguments(arguments: list[str]) -> list[str]:
    """The arguments, with what looks like a secret replaced."""
    masked: list[str] = []
    hide_next = False
    for number, argument in enumerate(arguments):
        if hide_next and not _is_option(argument):
            masked.append(MASK)
            hide_next = False
            continue
        before = arguments[number - 1] if number else ""
        if before in ("-u", "--user", "--proxy-user") and ":" in argument:
            masked.append(argument.partition(":")[0] + ":" + MASK)
            continue
        logs_in = argument == "login" and bool(_LOGIN().match(f"{before} login x"))
        # There may be options between `login` and its key.
        hide_next = logs_in or _names_secret(argument) or (hide_next and "login" in arguments)
        masked.append(mask_text(argument))
    return masked


def _is_option(argument: str) -> bool:
    """`--lr` and `-v`, not a value that begins with a dash."""
    return bool(re.match(r"--[A-Za-z]|-[A-Za-z]$", argument))


def _names_secret(argument: str) -> bool:
    if not argument.startswith("-") or not _WORD().fullmatch(argument):
        return False
    return argument.lstrip("-") == "key" or bool(secret_word(argument))


def mask_text(text: str) -> str:
    """Text, with what looks like a secret by its name, its position or its shape replaced."""
    if len(text) <= _CACHED:
        return _mask_short_text(text)
    return _cut(_mask_shaped(_mask_named(text[: LONGEST + _MARGIN])), len(text))


def mask_shapes(text: str) -> str:
    """Text, with what looks like a secret by its position or its shape replaced."""
    if len(text) <= _CACHED:
        return _mask_short_shapes(text)
    return _cut(_mask_shaped(text[: LONGEST + _MARGIN]), len(text))


def _cut(masked: str, length: int) -> str:
    if length <= LONGEST:
        return masked
    return f"{masked[:LONGEST]}… ({length - LONGEST} more characters)"


# Notes repeat the same short texts; none is searched twice.
@lru_cache(maxsize=4096)
def _mask_short_text(text: str) -> str:
    return _mask_shaped(_mask_named(text))


@lru_cache(maxsize=4096)
def _mask_short_shapes(text: str) -> str:
    return _mask_shaped(text)


def mask_all(value: Any, owner: str = "") -> Any:
    """A value of any depth, with its texts masked and the values of secret names replaced."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, dict):
        return {
            mask_text(key) if isinstance(key, str) else key: _mask_item(key, each, owner)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mask_all(each, owner) for each in value]
    return value


def _mask_item(key: object, value: Any, owner: str) -> Any:
    name = key if isinstance(key, str) else ""
    # {"wandb": {"key": …}} is wandb's key.
    if secret_word(f"{owner}.{name}" if name.lower() in ("key", "keys") else name):
        if isinstance(value, str):
            return MASK
        if isinstance(value, (list, tuple)):
            return [MASK if isinstance(each, str) else mask_all(each, name) for each in value]
    return mask_all(value, name)


def secret_word(name: str) -> str:
    """The word that makes a name the name of a secret, or nothing."""
    words = [part.lower() for part in _PARTS().findall(name[-_LONGEST_NAME:])]
    while len(words) > 1 and words[-1] in _SUFFIXES:
        if words[-2:] == ["connection", "string"]:
            return "dsn"
        words.pop()
    if words[-2:] == ["webhook", "url"]:
        return "webhook"
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    singular = last[:-1] if last.endswith("s") and last != "pass" else last
    if singular == "token" and before in _TEXT_TOKENS:
        return ""
    if last == "pass":
        return "pass" if not before or before in _PASS_OWNERS else ""
    if singular == "key":
        return "key" if before in _KEY_OWNERS else ""
    return singular if singular in _SECRET_WORDS or singular in _JOINED_KEYS else ""


def _mask_named(text: str) -> str:
    """Mask the values of names that are secret: in settings, dictionaries, queries, headers."""
    if "=" not in text and ":" not in text:
        return text
    kept: list[str] = []
    done = 0
    owners = [each.end() for each in _OWNER().finditer(text)] if "{" in text else []
    for word in _WORD().finditer(text):
        if word.start() < done:
            continue
        assigns = _ASSIGNS().match(text, word.end())
        if assigns is None or not (secret := _secret_of(word, owners)):
            continue
        if word.start() == 0 and assigns[0] == "=" and not _is_plain(text[assigns.end() :], secret):
            # One setting: everything after the name is its value.
            return text[: assigns.end()] + MASK if assigns.end() < len(text) else text
        value = _VALUE().match(text, assigns.end())
        if value and not _is_plain(value[0], secret):
            kept += [text[done : value.start()], MASK]
            done = value.end()
    return "".join([*kept, text[done:]])


def _secret_of(word: re.Match[str], owners: list[int]) -> str:
    if word[0].lower() not in ("key", "keys"):
        return secret_word(word[0])
    nearest = bisect_right(owners, word.start()) - 1
    owned = nearest >= 0 and word.start() - owners[nearest] < _OWNER_DISTANCE
    return "key" if owned else ""


def _is_plain(value: str, secret: str) -> bool:
    """Whether a value is not a secret, regardless of its name."""
    value = value[:40].strip("\"' ")
    return bool(
        _NEVER_SECRET().match(value) or (secret in _MAY_BE_NUMBERS and _NUMBER().match(value))
    )


def _mask_shaped(text: str) -> str:
    if "@" in text and "://" in text:
        text = _mask_urls(text)
    if " " in text:
        text = _USER().sub(rf"\g<1>{MASK}", text)
    if len(text) < _SHORTEST:
        return text
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY().sub(MASK, text)
    if " " in text:
        text = _SCHEME().sub(rf"\g<1>{MASK}", text)
        text = _LOGIN().sub(rf"\g<1>{MASK}", text)
    if "hook" in text:
        text = _WEBHOOK().sub(rf"\g<1>{MASK}", text)
    text = _SHAPES().sub(_mask_if_key, text)
    return _LONG().sub(_mask_if_random, text)


def _mask_urls(text: str) -> str:
    """Mask `scheme://user:PASSWORD@host` and `https://TOKEN@host`."""
    kept: list[str] = []
    done = 0
    at = text.find("@")
    while at >= 0:
        start = text.rfind("://", max(done, at - _LONGEST_LOGIN), at)
        if start >= 0:
            more = _MORE_PASSWORD().match(text, at + 1)
            at = more.end() - 1 if more else at
            login = text[start + 3 : at]
            user, colon, _ = login.partition(":")
            if not re.search(r"[\s\"'<>]", login) and not _PORT().match(login):
                if colon and "/" not in user:
                    kept += [text[done : start + 3], user, ":", MASK]
                    done = at
                elif "/" not in login and text.endswith(("http", "https"), done, start):
                    kept += [text[done : start + 3], MASK]
                    done = at
        at = text.find("@", at + 1)
    return "".join([*kept, text[done:]])


def _mask_if_key(match: re.Match[str]) -> str:
    maybe = match["maybe"]
    if maybe and not any(map(_is_mixed, _RUN().findall(maybe))) and not _is_random(maybe):
        return match[0]
    return MASK


def _is_mixed(run: str) -> bool:
    return not run.isalpha() and not run.isdigit()


def _mask_if_random(match: re.Match[str]) -> str:
    return MASK if _is_random(match[0].rstrip("=")) else match[0]


def _is_random(text: str) -> bool:
    kinds = [(each.isdigit(), each.islower(), each.isupper()) for each in text[:_JUDGED]]
    changes = sum(one != other for one, other in pairwise(kinds))
    return all(map(any, zip(*kinds, strict=True))) and changes >= _SHARE_OF_CHANGES * len(kinds)
