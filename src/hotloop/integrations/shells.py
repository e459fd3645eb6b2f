"""The completion of each shell, as a script to be read by it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

from hotloop.integrations.completion import ANYTHING, CAPTURE, Command, Option, Value

#: Where captures are, seen from where people type.
_RUNS = "runs/hotloop/*/"


def _lines(*parts: str | Iterable[str]) -> str:
    flat = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return "\n".join(flat) + "\n"


# -- bash --

_BASH = r"""# What `hotloop` can be followed by, for bash: source this, or put it where
# bash-completion looks (~/.local/share/bash-completion/completions/hotloop).

_hotloop_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

_hotloop_captures() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -d -- "$cur") $(compgen -G "@RUNS@" | sed 's:/*$::' | grep -F -- "$cur"))
}

_hotloop_nothing() { compopt +o default 2>/dev/null; }

_hotloop() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options valued program starters places place=0 at=2 word
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _hotloop_words "@COMMANDS@ --help --version"
        return
    fi
    # --option=value comes as three words
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $command in
@CASES@
    *) return ;;
    esac
    while ((at < COMP_CWORD)); do
        word=${COMP_WORDS[at]}
        if [[ " $starters " == *" $word "* ]]; then return; fi
        if [[ $word == -* && $word != -- ]]; then
            [[ " $valued " == *" $word "* ]] && ((at++))
            [[ ${COMP_WORDS[at]} == = ]] && ((at++))
        elif [[ -n $program ]] && ((place >= places)); then
            return # the program's own words: files
        else
            ((place++))
        fi
        ((at++))
    done
    case $command:$prev in
@VALUES@
    esac
    if [[ $cur == -* ]]; then _hotloop_words "$options"; return; fi
    case $command:$place in
@PLACES@
    *) [[ -n $program ]] || _hotloop_nothing ;;
    esac
}

complete -o default -F _hotloop hotloop"""


def bash(commands: list[Command]) -> str:
    cases, values, places = [], [], []
    for each in commands:
        names = " ".join(n for option in each.options for n in option.names)
        starters = " ".join(n for o in each.options if o.begins_program for n in o.names)
        cases += [
            f"    {each.name})",
            f'        options="{names}"',
            f'        valued="{" ".join(each.valued)}" program={"yes" if each.program else ""}',
            f'        starters="{starters}" places={len(each.places)}',
            "        ;;",
        ]
        for option in each.options:
            if option.value is not None:
                at = " | ".join(f"{each.name}:{name}" for name in option.names)
                values.append(f"    {at}) {_bash_value(option.value)} return ;;")
        places += [
            f"    {each.name}:{place}) {_bash_value(value)} ;;"
            for place, value in enumerate(each.places)
        ]
    script = _BASH.replace("@COMMANDS@", " ".join(each.name for each in commands))
    for mark, lines in (("CASES", cases), ("VALUES", values), ("PLACES", places)):
        script = script.replace(f"@{mark}@", "\n".join(lines))
    return _lines(script.replace("@RUNS@", _RUNS))


def _bash_value(value: Value) -> str:
    if value.words:
        return f'_hotloop_words "{" ".join(value.words)}";'
    return {CAPTURE: "_hotloop_captures;", ANYTHING: "_hotloop_nothing;"}.get(value.kind, "")


# -- zsh --

_ZSH_HEAD = """#compdef hotloop
# What `hotloop` can be followed by, for zsh: put this as _hotloop into a folder of $fpath, or
# source it after compinit.

_hotloop_captures() { _alternative 'captures:capture:compadd - @RUNS@(N)' 'f:folder:_files -/' }

_hotloop() {
    local -a commands
    commands=("""

_ZSH_MIDDLE = """    )
    if (( CURRENT == 2 )); then
        _describe -t commands command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in"""

_ZSH_TAIL = """    esac
}

