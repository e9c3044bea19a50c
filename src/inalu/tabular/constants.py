"""Constants by name: the simplest number that the rows allow, 1000 and 1.08 instead of 999.9973 and 1.0801.

Every row allows an interval for the constant: what its rounded cells could stand for. Rows that hold share a common
interval; the constant is the simplest decimal or fraction inside, where simple means few bits.
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# How much further than the best interval the search for a simpler number looks, in rows given up.
SLACK_SHARE = 0.01
BITS_OF_A_ROW = 12.0
_CLOSE = 1e-14
# Fractions that people divide by, beyond small ones: months, weeks, minutes, degrees, days.
_DENOMINATORS = frozenset(
    {*range(1, 13), 14, 15, 16, 18, 20, 21, 24, 28, 30, 32, 36, 48, 52, 60, 64, 90, 360, 365}
)
_MEANS = 100
# Nobody writes 1912 / 7: above the line stand few digits.
_NUMERATOR = 20
# Multiples of pi, to the precision of a double, and numbers that convert units: names for long constants.
_PI = tuple(
    Fraction(repr(math.pi)) * Fraction(*ratio)
    for ratio in ((1, 1), (2, 1), (4, 1), (1, 2), (1, 4), (4, 3), (1, 6), (1, 180))
)
_DEGREES = Fraction(repr(180 / math.pi))
# A name needs an interval as narrow as this, relative to its number.
_NARROW = 1e-3
_UNITS = tuple(
    Fraction(text)
    for text in (
        # Miles, nautical miles, feet and inches; pounds and ounces; gallons (US and imperial), acres, square miles.
        *("1.609344", "1.852", "0.3048", "2.54", "0.45359237", "28.349523125", "3.785411784", "4.54609"),
        *("0.40468564224", "2.589988110336"),
        # Body-mass index in pounds and inches; days in a year; absolute temperature; calories, horse power; seconds.
        *("703", "365.25", "273.15", "459.67", "4.184", "745.7", "9.80665", "86400"),
    )
)
# The bits of saying which: two digits are shorter, four are not.
_NAMED = dict.fromkeys((*_PI, _DEGREES), 9.0) | {one: 14.0 for value in _UNITS for one in (value, 1 / value)}

_NAMED_SORTED = sorted(_NAMED)
_NAMED_SIZES = [float(value) for value in _NAMED_SORTED]


def named(value: Fraction) -> bool:
    """Whether a constant has a name: a multiple of pi, a conversion of units.

    Examples
    --------
    >>> named(Fraction("1.609344")), named(Fraction("1.6093"))
    (True, False)
    """
    return value in _NAMED


def mantissa(value: Fraction) -> int | None:
    """The digits of a decimal as a whole number, or None where it has no end.

    Examples
    --------
    >>> mantissa(Fraction("0.0450")), mantissa(Fraction(1200)), mantissa(Fraction(1, 3))
    (45, 12, None)
    """
    decimal = _decimal(value)
    return None if decimal is None else decimal[0]


def bits(constant: Fraction) -> float:
    """How many bits it takes to write the constant down; 1 and -1 are free, 100 is cheap, 3674.6086 is not.

    Examples
    --------
    >>> bits(Fraction(1))
    0.0
    >>> bits(Fraction(1000)) < bits(Fraction(1, 3)) < bits(Fraction(12)) < bits(Fraction(1237, 1000))
    True
    """
    if abs(constant) == 1:
        return 0.0
    if constant == 0:
        return 1.0
    value = abs(constant)
    if value in _NAMED:
        return min(_NAMED[value], _written_bits(value))
    return _written_bits(value)


def _written_bits(value: Fraction) -> float:
    as_fraction = 2 * math.log2(value.numerator) + 2 * math.log2(value.denominator) + 3
    decimal = _decimal(value)
    turned = _decimal(1 / value)
    if decimal is not None:
        as_fraction = min(as_fraction, _decimal_bits(*decimal))
    if turned is not None:
        # To divide is one thing more to say than to multiply.
        as_fraction = min(as_fraction, _decimal_bits(*turned) + 1)
    return as_fraction


def _decimal_bits(mantissa: int, exponent: int) -> float:
    return 2 * math.log2(mantissa) + 2 + 0.5 * abs(exponent)


def _decimal(value: Fraction) -> tuple[int, int] | None:
    """``value`` as mantissa times a power of ten, or None where it has no end."""
    denominator, exponent = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator //= prime
            count += 1
        exponent = max(exponent, count)
    if denominator != 1:
        return None
    mantissa = int(value * 10**exponent)
    exponent = -exponent
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent


def simplest(low: float, high: float) -> Fraction:
    """The simplest number of a closed interval: the shortest decimal, or a small fraction where that is fewer bits.

    Examples
    --------
    >>> simplest(998.2, 1003.7), simplest(1.0795, 1.0804), simplest(0.33332, 0.33334)
    (Fraction(1000, 1), Fraction(27, 25), Fraction(1, 3))
    """
    if low > high:
        low, high = high, low
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest(-high, -low)
    if not math.isfinite(high):
        high = low * 2 + 1
    decimal = _shortest_decimal(low, high)
    fraction = _simplest_fraction(Fraction(low), Fraction(high))
    # Divided by a short number is as simple as multiplied by one: 1 / 6.27082 of a population in units of 100,000.
    options = [decimal, 1 / _shortest_decimal(1 / high, 1 / low)]
    if _divides(fraction):
        options.append(fraction)
    if high - low <= _NARROW * low:
        first = bisect.bisect_left(_NAMED_SIZES, low)
        options += _NAMED_SORTED[first : bisect.bisect_right(_NAMED_SIZES, high, lo=first)]
    return min(options, key=bits)


def _divides(fraction: Fraction) -> bool:
    """Whether somebody would write a fraction: 5 / 9, 100 / 365, 1 / 77."""
    if fraction.numerator == 1 and fraction.denominator <= _MEANS:
        return True
    above = mantissa(Fraction(fraction.numerator))
    return fraction.denominator in _DENOMINATORS and above is not None and above <= _NUMERATOR


def _shortest_decimal(low: float, high: float) -> Fraction:
    """The decimal with the fewest digits in the interval; among those the one nearest its middle."""
    exponent = math.floor(math.log10(high)) + 1
    exact_low, exact_high, middle = Fraction(low), Fraction(high), Fraction(low / 2 + high / 2)
    for place in range(exponent, exponent - 18, -1):
        size = 10.0**place
        # Floats tell in nearly all places that no multiple lies between; the exact test is slow.
        if math.ceil(low / size * (1 - _CLOSE)) > math.floor(high / size * (1 + _CLOSE)):
            continue
        unit = Fraction(10) ** place
        first, last = math.ceil(exact_low / unit), math.floor(exact_high / unit)
        if first > last:
            continue
        # At a power of ten both 0 and one unit may be in reach; a constant is never 0 here.
        first = max(first, 1)
        near = min(max(round(middle / unit), first), last)
        return near * unit
    return Fraction(repr((low + high) / 2))


def _simplest_fraction(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in a closed interval of positive numbers (Stern and Brocot)."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    whole = math.floor(low)
    # Both ends lie strictly between whole and whole + 1 here, so the reciprocals are safe.
    return whole + 1 / _simplest_fraction(1 / (high - whole), 1 / (low - whole))


def stab(low: Array, high: Array) -> tuple[float, float, int]:
    """The interval that most of the given closed intervals share, and how many do; NaN bounds are left out.

    Examples
    --------
    >>> stab(np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 9.5]))
    (2.0, 3.0, 2)
    """
    places, depth = _depths(low, high)
    if not len(places):
        return math.nan, math.nan, 0
    best = int(np.argmax(depth))
    return float(places[best]), float(places[best + 1]), int(depth[best])


def _depths(low: Array, high: Array) -> tuple[Array, NDArray[np.int64]]:
    """The sorted end points of intervals, and how many intervals cover the piece after each point."""
    keep = np.isfinite(low) & np.isfinite(high) & (low <= high)
    low, high = low[keep], high[keep]
    if not len(low):
        return np.empty(0), np.empty(0, dtype=np.int64)
    points = np.concatenate([low, high])
    steps = np.concatenate([np.ones(len(low), dtype=np.int64), -np.ones(len(high), dtype=np.int64)])
    # Intervals are closed: at equal points all openings come before any closing.
    order = np.lexsort((-steps, points))
    return points[order], np.cumsum(steps[order])


def choose(low: Array, high: Array) -> Fraction | None:
    """The simplest constant that almost as many rows allow as the best one, judged by bits.

    Rows that break may by chance allow a number next to the true one, so a slightly smaller agreement is
    accepted where it makes the constant simpler by more bits than the rows given up are worth.

    Examples
    --------
    >>> choose(np.array([99.2, 99.7, 100.0, 12.0]), np.array([100.4, 101.0, 100.9, 12.5]))
    Fraction(100, 1)
    """
    places, depth = _depths(low, high)
    if not len(places):
        return None
    best = int(np.argmax(depth))
    slack = max(1, int(SLACK_SHARE * depth[best]))
    options: dict[Fraction, float] = {}
    for allowed in sorted({0, slack} if depth[best] > slack + 4 else {0}):
        level = depth[best] - allowed
        left, right = best, best
        while left > 0 and depth[left - 1] >= level:
            left -= 1
        while right + 1 < len(depth) and depth[right + 1] >= level:
            right += 1
        constant = simplest(float(places[left]), float(places[min(right + 1, len(places) - 1)]))
        options[constant] = min(options.get(constant, math.inf), bits(constant) + BITS_OF_A_ROW * allowed)
    return min(options, key=lambda constant: (options[constant], constant))
