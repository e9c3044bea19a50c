"""504 damaged inputs through the whole of ``inalu audit``.

Each ends in an answer (exit code 0 or 1) or in one sentence (2), never in a traceback, within 30 seconds and 1 GiB.
Every kind of damage has a process of its own, whose peak memory the system tells.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import openpyxl
import pytest

Damage = Callable[[np.random.Generator], bytes]

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


def large() -> Iterator[bytes]:
    """Long lines, long cells, many columns, many rows, and one cell that never ends."""
    yield b"a,b\n" + b"1" * 200_000 + b",2\n"
    yield b"a" * 300_000
    yield b"a,b\n" + b'"' + b"x\n" * 90_000
    yield b",".join([b"c"] * 5000) + b"\n" + b",".join([b"1"] * 5000)
    yield b",".join(b"c%d" % at for at in range(900)) + b"\n" + b",".join([b"1"] * 900)
    yield b"x\n" + b"9" * 50 + b"\n1e308\n-1e308\n5e-324\n"
    yield b"a;b\n" + b"(" * 70_000 + b";1\n"
    yield b"a,b\n" + b"1,2\n" * 20_000


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


def bombs() -> Iterator[bytes]:
    """Workbooks that are small as files and large unpacked: in rows, in one text, in parts, by entities."""
    row = b"<row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row>"
    entities = b"".join(b'<!ENTITY e%d "%b">' % (at, b"&e%d;" % (at - 1) * 20) for at in range(1, 12))
    yield packed(row * 5_000_000)
    # As many rows as pass for an honest workbook, packed no more than one is.
    yield packed(b"".join(row.replace(b">1<", b">%d<" % (at * 7919 % 10_007)) for at in range(200_000)))
    yield packed(b"<row><c t='inlineStr'><is><t>" + b"x" * 300_000_000 + b"</t></is></c></row>")
    yield packed(row, parts={f"xl/media/{at}.bin": bytes(20_000_000) for at in range(20)})
    yield packed(row, parts={f"xl/media/{at}.bin": b"" for at in range(20_000)})
    yield packed(b"<row><c><v>&e11;</v></c></row>", start=b'<!DOCTYPE x [<!ENTITY e0 "1">%b]>' % entities)


def packed(rows: bytes, *, start: bytes = b"", parts: dict[str, bytes] | None = None) -> bytes:
    """The workbook with other rows in its sheet and further parts."""
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = start + b"<worksheet xmlns='%b'><sheetData>%b</sheetData></worksheet>" % (space, rows)
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook())) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for name in old.namelist():
            new.writestr(name, sheet if name.endswith("sheet1.xml") else old.read(name))
        for name, part in (parts or {}).items():
            new.writestr(name, part)
    return stream.getvalue()


def drawn(damage: Damage) -> Iterator[bytes]:
    """Inputs damaged at random, one a seed."""
    return (damage(np.random.default_rng([7, case])) for case in range(49))


DRAWN: tuple[Damage, ...] = (
    truncated,
    flipped,
    rubbish,
    ragged,
    mixed,
    scarce,
    hostile,
    encoded,
    quotes,
    repacked,
)
INPUTS: dict[str, Callable[[], Iterator[bytes]]] = {
    **{damage.__name__: partial(drawn, damage) for damage in DRAWN},
    "large": large,
    "bombs": bombs,
}

# One process audits the files of a folder, one after the other, as the command does. Its own seconds are counted, so
# that a busy machine fails nothing.
AUDITS = """
import contextlib, io, json, resource, sys, time
from pathlib import Path
from inalu.cli.main import inalu
for path in sorted(Path(sys.argv[1]).iterdir()):
    out, said, start = io.StringIO(), io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            inalu.main(["audit", str(path), "--json", "--quiet"], prog_name="inalu")
        except SystemExit as exit:
            code = exit.code or 0
    print(json.dumps([path.name, code, out.getvalue(), said.getvalue(), time.process_time() - start]))
# Linux hands the parent's peak on to a child in getrusage, but not here.
status = Path("/proc/self/status")
if status.exists():
    print(int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2)
"""


@pytest.mark.parametrize("damage", INPUTS)
def test_damaged_inputs_end_in_an_answer_or_a_sentence(damage: str, tmp_path: Path) -> None:
    cases = 0
    for cases, data in enumerate(INPUTS[damage](), 1):
        (tmp_path / f"{cases:03}.table").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", AUDITS, tmp_path], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    *lines, peak = done.stdout.splitlines()
    assert len(lines) == cases
    assert float(peak) < MEBIBYTES
    for line in lines:
        name, code, out, said, seconds = json.loads(line)
        assert seconds < SECONDS, name
        # An error of the program's own is a traceback in disguise.
        assert "Traceback" not in said, said
        assert "error of inalu's own" not in said, said
        if code == 2:
            sentence = said.strip()
            assert sentence.endswith("."), said
            assert "\n" not in sentence, said
            assert len(sentence) < 400, said
        else:
            assert code in (0, 1), (name, code, said)
            json.loads(out, parse_constant=refuse)


def refuse(constant: str) -> None:
    """What JSON does not know (NaN, infinities) must not be printed as if it did."""
    raise AssertionError(constant)
