"""The tables of a store, and how records and entries become rows and come back.

``runs`` has a row a record, ``cases`` a row for each run of a setting, and the view ``results`` is the two
joined, without what only a program wants: what `inalu runs` lists and a data frame holds.
"""

from __future__ import annotations

import json
import math
import sqlite3
from typing import Any

import numpy as np

from inalu.experiments.record import Entry, Initialisation, Record, Setting, Specification

#: Written into the header of every store ("inal"), so that another program's file is told apart.
APPLICATION = 0x696E616C
VERSION = 1

_SPECIFICATION = (
    "network", "task", "seed", "rows", "recipe", "decisions", "law", "dtype", "backend", "algorithm",
    "evaluation",
)  # fmt: skip
_NUMBERS = (
    "mse_interpolation", "mse_extrapolation", "within_interpolation", "within_extrapolation",
    "snapped_mse_interpolation", "snapped_mse_extrapolation", "snapped_within_interpolation",
    "snapped_within_extrapolation", "discreteness",
)  # fmt: skip
_OTHERS = ("steps", "seconds", "threads")
_PACKED = ("restarts", "loss", "parameters", "versions", "measures")
_RUN = (
    "key", *_SPECIFICATION, "status", *_NUMBERS, "formula", "exact_formula", *_OTHERS, "reinitialisations",
    "solved_epoch", *_PACKED,
)  # fmt: skip
_SETTING = ("experiment", "model", "operation", "train", "extrapolation")
_MEANS = ("mean_gate", "mean_m_hat", "mean_w_hat", "std")
_CASE = (*_SETTING, *_MEANS, "asked", "key")

SCHEMA = f"""
CREATE TABLE runs (
  key TEXT PRIMARY KEY,
  network TEXT NOT NULL, task TEXT NOT NULL, seed INTEGER NOT NULL, rows INTEGER NOT NULL,
  recipe TEXT NOT NULL, decisions TEXT NOT NULL, law TEXT, dtype TEXT NOT NULL,
  backend TEXT NOT NULL, algorithm INTEGER NOT NULL, evaluation INTEGER NOT NULL,
  status TEXT NOT NULL,
  {", ".join(f"{name} REAL" for name in _NUMBERS)},
  formula TEXT, exact_formula INTEGER,
  steps INTEGER NOT NULL, seconds REAL NOT NULL, threads INTEGER NOT NULL,
  reinitialisations INTEGER NOT NULL, solved_epoch INTEGER,
  restarts TEXT NOT NULL, loss BLOB NOT NULL, parameters BLOB NOT NULL, versions TEXT NOT NULL,
  measures TEXT NOT NULL
);
CREATE TABLE cases (
  experiment TEXT NOT NULL, model TEXT NOT NULL, operation TEXT NOT NULL,
  train TEXT NOT NULL, extrapolation TEXT NOT NULL,
  mean_gate REAL, mean_m_hat REAL, mean_w_hat REAL, std REAL,
  asked TEXT NOT NULL,
  key TEXT NOT NULL REFERENCES runs (key)
);
CREATE UNIQUE INDEX one_case ON cases (
  key, asked, experiment, model, operation, train, extrapolation,
  ifnull(mean_gate, ''), ifnull(mean_m_hat, ''), ifnull(mean_w_hat, ''), ifnull(std, '')
);
CREATE INDEX by_experiment ON cases (experiment, asked);
CREATE VIEW results AS SELECT
  {", ".join(f"c.{name}" for name in (*_SETTING, *_MEANS))}, c.asked AS recipe, r.seed,
  r.status, {", ".join(f"r.{name}" for name in _NUMBERS)},
  r.formula, r.exact_formula, r.reinitialisations, r.solved_epoch, r.steps, r.seconds,
  r.network, r.task, r.rows, r.law, r.dtype, r.backend, r.algorithm, r.evaluation, r.threads, r.measures,
  r.versions, r.key
  FROM cases c JOIN runs r USING (key);
"""

INSERT_RUN = f"INSERT OR IGNORE INTO runs ({', '.join(_RUN)}) VALUES ({', '.join('?' * len(_RUN))})"
INSERT_CASE = f"INSERT OR IGNORE INTO cases ({', '.join(_CASE)}) VALUES ({', '.join('?' * len(_CASE))})"
SELECT_RUNS = f"SELECT {', '.join(_RUN)} FROM runs"
SELECT_CASES = f"SELECT {', '.join(_CASE)} FROM cases"
SELECT_ENTRIES = (
    f"SELECT {', '.join(f'c.{name} AS case_{name}' for name in _CASE)}, "
    f"{', '.join(f'r.{name}' for name in _RUN)} FROM cases c JOIN runs r USING (key)"
)


def run_row(record: Record) -> tuple[Any, ...]:
    """Return a record as the values of `INSERT_RUN`."""
    s = record.specification
    parameters = np.ascontiguousarray(record.parameters)
    return (
        record.key,
        *(getattr(s, name) for name in _SPECIFICATION),
        record.status,
        *(_finite(getattr(record, name)) for name in _NUMBERS),
        record.formula,
        None if record.exact_formula is None else int(record.exact_formula),
        *(getattr(record, name) for name in _OTHERS),
        record.reinitialisations,
        record.solved_epoch(),
        json.dumps(record.restarts),
        np.asarray(record.loss, "<f4").tobytes(),
        parameters.astype(parameters.dtype.newbyteorder("<")).tobytes(),
        json.dumps(dict(record.versions)),
        json.dumps({name: _finite(value) for name, value in record.measures.items()}),
    )


def case_row(setting: Setting, asked: str, key: str) -> tuple[Any, ...]:
    """Return one run of a setting as the values of `INSERT_CASE`."""
    start = setting.initialisation
    means = (None,) * 4 if start is None else tuple(getattr(start, name) for name in _MEANS)
    return (*(getattr(setting, name) for name in _SETTING), *means, asked, key)


def entry_of(row: sqlite3.Row) -> Entry:
    """Build an entry from a row of `SELECT_ENTRIES`."""
    means = [row[f"case_{name}"] for name in _MEANS]
    named = {name: row[f"case_{name}"] for name in _SETTING}
    setting = Setting(**named, initialisation=None if means[0] is None else Initialisation(*means))
    return Entry(setting, row["case_asked"], record_of(row))


def record_of(row: sqlite3.Row) -> Record:
    """Build a record from a row with the columns of ``runs``."""
    exact = row["exact_formula"]
    return Record(
        specification=Specification(**{name: row[name] for name in _SPECIFICATION}),
        status=row["status"],
        **{name: row[name] for name in (*_NUMBERS, *_OTHERS)},
        formula=row["formula"],
        exact_formula=None if exact is None else bool(exact),
        restarts=tuple(json.loads(row["restarts"])),
        loss=tuple(np.frombuffer(row["loss"], "<f4").tolist()),
        parameters=np.frombuffer(row["parameters"], "<f4" if row["dtype"] == "float32" else "<f8"),
        versions=tuple(json.loads(row["versions"]).items()),
        measures=json.loads(row["measures"]),
    )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
