"""One writer at a time: a lock on a file beside the store, which the system frees when its holder dies.

The store itself is not locked this way: SQLite uses locks of its own on it, which a process loses when it
closes any other handle of that file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from inalu.errors import StoreError


class WriterLock:
    """The right to write a store, held from `acquire` to `release`.

    Raises
    ------
    StoreError
        From `acquire`, when another process has it or the folder cannot be written.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self.path = store.with_name(store.name + ".lock")
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        while self._handle is None:
            try:
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise StoreError(
                    f"the store {str(self.store)!r} cannot be written: {error.strerror}."
                ) from None
            if not _lock(handle):
                holder = os.pread(handle, 20, 0).decode(errors="replace").strip() if _UNIX else ""
                os.close(handle)
                who = f" (process {holder})" if holder.isdigit() else ""
                raise StoreError(
                    f"another command{who} is writing to {str(self.store)!r}; "
                    "wait until it ends, or name another file with --store."
                )
            if _same_file(handle, self.path):
                # On a full disk the lock holds as well; it only does not say by whom.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, 0)
                    os.write(handle, str(os.getpid()).encode())
                self._handle = handle
            else:
                # Its last holder removed the file between our opening it and our locking it.
                os.close(handle)

    def release(self) -> None:
        """Give the lock back and remove its file."""
        if self._handle is None:
            return
        if _UNIX:
            # Windows does not remove an open file, and the next command can reuse this one.
            with contextlib.suppress(OSError):
                self.path.unlink()
        os.close(self._handle)
        self._handle = None


def _same_file(handle: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    here = os.fstat(handle)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


_UNIX = sys.platform != "win32"

if sys.platform != "win32":
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

else:
    import msvcrt

    def _lock(handle: int) -> bool:
        try:
            # Beyond the process number, so that others can read it.
            os.lseek(handle, 64, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError:
            return False
        return True
