"""The file of a store: made whole or not at all, weighed before SQLite opens it, errors in one sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inalu.errors import StoreError
from inalu.experiments import schema

_MAGIC = b"SQLite format 3\0"
# What SQLite says when a write fails for another reason than a full disk.
_UNWRITTEN = ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHMSIZE")


def check_file(file: Path) -> None:
    """Judge a file by its first bytes and its length alone."""
    name = str(file)
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            head = stream.read(100)
    except OSError as error:
        raise StoreError(f"the store {name!r} cannot be read: {error.strerror}.") from None
    if size == 0:
        raise StoreError(
            f"{name!r} is empty, no store; it was left as it is. Name another file, or remove it."
        )
    if not head.startswith(_MAGIC[: len(head)]):
        raise StoreError(f"{name!r} is not a store of inalu; it was left as it is. Name another file.")
    number = [int.from_bytes(head[i : i + 4], "big") for i in range(0, 100, 4)]
    page = 65536 if head[16:18] == b"\0\1" else int.from_bytes(head[16:18], "big")
    waiting = _size(file.with_name(file.name + "-wal")) > 0
    if len(head) < 100 or (not waiting and size < page * number[7]):
        raise StoreError(
            f"the store {name!r} was cut short, or copied without {file.name + '-wal'!r}; "
            "it was left as it is. Restore it from a copy."
        )
    if number[17] != schema.APPLICATION:
        raise StoreError(f"{name!r} is another program's database; it was left as it is. Name another file.")
    if number[15] != schema.VERSION:
        raise StoreError(f"the store {name!r} is of version {number[15]}; this inalu reads {schema.VERSION}.")


def check_pages(file: Path) -> None:
    """Let SQLite look at every page, without the right to write, before it may."""
    # A file that no other handle has open can be read as if it could not change, which leaves no trace.
    alone = not file.with_name(file.name + "-wal").exists()
    with one_sentence(file):
        connection = connect(file, "mode=ro&immutable=1" if alone else "mode=ro")
        try:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    if verdict != "ok":
        raise _damaged(file)


def open_reader(file: Path) -> sqlite3.Connection:
    """Open a store for queries alone."""
    try:
        # With the right to write SQLite clears its own side files away; query_only keeps the store as it is.
        connection = connect(file, "mode=rw")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM runs").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise sentence(file, error) from None
    except sqlite3.Error as error:
        raise sentence(file, error) from None
    else:
        return connection
    # Where neither file nor folder can be written, nobody writes to it.
    with one_sentence(file):
        connection = connect(file, "mode=ro&immutable=1")
        connection.execute("SELECT count(*) FROM runs").fetchone()
        return connection


def connect(file: Path, mode: str) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def create(file: Path) -> None:
    """Make an empty store under another name first, so that a killed process leaves none or a whole one."""
    draft = file.with_name(file.name + ".new")
    try:
        with one_sentence(file):
            draft.unlink(missing_ok=True)
            connection = sqlite3.connect(draft)
            try:
                connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
                connection.execute(f"PRAGMA user_version = {schema.VERSION}")
                connection.executescript(schema.SCHEMA)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()
            os.replace(draft, file)
    except StoreError:
        for name in (draft.name, f"{draft.name}-wal", f"{draft.name}-shm", f"{draft.name}-journal"):
            file.with_name(name).unlink(missing_ok=True)
        raise


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


@contextmanager
def one_sentence(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, StoreError):
            raise
        raise sentence(file, error) from None


def sentence(file: Path, error: Exception) -> StoreError:
    text = str(error).lower()
    code = getattr(error, "sqlite_errorname", "")
    if code == "SQLITE_FULL" or "no space" in text:
        return StoreError(
            f"there is no room left for the store {str(file)!r}; what it holds is kept. "
            "Make room and repeat the command: it goes on where it stopped."
        )
    if code in _UNWRITTEN:
        return StoreError(
            f"the store {str(file)!r} could not be written ({error}), as when a quota is used up; what it holds "
            "is kept. Repeat the command when there is room: it goes on where it stopped."
        )
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _damaged(file)
    if code.startswith("SQLITE_BUSY"):
        return StoreError(f"another program holds the store {str(file)!r}; wait until it lets go.")
    return StoreError(f"the store {str(file)!r} cannot be used: {error}.")


def _damaged(file: Path) -> StoreError:
    return StoreError(f"the store {str(file)!r} is damaged; it was left as it is. Restore it from a copy.")
