"""Tables from files: what kind of file it is, how it is encoded, and what to say when it is no table."""

from __future__ import annotations

import codecs
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inalu.errors import InvalidData

if TYPE_CHECKING:
    from inalu.tabular.table import Table

LARGEST_FILE = 2 * 1024**3
HEAD = 1 << 16
# The first bytes of files that people try, and what to do instead.
KNOWN: tuple[tuple[bytes, str], ...] = (
    (
        b"\xd0\xcf\x11\xe0",
        "is an old Excel file (.xls) or one with a password: save it as .xlsx without a password",
    ),
    (b"PAR1", "is a Parquet file: read it with pandas or polars and pass the frame to inalu.audit"),
    (b"ARROW1", "is an Arrow file: read it with pandas or polars and pass the frame to inalu.audit"),
    (b"\x1f\x8b", "is compressed with gzip: unpack it first"),
    (b"BZh", "is compressed with bzip2: unpack it first"),
    (b"\xfd7zXZ", "is compressed with xz: unpack it first"),
    (b"(\xb5/\xfd", "is compressed with zstd: unpack it first"),
    (b"7z\xbc\xaf", "is a 7z archive: unpack it first"),
    (b"%PDF", "is a PDF: save the table as CSV or .xlsx"),
    (b"SQLite format 3", "is an SQLite database: export the table as CSV"),
    (b"\x89PNG", "is a picture: save the table as CSV or .xlsx"),
    (b"\x89HDF", "is an HDF5 file: read it with pandas and pass the frame to inalu.audit"),
    (b"{\\rtf", "is a text document: save the table as CSV or .xlsx"),
)


class Source(NamedTuple):
    """The bytes of a file and what to call it."""

    name: str
    data: bytes


def read_file(
    source: Any, *, sheet: str | None, delimiter: str | None, decimal: str | None, encoding: str | None
) -> Table:
    """Read a path, "-" or an open file.

    Raises
    ------
    InvalidData
        When it cannot be read or holds no table.
    """
    from inalu.tabular.csv_reader import read_text

    name, data = load(source)
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise InvalidData(f"{name} is empty.")
    if data[:4] == b"PK\x03\x04":
        from inalu.tabular.excel_reader import read_workbook

        return read_workbook(name, data, sheet=sheet)
    for start, what in KNOWN:
        if data.startswith(start):
            raise InvalidData(f"{name} {what}.")
    if (
        data[:HEAD]
        .lstrip(b"\xef\xbb\xbf \t\r\n")[:15]
        .lower()
        .startswith((b"<!doctype html", b"<html", b"<?xml"))
    ):
        raise InvalidData(f"{name} is a page or an XML document, no table: save the table as CSV or .xlsx.")
    return read_text(name, data, encoding or find_encoding(name, data), delimiter=delimiter, decimal=decimal)


def load(source: Any) -> Source:
    """All bytes of a path, of standard input ("-") or of an open file.

    Raises
    ------
    InvalidData
        When it cannot be read or is larger than 2 GiB.
    """
    if isinstance(source, (str, Path)) and str(source) != "-":
        name = Path(source).name
        try:
            if (size := Path(source).stat().st_size) > LARGEST_FILE:
                raise InvalidData(f"{name} has {size / 1024**3:.1f} GiB; the most that can be read is 2 GiB.")
            return Source(name, Path(source).read_bytes())
        except FileNotFoundError:
            raise InvalidData(f"there is no file {str(source)!r}.") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidData(f"{str(source)!r} cannot be read: {reason}.") from None
    stream = sys.stdin.buffer if isinstance(source, (str, Path)) else source
    name = (
        "standard input"
        if isinstance(source, (str, Path))
        else Path(str(getattr(source, "name", "file"))).name
    )
    data = stream.read(LARGEST_FILE + 1)
    if isinstance(data, str):
        data = data.encode()
    if len(data) > LARGEST_FILE:
        raise InvalidData(f"{name} has more than 2 GiB; that is the most that can be read.")
    return Source(name, data)


def find_encoding(name: str, data: bytes) -> str:
    """Find out how a text is encoded: by its mark, by its zero bytes, else UTF-8, else Windows-1252, else
    Latin-1.

    Raises
    ------
    InvalidData
        When the bytes are no text at all.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return encoding
    head = data[:HEAD]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > 0.3 * len(head) / 2:
        wide = "utf-16-le" if odd > even else "utf-16-be"
        if min(even, odd) < 0.1 * max(even, odd) and _decodes(data[: len(data) // 2 * 2], wide):
            return wide
    control = sum(head.count(code) for code in range(32) if code not in (9, 10, 11, 12, 13, 27))
    if control > 0.02 * len(head):
        raise InvalidData(f"{name} is binary, no text: save the table as CSV or .xlsx.")
    return next(encoding for encoding in ("utf-8", "cp1252", "latin-1") if _decodes(data, encoding))


def _decodes(data: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    reader = io.BytesIO(data)
    try:
        while part := reader.read(1 << 20):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
