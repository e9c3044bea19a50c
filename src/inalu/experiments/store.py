"""The results store: one SQLite file, to which records are added and from which none is taken away.

What it promises: a record is there, whole, once `Store.add` has returned, also when the process is killed in
the next moment; a record that is there already is kept as it is; one command writes at a time, and any number
may read meanwhile; a file that is not a store, that was cut short, or that has no room left is reported in
one sentence and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from inalu.errors import InvalidArgument, StoreError
from inalu.experiments import schema
from inalu.experiments.lock import WriterLock
from inalu.experiments.record import Entry, Setting

if TYPE_CHECKING:
    import pandas

DEFAULT = "inalu-runs.sqlite"
_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True)
class Holding:
    """What a store holds of one experiment under one recipe by one program."""

    experiment: str
    recipe: str
    backend: str
    algorithm: int
    evaluation: int
    dtype: str
    rows: int
    runs: int


class Store:
    """An open store; use `Store.read` or `Store.write`, and ``with`` to close it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store.write(pathlib.Path(folder.name) / "runs.sqlite") as store:
    ...     store.keys()
    set()
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        # The connection is handed between the thread that plans and the thread that stores.
        self._turn = Lock()

    @classmethod
    def write(cls, path: str | os.PathLike[str] = DEFAULT) -> Store:
        """Open a store for adding, and make it when there is none.

        Raises
        ------
        StoreError
            When another command writes to it, or the file cannot be used; it is not touched then.
        """
        file = Path(path)
        if not file.parent.is_dir():
            raise StoreError(f"there is no folder {str(file.parent)!r} for the store {file.name!r}.")
        lock = WriterLock(file)
        if file.exists():
            _check_file(file)
        lock.acquire()
        try:
            if not file.exists():
                _create(file)
            _check_file(file)
            _check_pages(file)
            with _one_sentence(file):
                connection = _connect(file, "mode=rw")
                # In WAL mode this keeps every commit of a killed process.
                connection.execute("PRAGMA synchronous = NORMAL")
                # An upgrade needs the right to write; ask for it before the work, not after.
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
        except BaseException:
            lock.release()
            raise
        return cls(file, connection, lock)

    @classmethod
    def read(cls, path: str | os.PathLike[str] = DEFAULT) -> Store:
        """Open a store for reading alone, also while a command writes to it.

        Raises
        ------
        StoreError
            When there is no such file, or it is not a store.
        """
        file = Path(path)
        if not file.exists():
            raise StoreError(f"there is no store {str(file)!r}; `inalu reproduce exp1` makes one.")
        _check_file(file)
        return cls(file, _reader(file), None)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        with self._turn:
            try:
                self._connection.close()
            finally:
                if self._lock is not None:
                    self._lock.release()

    def keys(self) -> set[str]:
        """Return the keys of all records."""
        return {row[0] for row in self._rows("SELECT key FROM runs")}

    def add(self, entries: Iterable[Entry]) -> None:
        """Add entries with their records in one commit; what is there already stays as it is.

        Raises
        ------
        StoreError
            When the file has no room or cannot be written; nothing of this call is kept then.
        """
        with self._transaction() as connection:
            for entry in entries:
                connection.execute(schema.INSERT_RUN, schema.run_row(entry.record))
                connection.execute(
                    schema.INSERT_CASE, schema.case_row(entry.setting, entry.recipe, entry.record.key)
                )

    def show(self, cases: Iterable[tuple[Setting, str, str]]) -> None:
        """Say that records which are there, by key, are also runs of these settings under these recipes."""
        with self._transaction() as connection:
            connection.executemany(
                schema.INSERT_CASE, [schema.case_row(setting, asked, key) for setting, asked, key in cases]
            )

    def entries(
        self,
        experiment: str | None = None,
        *,
        recipe: str | None = None,
        backend: str | None = None,
        algorithm: int | None = None,
        keys: Iterable[str] | None = None,
    ) -> list[Entry]:
        """Return the entries that fit every condition given, sorted by setting and seed.

        Parameters
        ----------
        experiment, recipe, backend, algorithm
            Of the entry's setting, of the entry, and of its record's specification.
        keys
            Only records with these keys.
        """
        wanted = {
            "c.experiment": experiment,
            "c.asked": recipe,
            "r.backend": backend,
            "r.algorithm": algorithm,
        }
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given)
        rows = self._rows(
            schema.SELECT_ENTRIES + (f" WHERE {where}" if where else "")
            + " ORDER BY c.experiment, c.model, c.operation, c.train, c.extrapolation, c.mean_gate,"
            " c.mean_m_hat, c.mean_w_hat, c.std, c.asked, r.seed, r.key",
            tuple(given.values()),
        )  # fmt: skip
        only = None if keys is None else set(keys)
        return [schema.entry_of(row) for row in rows if only is None or row["key"] in only]

    def holdings(self) -> tuple[Holding, ...]:
        """Return what the store holds, one line for each experiment, recipe and program."""
        columns = "c.experiment, c.asked, r.backend, r.algorithm, r.evaluation, r.dtype, r.rows"
        rows = self._rows(
            f"SELECT {columns}, count(*) FROM cases c JOIN runs r USING (key) "
            f"GROUP BY {columns} ORDER BY {columns}"
        )
        return tuple(Holding(*row) for row in rows)

    def results(self, where: str | None = None) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return column names and rows of the view ``results`` that fulfil an SQL condition.

        Raises
        ------
        InvalidArgument
            When the condition is not one.
        """
        names = tuple(row[1] for row in self._rows("PRAGMA table_info(results)"))
        with self._turn:
            try:
                condition = f" WHERE ({where})" if where else ""
                rows = self._connection.execute(f"SELECT * FROM results{condition}").fetchall()
            except (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.Warning) as error:
                if where is None:
                    raise _sentence(self.path, error) from None
                raise InvalidArgument(
                    f"where must be an SQL condition such as \"operation = 'div' AND exact_formula\"; "
                    f"got {where!r} ({error}). The columns are {', '.join(names)}."
                ) from None
            except sqlite3.Error as error:
                raise _sentence(self.path, error) from None
        return names, [tuple(row) for row in rows]

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._turn, _one_sentence(self.path):
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _one_sentence(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some errors.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def read_frame(path: str | os.PathLike[str] = DEFAULT, where: str | None = None) -> pandas.DataFrame:
    """Return the runs of a store as a pandas frame, one row for each run of a setting.

    Without this package the same is ``pandas.read_sql("SELECT * FROM results", sqlite3.connect(path))``.

    Raises
    ------
    StoreError
        When there is no such store.
    InvalidArgument
        When the condition is not one.
    """
    from inalu.errors import require_extra

    frames: Any = require_extra("pandas", "sklearn")
    with Store.read(path) as store:
        names, rows = store.results(where)
    frame: pandas.DataFrame = frames.DataFrame.from_records(rows, columns=list(names))
    return frame


def one_program(entries: Sequence[Entry]) -> None:
    """Refuse entries that several programs made, so that none is mixed silently.

    Raises
    ------
    InvalidArgument
        When backends, algorithm versions, evaluations or precisions differ within a network's kind.
    """
    found: dict[str, set[str]] = {}
    for entry in entries:
        s = entry.record.specification
        program = f"{s.backend} {s.algorithm} ({s.dtype}, evaluation {s.evaluation}, {s.rows} rows)"
        found.setdefault(s.network.partition(" ")[0], set()).add(program)
    for cell, programs in found.items():
        if len(programs) > 1:
            raise InvalidArgument(
                f"the runs of {cell} come from several programs: {', '.join(sorted(programs))}. "
                "Choose one with --backend, or keep them in stores of their own."
            )


def _check_file(file: Path) -> None:
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
        raise StoreError(f"the store {name!r} was cut short; it was left as it is. Restore it from a copy.")
    if number[17] != schema.APPLICATION:
        raise StoreError(f"{name!r} is another program's database; it was left as it is. Name another file.")
    if number[15] != schema.VERSION:
        raise StoreError(f"the store {name!r} is of version {number[15]}; this inalu reads {schema.VERSION}.")


def _check_pages(file: Path) -> None:
    """Let SQLite look at every page, without the right to write, before it may."""
    # A file that no other handle has open can be read as if it could not change, which leaves no trace.
    alone = not file.with_name(file.name + "-wal").exists()
    with _one_sentence(file):
        connection = _connect(file, "mode=ro&immutable=1" if alone else "mode=ro")
        try:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    if verdict != "ok":
        raise _damaged(file)


def _reader(file: Path) -> sqlite3.Connection:
    """Open a store for queries alone."""
    try:
        # With the right to write SQLite clears its own side files away; query_only keeps the store as it is.
        connection = _connect(file, "mode=rw")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM runs").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise _sentence(file, error) from None
    except sqlite3.Error as error:
        raise _sentence(file, error) from None
    else:
        return connection
    # Where neither file nor folder can be written, nobody writes to it.
    with _one_sentence(file):
        connection = _connect(file, "mode=ro&immutable=1")
        connection.execute("SELECT count(*) FROM runs").fetchone()
        return connection


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def _create(file: Path) -> None:
    """Make an empty store under another name first, so that a killed process leaves none or a whole one."""
    draft = file.with_name(file.name + ".new")
    with _one_sentence(file):
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


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


@contextmanager
def _one_sentence(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, StoreError):
            raise
        raise _sentence(file, error) from None


def _sentence(file: Path, error: Exception) -> StoreError:
    text = str(error).lower()
    code = getattr(error, "sqlite_errorname", "")
    if code == "SQLITE_FULL" or "no space" in text:
        return StoreError(
            f"there is no room left for the store {str(file)!r}; what it holds is kept. "
            "Make room and repeat the command: it goes on where it stopped."
        )
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _damaged(file)
    if code.startswith("SQLITE_BUSY"):
        return StoreError(f"another program holds the store {str(file)!r}; wait until it lets go.")
    return StoreError(f"the store {str(file)!r} cannot be used: {error}.")


def _damaged(file: Path) -> StoreError:
    return StoreError(f"the store {str(file)!r} is damaged; it was left as it is. Restore it from a copy.")
