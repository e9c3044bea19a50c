"""Tables from memory (arrays, lists, pandas and polars frames), through the texts their numbers print as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inalu.errors import InvalidData
from inalu.tabular.numerals import Texts

if TYPE_CHECKING:
    from inalu.tabular.table import Table


def from_frame(frame: Any) -> Table:
    """Read a pandas or polars frame (columns keep their names; an index is left out).

    Raises
    ------
    InvalidData
        When the object is no frame.
    """
    from inalu.tabular.table import build

    titles = getattr(frame, "columns", None)
    if titles is None or not hasattr(frame, "shape") or len(frame.shape) != 2:
        raise InvalidData(
            f"a table must be a path, a file, a frame or a dict of columns; got {type(frame).__name__}."
        )
    names = [_title(title) for title in titles]
    cells = [texts_of(_series(frame, at), title=name) for at, name in enumerate(names)]
    return build(
        names,
        [column.texts for column in cells],
        name="table",
        plain=[column.plain for column in cells],
        single=[column.single for column in cells],
    )


def _title(title: object) -> str:
    return " ".join(map(str, title)) if isinstance(title, tuple) else str(title)


def _series(frame: Any, at: int) -> Any:
    """Column number ``at`` as an array or a list, by position: names may repeat."""
    if hasattr(frame, "iloc"):
        series = frame.iloc[:, at]
        # Nullable and arrow columns hand out objects where a cell is missing; plain ones are arrays already.
        return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.astype(object).to_list()
    series = frame[:, at] if hasattr(frame, "height") else frame[at]
    kind = str(getattr(series, "dtype", ""))
    if kind in ("Float64", "Float32") and series.null_count() == 0:
        return series.to_numpy()
    if kind == "Float32":
        return [None if value is None else np.float32(value) for value in series.to_list()]
    return series.to_list()


class Cells(NamedTuple):
    """One column's texts; ``plain`` when they come from numbers, ``single`` when these were float32."""

    texts: Texts
    plain: bool
    single: bool


def texts_of(values: Any, *, title: str = "column") -> Cells:
    """The texts that a column's values print as.

    Raises
    ------
    InvalidData
        When the column is not one-dimensional.
    """
    array = values if isinstance(values, np.ndarray) else None
    if array is None:
        listed = values.to_list() if hasattr(values, "to_list") else list(values)
        singles = sum(isinstance(cell, (np.float32, np.float16)) for cell in listed)
        return Cells(Texts.of([_text(cell) for cell in listed]), _numbers(listed), singles * 2 > len(listed))
    if array.ndim != 1:
        raise InvalidData(f"column {title!r} must have one dimension; got shape {array.shape}.")
    if array.dtype.kind == "f":
        return Cells(Texts(_float_texts(array)), True, array.dtype.itemsize <= 4)
    if array.dtype.kind in "iu":
        return Cells(Texts(array.astype("S24")), True, False)
    listed = array.tolist()
    return Cells(Texts.of([_text(cell) for cell in listed]), _numbers(listed), False)


def _numbers(cells: list[Any]) -> bool:
    return not any(isinstance(cell, (str, bytes)) for cell in cells)


def _float_texts(array: NDArray[Any]) -> NDArray[Any]:
    """The shortest texts that read back as the same floats, empty where not a number."""
    if array.dtype.itemsize == 2:
        array = array.astype(np.float32)
    # Whole numbers print without '.0' and without an exponent, as they do in every file.
    whole = np.isfinite(array) & (np.abs(array) < 2**53) & (array == np.round(array))
    parts = np.zeros(len(array), dtype="S32")
    parts[whole] = array[whole].astype(np.int64).astype("S32")
    parts[~whole] = array[~whole].astype("U32").astype("S32")
    parts[np.isnan(array)] = b""
    return parts


def _text(cell: object) -> str:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, (float, np.floating)):
        if cell != cell:
            return ""
        whole = abs(float(cell)) < 2**53 and float(cell).is_integer()
        return str(int(cell)) if whole else str(cell)
    return str(cell)