if [[ $funcstack[1] == _hotloop ]]; then _hotloop "$@"; else compdef _hotloop hotloop; fi"""


def zsh(commands: list[Command]) -> str:
    listed = [f"        {_quoted(each.name + ':' + each.help)}" for each in commands]
    cases: list[str] = []
    for each in commands:
        specs = [spec for option in each.options for spec in _zsh_option(option)]
        specs += [f"{n}: :{_zsh_value(value)}" for n, value in enumerate(each.places, 1)]
        specs += ["*: :_files"] if each.program else []
        # Options end where the program begins; elsewhere they may follow.
        only_before = " -A '-*'" if each.program else ""
        cases.append(f"    {each.name})\n        _arguments -S{only_before} \\")
        cases += [f"            {_quoted(spec)} \\" for spec in specs[:-1]]
        cases += [f"            {_quoted(specs[-1])}", "        ;;"]
    head = _ZSH_HEAD.replace("@RUNS@", _RUNS)
    return _lines(head, listed, _ZSH_MIDDLE, cases, _ZSH_TAIL)


def _zsh_option(option: Option) -> list[str]:
    """One spec a name: the others are no longer offered once it is there."""
    text = "".join(f"\\{c}" if c in "[]:\\" else c for c in option.help)
    value = ""
    if option.value is not None:
        label = option.value.label.replace(":", "\\:")
        value = f":{label}:{_zsh_value(option.value)}"
    if option.begins_program:
        value += ":*: :_files"  # and nothing else up to the end of the line
    others = "" if option.repeats or len(option.names) == 1 else f"({' '.join(option.names)})"
    star = "*" if option.repeats else ""
    return [f"{others}{star}{name}[{text}]{value}" for name in option.names]


def _zsh_value(value: Value) -> str:
    if value.words:
        return f"({' '.join(value.words)})"
    return {CAPTURE: "_hotloop_captures", ANYTHING: " "}.get(value.kind, "_files")


# -- fish --

_FISH = """# What `hotloop` can be followed by, for fish: put this into
# ~/.config/fish/completions/hotloop.fish, or source it.

function __hotloop_no_command
    test (count (commandline -opc)) -eq 1
end

# Whether we are among the options of a command, with so many other words before.
function __hotloop_at --argument-names command valued starters place
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $command; or return 1
    set -l found 0
    set -l skip 0
    for word in $words[3..-1]
        if test $skip -eq 1
            set skip 0
        else if contains -- $word (string split ' ' -- $starters)
            return 1
        else if string match -q -- '-*' $word; and test $word != --
            contains -- $word (string split ' ' -- $valued); and set skip 1
        else
            set found (math $found + 1)
        end
    end
    test -z "$place"; or test $found (string split ' ' -- $place)
end

function __hotloop_captures
    for folder in @RUNS@
        string trim --right --chars=/ $folder
    end
    __fish_complete_directories (commandline -ct) ''
end

complete -c hotloop -f -n __hotloop_no_command -s h -l help -d 'list the commands'
complete -c hotloop -f -n __hotloop_no_command -s V -l version -d 'say which version this is'"""


def fish(commands: list[Command]) -> str:
    lines: list[str] = []
    for each in commands:
        lines.append(
            f"complete -c hotloop -f -n __hotloop_no_command -a {each.name} -d {_quoted(each.help)}"
        )
        starters = " ".join(n for o in each.options if o.begins_program for n in o.names)
        here = f'__hotloop_at {each.name} "{" ".join(each.valued)}" "{starters}"'
        # The program's options are not ours to offer.
        within = f'{here} "-le {len(each.places)}"' if each.program else here
        if each.program and not each.places:
            within = f'{here} "-eq 0"'
        lines += [f"complete -c hotloop -n '{within}' {_fish_option(o)}" for o in each.options]
        for place, value in enumerate(each.places):
            lines.append(f"complete -c hotloop -n '{here} \"-eq {place}\"' {_fish_value(value)}")
        if not each.program:
            lines.append(f"complete -c hotloop -f -n '{here}'")
    return _lines(_FISH.replace("@RUNS@", _RUNS), lines)


def _fish_option(option: Option) -> str:
    names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
    value = f" -r {_fish_value(option.value)}" if option.value is not None else ""
    return f"{' '.join(names)} -d {_quoted(option.help)}{value}"


def _fish_value(value: Value) -> str:
    if value.words:
        return f"-f -a {_quoted(' '.join(value.words))}"
    return {CAPTURE: "-f -a '(__hotloop_captures)'", ANYTHING: "-f"}.get(value.kind, "-F")


def _quoted(text: str) -> str:
    return shlex.quote(text)


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
