"""Types that hooks share: the parts of the clock, the order of events, hooked functions.

The native module has no annotations, and objects of a hooked library have types that
hotloop cannot import. Both get their types here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

#: Any function or method: a library's, the program's, or the hook that replaces it.
Function: TypeAlias = Callable[..., Any]
#: A hook: called with the original function, returns the one that replaces it.
Wrapper: TypeAlias = Callable[[Function], Function]
#: Called with (result, *args, **kwargs) of a hooked function after it returned, outside its region.
Note: TypeAlias = Callable[..., object]
#: Removes something again.
Undo: TypeAlias = Callable[[], object]
#: An object of a hooked library (a tensor, a model, an environment). hotloop must not import the
#: library, so nothing but the object's behavior at run time can be relied on.
Foreign: TypeAlias = Any


class RunProcess(Protocol):
    """This process's part of a run, as far as tables may know it."""

    #: "main", or the name that the report shows for a worker.
    role: str

    @property
    def is_away(self) -> bool:
        """Whether this machine does not have the capture's folder."""

    @property
    def folder(self) -> str:
        """Where the files of this process go."""

    @property
    def run(self) -> str:
        """A name for the capture that other captures do not have."""

    def every_window(self, call: Callable[[], None]) -> None:
        """Call this before each window closes, in the recorder's thread."""

    @property
    def unnamed(self) -> bool:
        """Whether the role is still the one that the process got when it joined."""

    def environment(self) -> dict[str, str]:
        """The variables with which a child process joins the run."""


class Region(Protocol):
    """A timed piece of code, by its name; made by `Core.region`."""

    @property
    def name(self) -> str: ...
    @property
    def entered(self) -> int:
        """How often it was entered."""

    def enter(self) -> object: ...
    def exit(self) -> object: ...
    def wrap(
        self,
        function: Function,
        after: Note | None = None,
        outermost: bool = False,
        always: bool = False,
    ) -> Function:
        """The function with every call inside this region."""


class EventOrder(Protocol):
    """The events of the training loop in their order (native `EventOrder`, or `NoEvents`)."""

    envs: int
    steps: int
    steps_before: int
    actors: int
    #: Rows of the batches drawn since the last gradient step.
    drawn_rows: int
    active: bool
    off_policy: bool
    is_table: bool
    loss_is_named: bool
    last: int

    @property
    def thread(self) -> int:
        """The thread whose events these are."""

    def happened(self, event: int) -> None: ...
    def stepped(self, envs: int) -> None: ...
    def prepared(self, *args: object, **kwargs: object) -> None: ...
    def purpose(self, network: int, gradients: bool, batch_size: int) -> int: ...
    def collected(self) -> int: ...
    def learn_inline(self, is_table: bool) -> None: ...
    def forget_names(self) -> None: ...


class Updates(Protocol):
    """Counts gradient steps and their batch sizes (native `Updates`, or `NoUpdates`)."""

    #: Batch size of the next gradient step, if a table knows it better.
    batch_size: int

    def forward(self, network: int, rows: int) -> None: ...
    def backward(self) -> None: ...
    def optimizer(self, optimizer: int) -> None: ...
    def after_backward(self, result: object, *args: object, **kwargs: object) -> None: ...
    def after_step(self, result: object, *args: object, **kwargs: object) -> None: ...
    def after_forward(self, *args: object, **kwargs: object) -> None: ...
    def after_rollout(self, *args: object, **kwargs: object) -> None: ...
    def after_sample(self, result: object, *args: object, **kwargs: object) -> None: ...
    def after_minibatch(self, result: object, *args: object, **kwargs: object) -> None: ...
