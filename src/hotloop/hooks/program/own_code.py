"""The program's own code as phases: functions the user named, then recognized ones."""

from __future__ import annotations

import threading
from typing import Any

from hotloop.capture.schema import Notes
from hotloop.hooks.install import Hooks
from hotloop.hooks.program.attaching import Shapes
from hotloop.hooks.program.files import own_package
from hotloop.hooks.program.named_phases import NamedPhases
from hotloop.measure.profiler import Profiler

#: Inspecting takes milliseconds; a lock that was held during a fork is never released.
LONGEST_INSPECTION_S = 1.0


class OwnCode:
    """Inspects every module of the program when it is imported, and the script while it runs."""

    def __init__(self, hooks: Hooks, profiler: Profiler, patterns: list[str]) -> None:
        self.named = NamedPhases(hooks, profiler, patterns)
        self.shapes = Shapes(hooks, profiler, self.named)
        self._hooks = hooks
        self._inspecting = threading.RLock()
        hooks.on_import.append(self._imported)
        hooks.on_class.append(self.shapes.inspect_unpickled)
        # The script's definitions are inspected as they are made (`run.definitions`). Whatever
        # is defined in another way is inspected when the loop begins, or within a second.
        profiler.at_loop.append(self.inspect_main)

    def _imported(self, name: str) -> None:
        self.named.inspect(name)
        self.shapes.inspect(name)

    def inspect_main(self) -> None:
        """Inspect what the script has defined since the last time."""
        # The recorder's thread may be inspecting: the program waits until it is done.
        if not self._inspecting.acquire(timeout=LONGEST_INSPECTION_S):
            return
        try:
            self.shapes.inspect_main()
        except Exception as error:
            self._hooks.failures["__main__"] = repr(error)
        finally:
            self._inspecting.release()

    def notes(self) -> dict[str, Any]:
        """The notes on recognized functions, and on the program's own code."""
        package = own_package()
        own = {Notes.own_package: package} if package else {}
        return {**self.named.notes(), **self.shapes.notes(), **own}
