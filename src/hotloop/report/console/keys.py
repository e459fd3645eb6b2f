"""Single key presses, without Enter; none on a pipe or an unsupported system."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO


class Keys:
    """While open, the terminal passes each key on at once and does not echo it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if sys.platform != "win32" and self._stream.isatty():
            import termios
            import tty

            self._before = termios.tcgetattr(self._stream)
            tty.setcbreak(self._stream)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform != "win32" and self._before is not None:
            import termios

            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._before)

    def wait(self, key: str, seconds: float) -> bool:
        """Whether that key was pressed within these seconds."""
        if sys.platform == "win32" or self._before is None:
            time.sleep(seconds)
            return False
        import os
        import select

        due = time.monotonic() + seconds
        while (left := due - time.monotonic()) > 0:
            if not select.select([self._stream], [], [], left)[0]:
                return False
            pressed = os.read(self._stream.fileno(), 64)
            if key.encode() in pressed or not pressed:
                return True
        return False
