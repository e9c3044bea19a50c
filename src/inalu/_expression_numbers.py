"""The exact numbers of formulas: constants and exponents, read from anything, checked and written."""

from __future__ import annotations

import re
from fractions import Fraction

from .errors import InvalidArgument, invalid

Number = Fraction | int | float

# No formula that people write comes near these; they keep hostile input from exhausting stack or memory.
MAX_DEPTH = 100
MAX_SIZE = 20_000
MAX_BITS = 4096
MAX_EXPONENT = 1000

HALF = Fraction(1, 2)

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)", re.ASCII)
# More digits than a float's shortest text has are written as p / q.
_SHORT = 17


def exact(value: object) -> Fraction:
    """Return a number, or its decimal or ``p/q`` text, as a fraction; a float by its shortest text."""
    result = value if type(value) is Fraction else _read(value)
    if result is None:
        raise invalid("value", "must be a finite number or the text of one", _brief(value))
    if bits(result) > MAX_BITS:
        raise InvalidArgument(f"value must have at most {MAX_BITS} bits; got a longer number.")
    return result


def exponent(value: object) -> Fraction:
    """Return a whole or half exponent as a fraction."""
    result = value if type(value) is Fraction else _read(value)
    if result is None or result.denominator not in (1, 2):
        rule = "must be a whole or half number"
        raise invalid("exponent", rule, _brief(value), fix="2, -1, 0.5 and 1.5 are such numbers")
    if abs(result) > MAX_EXPONENT:
        raise invalid("exponent", f"must lie between -{MAX_EXPONENT} and {MAX_EXPONENT}", _brief(value))
    return result


def bits(value: Fraction) -> int:
    """Return the length of the longer of numerator and denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def is_short_decimal(value: Fraction) -> bool:
    """Whether a decimal of at most 17 digits, as a float's shortest text has, is exactly this value."""
    places = decimal_places(value)
    return (
        places is not None
        and len(str(abs(value.numerator) * (10**places // value.denominator)).rstrip("0")) <= _SHORT
    )


def decimal_places(value: Fraction) -> int | None:
    """Return how many decimals the value has, or None where they never end."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def decimal_text(value: Fraction) -> str:
    """Return text that Python reads as one number, for a value that is a short decimal and not negative.

    Examples
    --------
    >>> decimal_text(Fraction(1, 4)), decimal_text(Fraction(10**20)), decimal_text(Fraction(2136, 10**9))
    ('0.25', '1e20', '2.136e-6')
    """
    places = decimal_places(value) or 0
    digits = str(value.numerator * (10**places // value.denominator))
    if not places:
        kept = digits.rstrip("0")
        if len(digits) > 15 and len(kept) <= 10:
            return _scientific(kept, len(digits) - len(kept))
        # pandas keeps a whole number beyond 64 bits as an object; a float computes like the rest.
        return digits if value < 2**63 else digits + ".0"
    if places - len(digits) >= 5:
        return _scientific(digits, -places)
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _scientific(digits: str, exponent: int) -> str:
    """Digits times a power of ten with one digit before the point, as in 2.136e-6."""
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{point}e{exponent + len(digits) - 1}"


def _read(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str):
        text = value.strip()
        if len(text) > MAX_BITS:
            return None
        if ratio := _RATIO.fullmatch(text):
            above, below = int(ratio[1]), int(ratio[2])
            return Fraction(above, below) if below else None
        return Fraction(text) if _DECIMAL.fullmatch(text) else None
    if hasattr(value, "__index__"):
        return Fraction(value.__index__())
    # A NumPy float32 says 0.1 in fewer digits than the float that it converts to.
    text = repr(value) if type(value) is float else str(value)
    return Fraction(text) if hasattr(value, "__float__") and _DECIMAL.fullmatch(text) else None


def _brief(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return f"{value[:40]}..." if isinstance(value, str) and len(value) > 40 else value
