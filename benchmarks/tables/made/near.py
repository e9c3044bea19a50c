"""Stories with formulas beyond reach, to which something within reach comes near.

Wind chill, annuities, logarithmic returns, conditions, the largest of several: whoever reports a sum or a product for
these reports what is not so. What is true beside them is demanded as usual.
"""

from __future__ import annotations

import numpy as np
from benchmarks.tables.made.sheet import Array, Sheet


def wind_chill(s: Sheet) -> None:
    t, v = (
        s.put("temp_c", s.rng.uniform(-25, 8, s.rows), 1),
        s.put("wind_kmh", s.rng.uniform(6, 70, s.rows), 1),
    )
    s.put("wind_chill", 13.12 + 0.6215 * t - 11.37 * v**0.16 + 0.3965 * t * v**0.16, 1)


def annuity(s: Sheet) -> None:
    loan, rate = s.put("loan", s.counts(50, 900) * 1000), s.put("rate_pct", s.rng.uniform(1.5, 7, s.rows), 2)
    years = s.put("years", s.rng.choice([10.0, 15, 20, 25, 30], s.rows))
    monthly, n = rate / 1200, years * 12
    paid = s.put("payment", loan * monthly / (1 - (1 + monthly) ** -n), 2)
    s.put("total_paid", paid * n, 2)


def log_returns(s: Sheet) -> None:
    price = s.put("price", s.walk(60, 0.012), 2)
    s.put("log_return", np.concatenate([[np.nan], np.diff(np.log(price))]), 4)
    s.put("volume", s.counts(1000, 99000))


def metabolic(s: Sheet) -> None:
    sex = s.put("male", s.counts(0, 1))
    kg, cm, age = (
        s.put(name, s.rng.normal(mean, sd, s.rows), 1)
        for name, mean, sd in (("kg", 74, 13), ("cm", 172, 9), ("age", 45, 14))
    )
    man, woman = 66.5 + 13.75 * kg + 5.003 * cm - 6.755 * age, 655.1 + 9.563 * kg + 1.85 * cm - 4.676 * age
    s.put("basal_kcal", np.where(sex == 1, man, woman))


def body_surface(s: Sheet) -> None:
    kg, cm = s.put("kg", s.rng.normal(74, 13, s.rows), 1), s.put("cm", s.rng.normal(172, 9, s.rows))
    s.put("surface_m2", np.sqrt(kg * cm / 3600), 3)


def means(s: Sheet) -> None:
    a, b = s.put("a", s.prices(1, 90), 2), s.put("b", s.prices(1, 90), 2)
    s.put("geometric", np.sqrt(a * b), 3)
    s.put("harmonic", 2 * a * b / (a + b), 3)
    s.put("quadratic", np.sqrt((a**2 + b**2) / 2), 3)


def spread(s: Sheet) -> None:
    parts = [s.put(f"trial_{at}", s.rng.normal(20, 3, s.rows), 1) for at in range(1, 5)]
    s.put("mean", sum(parts) / 4, 3)
    s.put("sd", np.std(parts, axis=0, ddof=1), 3)
    s.put("median", np.median(parts, axis=0), 2)


def stopping(s: Sheet) -> None:
    v = s.put("speed_kmh", s.counts(10, 18) * 5 + s.counts(0, 20))
    reaction = s.put("reaction_m", 0.3 * v, 1)
    braking = s.put("braking_m", (v / 10) ** 2, 2)
    s.put("stopping_m", reaction + braking, 2)


def floors(s: Sheet) -> None:
    spent = s.put("spent", s.prices(1, 400), 2)
    s.put("points", np.floor(spent / 10))
    s.put("boxes", np.ceil(s.put("pieces", s.counts(1, 300)) / 12))


def dew_point(s: Sheet) -> None:
    t, rh = s.put("temp", s.rng.uniform(2, 34, s.rows), 1), s.put("humidity", s.counts(25, 99))
    gamma = np.log(rh / 100) + 17.62 * t / (243.12 + t)
    s.put("dew_point", 243.12 * gamma / (17.62 - gamma), 1)


def fitted(s: Sheet) -> None:
    x, z = s.put("x", s.rng.normal(10, 2, s.rows), 2), s.put("z", s.rng.normal(4, 1, s.rows), 2)
    s.put("y", 3.1 * x - 1.7 * z + s.rng.normal(0, 0.06, s.rows), 1)
    s.put("y_copy_with_noise", 0.5 * x + s.rng.normal(0, 0.04, s.rows), 1)


def nested_ids(s: Sheet) -> None:
    school = np.sort(s.counts(1, 12))
    s.put("school", school)
    s.put("pupil", school * 1000 + np.arange(s.rows) % 97)
    s.put("class", school * 10 + s.counts(1, 3))
    s.put("score", s.rng.normal(50, 9, s.rows), 1)
    s.put("books", s.counts(0, 40))


def visits(s: Sheet) -> None:
    number = np.repeat(np.arange(s.rows) + 1, s.rng.integers(1, 5, s.rows))[: s.rows]
    s.put("patient", number)
    s.put("event", s.counts(0, 1))
    s.put("dose", s.rng.choice([0.0, 5, 10], s.rows))
    s.put("pressure", s.rng.normal(128, 14, s.rows))
    s.put("row", np.arange(s.rows) + 1)


def sorted_prices(s: Sheet) -> None:
    s.put("rank", np.arange(s.rows) + 1)
    value = s.put("value", np.sort(s.prices(10, 90000, 0))[::-1])
    s.put("staff", np.round(value * s.rng.uniform(0.4, 0.6, s.rows)))
    s.put("founded", s.counts(1880, 2015))


def rounded_up(s: Sheet) -> None:
    net = s.put("net", s.prices(1, 200), 2)
    s.put("cash_price", np.round(net * 1.2 / 0.05) * 0.05, 2)
    s.put("weight", s.rng.uniform(0.1, 9, s.rows), 1)


def caps(s: Sheet) -> None:
    wage = s.put("wage", s.counts(1500, 9800))
    s.put("pension", 0.093 * np.minimum(wage, 7550), 2)
    health = s.put("health", 0.0815 * np.minimum(wage, 5175), 2)
    s.put("sum_check", wage - health, 2)


def few_rows_many_columns(s: Sheet) -> None:
    for at in range(40):
        s.put(f"gene_{at}", s.rng.lognormal(2, 1, s.rows), 1 + at % 2)


def share_of_column(s: Sheet) -> None:
    # The same table whatever the seed: its total is a constant of the formula.
    s.rng = np.random.default_rng(s.rows)
    sold: Array = s.put("sold", s.counts(20, 9000))
    s.put("share_pct", 100 * sold / sold.sum(), 2)
    s.put("price", s.prices(1, 90), 2)
