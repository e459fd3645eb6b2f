"""A capture file that survives programs which close or reuse its file descriptor.

Daemons close every descriptor they have not opened, and the next file they open gets the same
number. Writing to that number would put the capture into the program's file, and closing it would
close that file. So each write checks that the descriptor still is this file, and opens it again if
not.

A program may also delete the folder with the capture in it (`shutil.rmtree("runs")`). Then writing
continues in the deleted file, and `close` creates the folder and the file again.
"""

from __future__ import annotations

import errno
import os

# Not as attributes and builtins, which a program may replace, and count its own calls of.
from os import close, fstat, lseek, read, write
from os import open as open_file
from pathlib import Path

from hotloop.capture.private import FILE_MODE, make_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Programs expect low numbers for their own files.
_FIRST_DESCRIPTOR = 64

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class OwnFile:
    """Appends to one file; raises OSError if the disk fails."""

    def __init__(self, path: Path, *, new: bool) -> None:
        self._path = path
        self._closed = False
        self._open(os.O_EXCL if new else 0)

    def _open(self, flags: int = 0) -> None:
        self._descriptor = _moved_up(open_file(self._path, _APPEND | flags, FILE_MODE))
        status = fstat(self._descriptor)
        self._identity = status.st_dev, status.st_ino

    def _is_ours(self) -> bool:
        try:
            status = fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def write(self, data: bytes) -> int:
        if self._closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if not self._is_ours():
            self._open()
        return write(self._descriptor, data)

    def close(self) -> None:
        if not self._closed and self._is_ours():
            try:
                if not fstat(self._descriptor).st_nlink and not self._path.exists():
                    self._make_again()
            finally:
                close(self._descriptor)
                self._closed = True
        self._closed = True

    def _make_again(self) -> None:
        deleted = self._descriptor
        make_folder(self._path.parent, exist_ok=True)
        self._open()
        lseek(deleted, 0, os.SEEK_SET)
        try:
            while data := read(deleted, 1 << 20):
                while data:
                    data = data[write(self._descriptor, data) :]
        finally:
            close(deleted)


def _moved_up(low: int) -> int:
    """The same file under a high number, if the limit of open files allows one."""
    if fcntl is None:
        return low
    try:
        high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    except OSError:
        return low
    close(low)
    return high
