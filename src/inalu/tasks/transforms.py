"""From uniform numbers to other distributions, the same on every machine.

`numpy.log` differs by one unit in the last place between processors, so inverse distribution functions are
built here from operations that IEEE 754 rounds exactly (+ - * / sqrt and moves of bits), one ufunc each, so
that no compiler can fuse two of them.

Arguments ``u`` are float64 arrays of odd multiples of 2**-53 between 0 and 1, as
`inalu.tasks.random.unit` makes them: their distance from 1/2 is exact, which the tails of the normal need.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
_Ratio: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]

# P(|z| < 3) of the standard normal distribution: what is left when it is cut at three standard deviations.
_WITHIN_3_SIGMA = 0.9973002039367398
# log 2 in two parts; the first has so many zero bits that its product with an exponent is exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_FRACTION_BITS = np.int64((1 << 52) - 1)
_ONE_BITS = np.int64(1023 << 52)

# Numerator and denominator of Wichura's approximations, lowest power first.
# fmt: off
_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 0.241780725177450611770, 0.0227238449892691845833, 7.745450142783414076e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     0.14810397642748008, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.050750071644416843e-9),
)
_FAR_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     0.026532189526576124, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.010334399292288133e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     0.0007868691311456133, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.044263103389939786e-15),
)
_LOG_SERIES = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)
# fmt: on


def uniform_quantile(u: Floats, low: float, high: float) -> Floats:
    """Inverse distribution function of the uniform distribution, never beyond its bounds."""
    return np.clip(low + (high - low) * u, low, high)


def truncated_normal_quantile(u: Floats, low: float, high: float) -> Floats:
    """Inverse distribution function of the normal distribution cut off at mean ± 3 standard deviations."""
    z = _normal_from_centre((u - 0.5) * _WITHIN_3_SIGMA)
    return np.clip((low + high) * 0.5 + ((high - low) / 6.0) * z, low, high)


def exponential_quantile(u: Floats, scale: float) -> Floats:
    """Inverse distribution function of the exponential distribution, counted from its far end."""
    return log(u) * -scale


def normal_quantile(u: Floats) -> Floats:
    """Inverse distribution function of the standard normal distribution, right to about 1e-15.

    Wichura's rational approximations: Algorithm AS 241, Applied Statistics 37 (1988), 477-484.
    """
    return _normal_from_centre(u - 0.5)


def _normal_from_centre(q: Floats) -> Floats:
    """Standard normal quantile at probability 1/2 + q."""
    z = _ratio(_CENTRE, 0.180625 - q * q)
    z *= q
    size = np.abs(q)
    outer = np.flatnonzero(size > 0.425)
    r = np.sqrt(-log(0.5 - size[outer]))
    tail = _ratio(_TAIL, r - 1.6)
    far = np.flatnonzero(r > 5.0)
    if far.size:
        tail[far] = _ratio(_FAR_TAIL, r[far] - 5.0)
    z[outer] = np.where(q[outer] < 0.0, -tail, tail)
    return z


def _ratio(ratio: _Ratio, x: Floats) -> Floats:
    """A quotient of two polynomials by Horner's rule, lowest coefficient first."""
    numerator, denominator = (_polynomial(coefficients, x) for coefficients in ratio)
    numerator /= denominator
    return numerator


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    value = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        value += coefficient
        value *= x
    value += coefficients[0]
    return value


def log(x: Floats) -> Floats:
    """Natural logarithm of normal positive numbers, right to one unit in the last place on every machine.

    The method and the series are fdlibm's: x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], and
    log(1 + f) = f - f²/2 + s (f²/2 + R(s²)) where s = f / (2 + f).
    """
    pattern = x.view(np.int64)
    mantissa = ((pattern & _FRACTION_BITS) | _ONE_BITS).view(np.float64)
    upper = mantissa > math.sqrt(2.0)
    k = ((pattern >> np.int64(52)) - np.int64(1023) + upper).astype(np.float64)
    f = np.where(upper, mantissa * 0.5, mantissa) - 1.0
    s = f / (2.0 + f)
    z = s * s
    rest = z * _polynomial(_LOG_SERIES, z)
    half_square = f * f * 0.5
    return k * _LN2_HIGH - ((half_square - (s * (half_square + rest) + k * _LN2_LOW)) - f)
