"""How a machine and its Python environment would affect training: pure functions of a survey.

`examine` turns the findings of `run.survey` into checks: each describes a state, and a problem also
says what to do. Nothing is read here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop import units
from hotloop.capture.schema import LibraryUse

OK, INFO, PROBLEM = "ok", "info", "problem"

#: Builds of frameworks that can use an accelerator of this kind.
_FITTING = {"CUDA": ("cuda",), "ROCm": ("rocm",), "MPS": ("mps", "metal")}
#: With less free memory than this, a program that fills a replay buffer may be killed.
LITTLE_MEMORY = 1 << 30
#: A machine that has swapped out this much is short of memory now.
MUCH_SWAP = 512 << 20


@dataclass(frozen=True)
class Check:
    """One thing that was checked."""

    topic: str
    state: str
    text: str
    remedy: str = ""
    #: Time was up before this could be checked.
    unfinished: bool = False


@dataclass(frozen=True)
class Framework:
    """One framework as a process of its own found it."""

    name: str
    version: str = ""
    #: The kind of build: "cuda 12.4", "rocm 6.1", "mps", "cpu", ...
    build: str = ""
    #: Devices that it sees, the CPU excluded.
    devices: list[str] = field(default_factory=list)
    #: Threads of one operation, if the framework reports them.
    threads: int | None = None
    error: str = ""
    #: Its import took longer than the survey waits.
    unfinished: bool = False


@dataclass(frozen=True)
class Survey:
    """Everything that was found."""

    cores: int = 1
    #: Cores that other programs keep busy now; None if that cannot be read.
    busy_cores: float | None = None
    quota_cores: float | None = None
    memory_bytes: int | None = None
    memory_limit: int | None = None
    memory_available: int | None = None
    swap: tuple[int, int] | None = None
    accelerators: list[str] = field(default_factory=list)
    driver: str | None = None
    #: Why the driver's figures of a card cannot be read; None if they can, or there is no card.
    card_error: str | None = None
    #: Variables that hide devices: name -> whether it hides all of them.
    hidden_by: dict[str, bool] = field(default_factory=dict)
    #: Thread settings by the variables that libraries read: name -> number.
    thread_settings: dict[str, int] = field(default_factory=dict)
    frameworks: list[Framework] = field(default_factory=list)
    native: bool = True
    why_twin: str | None = None
    #: Libraries that are installed, by title, and how hotloop's hooks fit them.
    hooks: dict[str, LibraryUse] = field(default_factory=dict)
    hook_failures: dict[str, str] = field(default_factory=dict)
    hooks_unfinished: bool = False


#: From this share of busy cores on, times are longer and comparisons less sure.
BUSY_SHARE = 0.25
_HARM = {PROBLEM: 0, INFO: 1, OK: 2}


def examine(survey: Survey) -> list[Check]:
    """Every check: how busy the machine is, then the most harmful problems first."""
    checks = [
        *_accelerators(survey),
        *[check for each in survey.frameworks for check in _framework(survey, each)],
        *_cores(survey),
        *_threads(survey),
        *_memory(survey),
        _core(survey),
        *_hooks(survey),
    ]
    return [*_load(survey), *sorted(checks, key=lambda check: _HARM[check.state])]


def _load(survey: Survey) -> list[Check]:
    busy = survey.busy_cores
    if busy is None:
        return []
    text = f"Other programs keep {busy:.1f} of {survey.cores} cores busy"
    if busy < BUSY_SHARE * survey.cores:
        return [Check("load", OK, f"{text}: quiet enough to measure.")]
    return [
        Check(
            "load",
            INFO,
            f"{text}: times measured now are longer than on a quiet machine, and comparisons "
            "need more runs.",
            "stop other programs, or measure later",
        )
    ]


def is_wrong(checks: list[Check]) -> bool:
    """Whether something needs a remedy."""
    return any(check.state == PROBLEM for check in checks)


# -- accelerators --


def _accelerators(survey: Survey) -> list[Check]:
    seen = survey.accelerators
    if not seen:
        text = "No accelerator: the driver sees none. Training runs on the CPU, which is "
        return [Check("accelerator", INFO, text + "fine for small networks.")]
    driver = f", driver {survey.driver}" if survey.driver else ""
    kinds = ", ".join(f"{seen.count(kind)} {kind}" for kind in dict.fromkeys(seen))
    checks = [Check("accelerator", OK, f"Accelerators seen by the driver: {kinds}{driver}.")]
    if survey.card_error:
        checks.append(
            Check(
                "accelerator",
                INFO,
                f"The card's load, memory, power and clocks cannot be read: {survey.card_error}. "
                "Reports will not include them.",
            )
        )
    for name, hides_all in survey.hidden_by.items():
        if hides_all:
            checks.append(
                Check(
                    "accelerator",
                    PROBLEM,
                    f"{name} is set and hides all accelerators from programs.",
                    f"unset {name}, or set it to the number of a device",
                )
            )
        else:
            checks.append(
                Check("accelerator", INFO, f"{name} is set and hides some devices from programs.")
            )
    return checks


def _framework(survey: Survey, framework: Framework) -> list[Check]:
    name = f"{framework.name} {framework.version}".strip()
    if framework.unfinished:
        text = f"{name} was still being imported when time ran out; check it with `--wait 2m`."
        return [Check(framework.name, INFO, text, unfinished=True)]
    if framework.error:
        return [
            Check(
                framework.name,
                PROBLEM,
                f"{name} is installed but cannot be imported: {framework.error}",
                f"reinstall {framework.name}, or remove it if nothing uses it",
            )
        ]
    if framework.devices:
        listed = ", ".join(framework.devices)
        return [Check(framework.name, OK, f"{name} ({framework.build}) sees {listed}.")]
    plain = f"{name} ({framework.build or 'cpu'}) sees no accelerator"
    if not survey.accelerators:
        return [Check(framework.name, OK, f"{plain}; the machine has none.")]
    if any(survey.hidden_by.values()):
        return [Check(framework.name, INFO, f"{plain}: a variable hides them.")]
    why, remedy = _why_none(survey, framework)
    return [Check(framework.name, PROBLEM, f"{plain}: {why}.", remedy)]


def _why_none(survey: Survey, framework: Framework) -> tuple[str, str]:
    kind = survey.accelerators[0]
    if not framework.build.lower().startswith(_FITTING.get(kind, ())):
        return (
            f"this build cannot use {kind}",
            f"install the build of {framework.name} for {kind} (its site's selector names the "
            "command), or train small networks on the CPU",
        )
    if survey.driver:
        return (
            f"its driver ({survey.driver}) may be too old for {framework.build}",
            f"update the driver, or install a build of {framework.name} for an older version",
        )
    return (
        "the device is there but cannot be opened",
        "check the permissions of the device files; in a container pass the devices through "
        "(--gpus all)",
    )


# -- cores and threads --


def _cores(survey: Survey) -> list[Check]:
    if survey.quota_cores is not None and survey.quota_cores < survey.cores:
        return [
            Check(
                "cores",
                INFO,
                f"This container may use {survey.quota_cores:g} of the {survey.cores} cores that "
                "libraries count.",
            )
        ]
    return [Check("cores", OK, f"{units.plural(survey.cores, 'core')}, not limited.")]


def _threads(survey: Survey) -> list[Check]:
    usable = min(survey.cores, survey.quota_cores or survey.cores)
    checks = []
    for name, threads in survey.thread_settings.items():
        checks.append(_thread_check(f"{name} is {threads}", threads, usable, name))
    for framework in survey.frameworks:
        if framework.threads is not None:
            uses = units.plural(framework.threads, "thread")
            text = f"{framework.name} uses {uses} per operation"
            checks.append(_thread_check(text, framework.threads, usable, "OMP_NUM_THREADS"))
    return checks


def _thread_check(text: str, threads: int, usable: float, variable: str) -> Check:
    fitting = max(int(usable), 1)
    if threads > max(usable, 1):
        return Check(
            "threads",
            PROBLEM,
            f"{text}, but only {units.plural(usable, 'core')} can be used: threads will wait for "
            "each other.",
            f"export {variable}={fitting}, and 1 where several processes train or step",
        )
    return Check("threads", OK, f"{text}.")


# -- memory --


def _memory(survey: Survey) -> list[Check]:
    total, limit = survey.memory_bytes, survey.memory_limit
    if total is None:
        return []
    checks = []
    text = f"{_gigabytes(total)} of memory"
    if limit is not None and limit < total:
        text += f", of which this container may use {_gigabytes(limit)}"
    free = survey.memory_available
    if free is not None:
        text += f"; {_gigabytes(free)} are free"
    if free is not None and free < LITTLE_MEMORY:
        checks.append(
            Check(
                "memory",
                PROBLEM,
                f"{text}: too little for training.",
                "close what uses the memory, or store frames as uint8",
            )
        )
    else:
        checks.append(Check("memory", OK, f"{text}."))
    if survey.swap is not None and survey.swap[1] > MUCH_SWAP:
        checks.append(
            Check(
                "memory",
                PROBLEM,
                f"{_gigabytes(survey.swap[1])} of memory are swapped out: this machine is "
                "short of memory right now.",
                "close what uses the memory before measuring anything",
            )
        )
    return checks


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


# -- hotloop itself --


def _core(survey: Survey) -> Check:
    if survey.native:
        return Check("hotloop", OK, "hotloop measures with its native core.")
    return Check(
        "hotloop",
        PROBLEM,
        "hotloop measures with its pure-Python twin "
        f"({survey.why_twin or 'nothing was compiled'}): each region costs several times more.",
        "install hotloop where there is a C compiler, or from a wheel",
    )


def _hooks(survey: Survey) -> list[Check]:
    checks, fitting = [], []
    if survey.hooks_unfinished:
        text = (
            "Hooks: not every library was imported before time ran out; check them with "
            "`--wait 2m`."
        )
        checks.append(Check("hooks", INFO, text, unfinished=True))
    for title, use in survey.hooks.items():
        missing = use.missing
        version = use.version or "unknown"
        if missing:
            listed = ", ".join(missing[:3])
            checks.append(
                Check(
                    "hooks",
                    PROBLEM,
                    f"{title} {version}: {len(missing)} of its phases cannot be timed ({listed}).",
                    f"use a version of {title} that hotloop supports, or name phases with --phase",
                )
            )
        else:
            fitting.append(title if version == "unknown" else f"{title} {version}")
    if fitting:
        checks.append(Check("hooks", OK, f"All hooks fit: {', '.join(fitting)}."))
    for what, error in survey.hook_failures.items():
        checks.append(
            Check(
                "hooks",
                PROBLEM,
                f"{what}: the hook failed ({error}).",
                "report it; hotloop works without that hook",
            )
        )
    return checks
