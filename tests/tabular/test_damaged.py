"""Five hundred damaged inputs: each ends in an answer or in one sentence, never in a traceback."""

from __future__ import annotations

import io
import resource
import time
import zipfile
from collections.abc import Callable
from functools import cache

import numpy as np
import openpyxl
import pytest

from inalu.errors import InaluError
from inalu.tabular.table import Table, read_table

Damage = Callable[[np.random.Generator], bytes]

CASES = 500
SECONDS = 30.0
MEBIBYTES = 1024
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "<script>",
    '"; DROP TABLE x',
    "{{7*7}}",
    "`a`",
    "a\x00b",
    "\x1b[31m",
    "a[-1]",
    "",
    "é" * 99,
]


@cache
def clean() -> bytes:
    """A plain CSV file with a formula in it."""
    rng = np.random.default_rng(1)
    net, tax = rng.integers(100, 99999, 40) / 100, rng.integers(1, 999, 40) / 100
    rows = [f"item {at},{a:.2f},{b:.2f},{a + b:.2f}" for at, (a, b) in enumerate(zip(net, tax, strict=True))]
    return "\n".join(["name,net,tax,gross", *rows, ""]).encode()


@cache
def workbook() -> bytes:
    """The same as a workbook."""
    book = openpyxl.Workbook()
    for line in clean().decode().splitlines():
        book.active.append([float(cell) if cell[:1].isdigit() else cell for cell in line.split(",")])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def truncated(rng: np.random.Generator) -> bytes:
    data = clean() if rng.random() < 0.5 else workbook()
    return data[: rng.integers(0, len(data))]


def flipped(rng: np.random.Generator) -> bytes:
    data = bytearray(clean() if rng.random() < 0.4 else workbook())
    for at in rng.integers(0, len(data), rng.integers(1, 40)):
        data[at] = rng.integers(0, 256)
    return bytes(data)


def rubbish(rng: np.random.Generator) -> bytes:
    start = [
        b"",
        b"PK\x03\x04",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"a,b\n",
        b"\x00\x00\xfe\xff",
        b"\xd0\xcf\x11\xe0",
    ]
    return start[rng.integers(len(start))] + rng.bytes(rng.integers(0, 5000))


def ragged(rng: np.random.Generator) -> bytes:
    rows = [",".join(str(cell) for cell in rng.integers(0, 99, rng.integers(0, 9))) for _ in range(60)]
    return "\n".join(rows).encode()


def mixed(rng: np.random.Generator) -> bytes:
    words = [
        "1.5",
        "x",
        "",
        "NA",
        "2024-01-01",
        "inf",
        "-inf",
        "1e999",
        "(3)",
        "12%",
        "1,5",
        "TRUE",
        "nan",
        "0x1",
    ]
    rows = [";".join(words[at] for at in rng.integers(0, len(words), 5)) for _ in range(30)]
    return "\n".join(["a;b;c;d;e", *rows]).encode()


def scarce(rng: np.random.Generator) -> bytes:
    shapes = [
        b"",
        b"\n",
        b"\n\n\n",
        b",",
        b",,,\n,,,\n",
        b'"',
        b'""',
        b"a",
        b"a\n",
        b"a,b\n",
        b"1",
        b"1\n2\n3\n",
    ]
    shapes += [
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x00",
        b" ",
        b"\t\t\n",
        b"a,a\n1,1\n",
        b";\n;\n",
        b"\r\r\r",
        b"#\n#\n",
    ]
    return shapes[rng.integers(len(shapes))] * int(rng.integers(1, 3))


def hostile(rng: np.random.Generator) -> bytes:
    titles = [HOSTILE[at] for at in rng.integers(0, len(HOSTILE), 6)]
    quoted = ",".join('"' + title.replace('"', '""') + '"' for title in titles)
    rows = [",".join(str(value) for value in rng.integers(0, 50, 6)) for _ in range(20)]
    return "\n".join([quoted, *rows]).encode("utf-8", "surrogatepass")


def encoded(rng: np.random.Generator) -> bytes:
    text = clean().decode().replace("item", "Größe €")
    encodings = ["utf-8", "utf-16", "utf-16-be", "utf-32", "cp1252", "cp437", "utf-7", "shift_jis"]
    first = text.encode(encodings[rng.integers(len(encodings))], "replace")
    second = text.encode(encodings[rng.integers(len(encodings))], "replace")
    return first[: rng.integers(1, len(first))] + second[rng.integers(0, len(second)) :]


def quotes(rng: np.random.Generator) -> bytes:
    data = clean()
    for at in sorted(rng.integers(0, len(data), rng.integers(1, 6)), reverse=True):
        data = data[:at] + [b'"', b"'", b'""', b"\\", b"\n", b"\r", b"\0"][rng.integers(7)] + data[at:]
    return data


def large(rng: np.random.Generator) -> bytes:
    kinds = [
        b"a,b\n" + b"1" * 200_000 + b",2\n",
        b"a" * 300_000,
        b"a,b\n" + b'"' + b"x\n" * 90_000,
        b",".join([b"c"] * 5000) + b"\n" + b",".join([b"1"] * 5000),
        b",".join(b"c%d" % at for at in range(900)) + b"\n" + b",".join([b"1"] * 900),
        b"x\n" + b"9" * 50 + b"\n1e308\n-1e308\n5e-324\n",
        b"a;b\n" + b"(" * 70_000 + b";1\n",
        b"a,b\n" + b"1,2\n" * 20_000,
    ]
    return kinds[rng.integers(len(kinds))]


def repacked(rng: np.random.Generator) -> bytes:
    """A workbook of which single parts are damaged while the archive is sound."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook())) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part, kind = old.read(name), rng.integers(30)
            if kind == 0:
                continue
            if kind == 1:
                part = part[: rng.integers(0, len(part))]
            if kind == 2:
                part = part.replace(b"<v>", b"<v>x", 3).replace(b'r="A', b'r="ZZZ9', 1)
            if kind == 3:
                part = rng.bytes(200)
            if kind == 4 and rng.random() < 0.2:
                part = part + b" " * 20_000_000
            new.writestr(name, part)
    return stream.getvalue()


DAMAGES: tuple[Damage, ...] = (
    truncated, flipped, rubbish, ragged, mixed, scarce, hostile, encoded, quotes, large, repacked,
)  # fmt: skip


def outcome(data: bytes) -> str:
    """ "table" or the sentence; anything else that is raised fails the test."""
    try:
        table = read_table(io.BytesIO(data))
    except InaluError as error:
        return str(error)
    assert isinstance(table, Table)
    for column in table:
        finite = np.isfinite(column.values)
        assert (column.half_unit[finite] > 0).all()
        assert not np.isinf(column.values).any()
        assert len(column.values) == table.rows
    assert len({*table.names, *(other.name for other in table.others)}) == len(table.columns) + len(
        table.others
    )
    return "table"


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_inputs_end_in_a_table_or_a_sentence(damage: Damage) -> None:
    count = -(-CASES // len(DAMAGES))
    for case in range(count):
        data = damage(np.random.default_rng([7, case]))
        start = time.perf_counter()
        said = outcome(data)
        assert time.perf_counter() - start < SECONDS
        assert said == "table" or (said.endswith(".") and "Traceback" not in said and len(said) < 400), said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 < 2 * MEBIBYTES
