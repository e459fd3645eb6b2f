"""Records part of a program as a capture, in a process that continues afterwards.

    with record("runs/first"):
        train()

Modules that are already imported are hooked as well, and at the end all hooks are removed. Under
`hotloop run`, everything is recorded anyway, so this does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from hotloop.integrations import SCALARS
from hotloop.report.after_run import show_end
from hotloop.run.current import current_session
from hotloop.run.folders import as_typed, make_folder
from hotloop.run.messages import notify
from hotloop.run.options import all_phases, checked_phases
from hotloop.run.recorder import WINDOW_SECONDS
from hotloop.run.session import Session
from hotloop.run.settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Self


class Recording:
    """Measures from `begin` to `end`; also a `with` block. A program's exit is an end too."""

    #: The active recording, if any.
    current: Recording | None = None

    def __init__(
        self,
        output: str | Path | None = None,
        *,
        name: str | None = None,
        phases: Sequence[str] = (),
        quiet: bool = False,
        scalars: bool = False,
        window_s: float = WINDOW_SECONDS,
        command: Sequence[str] | None = None,
        root_code: CodeType | None = None,
    ) -> None:
        self._output = str(output) if output is not None else None
        self._name = name or Path(sys.argv[0]).stem or "program"
        self._phases = checked_phases(phases)
        self._quiet = quiet
        self._scalars = scalars
        self._window_s = window_s
        self._command = list(command) if command is not None else None
        self._root_code = root_code
        self._session: Session | None = None
        #: Where the capture is; that of `hotloop run` where this is inside one.
        self.folder: Path | None = None

    @property
    def is_on(self) -> bool:
        """Whether this recording is active."""
        return self._session is not None

    @property
    def session(self) -> Session | None:
        return self._session

    def begin(self) -> Recording:
        """Begin to measure, unless another recording is active."""
        measures = current_session()
        if measures is not None:
            if Recording.current is not None:
                notify(
                    f"{Recording.current.folder} is still being recorded; end it before "
                    "starting another"
                )
            if self._scalars:
                measures.write_curves(SCALARS)
            self.folder = Path(measures.settings.folder)
            return self
        phases = all_phases(self._phases, Path.cwd())
        self.folder = make_folder(self._output, self._name)
        settings = Settings(
            str(self.folder),
            phases=phases,
            quiet=self._quiet,
            scalars=SCALARS if self._scalars else "",
            window_s=self._window_s,
        )
        self._session = Session(settings, root_code=self._root_code)
        self._session.on_finish = self._show
        Recording.current = self
        self._session.start(self._command)
        if self._session.attached.own_code is not None:
            self._session.attached.own_code.inspect_main()
        return self

    def end(self, reason: str = "end") -> Path | None:
        """Finish the capture and take every hook off; safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            try:
                session.finish(reason=reason)
            finally:
                session.leave()
                Recording.current = None
        return self.folder

    def __enter__(self) -> Recording:
        return self if self.is_on else self.begin()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.end(kind.__name__ if kind is not None else "end")

    def _show(self) -> None:
        if self.folder is not None and not self._quiet:
            show_end(self.folder, as_typed(self.folder), is_newest=False)


class RecordingCallback:
    """What the libraries' callbacks share: recording from construction to the end of training.

    As a `with` block it measures up to the end of the block, over several trainings.
    """

    _in_block = False

    def __init__(
        self,
        output: str | Path | None = None,
        *,
        name: str | None = None,
        phases: Sequence[str] = (),
        scalars: bool = True,
        quiet: bool = False,
    ) -> None:
        super().__init__()  # the library's own callback
        self.recording = Recording(
            output, name=name, phases=phases, scalars=scalars, quiet=quiet
        ).begin()

    def training_ended(self) -> None:
        """The library has finished training."""
        if not self._in_block:
            self.recording.end()

    def __enter__(self) -> Self:
        self._in_block = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.recording.__exit__(kind)


def record(
    output: str | Path | None = None,
    *,
    name: str | None = None,
    phases: Sequence[str] = (),
    quiet: bool = False,
    scalars: bool = False,
) -> Recording:
    """Start measuring, until `.end()`, the end of a `with` block, or the program's exit.

    `output` is the capture's folder (it must not exist), `name` a name for one below
    runs/hotloop; `phases` are as `hotloop run --phase` takes them; `quiet` prints no report;
    `scalars` writes figures beside the program's own curves.
    """
    return Recording(output, name=name, phases=phases, quiet=quiet, scalars=scalars).begin()
