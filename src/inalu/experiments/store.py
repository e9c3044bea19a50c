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
from inalu.experiments.store_file import (
    check_file,
    check_pages,
    connect,
    create,
    one_sentence,
    open_reader,
    sentence,
)

if TYPE_CHECKING:
    import pandas

DEFAULT = "inalu-runs.sqlite"


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
    >>> with tempfile.TemporaryDirectory() as folder, Store.write(pathlib.Path(folder) / "runs.db") as store:
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
            check_file(file)
        lock.acquire()
        try:
            if not file.exists():
                create(file)
            check_file(file)
            check_pages(file)
            with one_sentence(file):
                connection = connect(file, "mode=rw")
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
        check_file(file)
        return cls(file, open_reader(file), None)

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

    def take(self, path: str | os.PathLike[str]) -> int:
        """Add everything that another store holds, in one commit, and return how many records were new.

        Raises
        ------
        StoreError
            When the other file is not a store, or there is no room; nothing is taken then.
        """
        with Store.read(path) as source, self._transaction() as connection:
            before = connection.total_changes
            connection.executemany(schema.INSERT_RUN, source._connection.execute(schema.SELECT_RUNS))
            new = connection.total_changes - before
            connection.executemany(schema.INSERT_CASE, source._connection.execute(schema.SELECT_CASES))
        return new

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
                    raise sentence(self.path, error) from None
                raise InvalidArgument(
                    f"where must be an SQL condition such as \"operation = 'div' AND exact_formula\"; "
                    f"got {where!r} ({error}). The columns are {', '.join(names)}."
                ) from None
            except sqlite3.Error as error:
                raise sentence(self.path, error) from None
        return names, [tuple(row) for row in rows]

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._turn, one_sentence(self.path):
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, one_sentence(self.path):
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
