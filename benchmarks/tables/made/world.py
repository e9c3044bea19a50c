"""Stories of sport, laboratories, food, people, and the shapes of tables."""

from __future__ import annotations

import numpy as np
from benchmarks.tables.made.sheet import Sheet


def basketball(s: Sheet) -> None:
    fga = s.put("FGA", s.counts(5, 25))
    fg = s.put("FG", np.floor(fga * s.rng.uniform(0.25, 0.65, s.rows)))
    tpa = s.put("3PA", np.floor(fga * s.rng.uniform(0.1, 0.5, s.rows)))
    tp = s.put("3P", np.minimum(fg, np.floor(tpa * s.rng.uniform(0.1, 0.6, s.rows))))
    ft = s.put("FT", s.counts(0, 12))
    orb, drb = s.put("ORB", s.counts(0, 6)), s.put("DRB", s.counts(0, 12))
    s.put("TRB", orb + drb)
    s.put("FG%", fg / fga, 3)
    s.put("PTS", 2 * fg + tp + ft)


def baseball(s: Sheet) -> None:
    ab, bb = s.put("AB", s.counts(100, 620)), s.put("BB", s.counts(8, 110))
    hbp, sf = s.put("HBP", s.counts(0, 14)), s.put("SF", s.counts(0, 9))
    h = s.put("H", np.round(ab * s.rng.uniform(0.2, 0.33, s.rows)))
    doubles, triples, homers = (
        s.put(n, np.round(h * s.rng.uniform(lo, hi, s.rows)))
        for n, lo, hi in (("2B", 0.12, 0.25), ("3B", 0, 0.04), ("HR", 0.03, 0.22))
    )
    total = s.put("TB", h + doubles + 2 * triples + 3 * homers)
    s.put("AVG", h / ab, 3)
    obp = s.put("OBP", (h + bb + hbp) / (ab + bb + hbp + sf), 3)
    slg = s.put("SLG", total / ab, 3)
    s.put("OPS", obp + slg, 3)


def league(s: Sheet) -> None:
    won, drawn = s.put("W", s.counts(3, 20)), s.put("D", s.counts(2, 12))
    lost = s.put("L", 38 - won - drawn)
    scored, taken = s.put("GF", s.counts(25, 95)), s.put("GA", s.counts(20, 85))
    s.put("GD", scored - taken)
    s.put("Pts", 3 * won + drawn)
    assert len(lost) == s.rows


def win_share(s: Sheet) -> None:
    won, lost = s.put("wins", s.counts(20, 110)), s.put("losses", s.counts(20, 110))
    s.put("pct", won / (won + lost), 3)


def cricket(s: Sheet) -> None:
    runs, balls = s.put("runs", s.counts(20, 8000)), s.put("balls", s.counts(40, 9000))
    innings, notout = s.put("innings", s.counts(30, 200)), s.put("not_outs", s.counts(0, 25))
    s.put("strike_rate", 100 * runs / balls, 2)
    s.put("average", runs / (innings - notout), 2)
    overs = s.counts(10, 400)
    s.put("overs", np.floor(overs / 6) + (overs % 6) / 10, 1)


def election(s: Sheet) -> None:
    roll = s.put("registered", s.counts(2000, 90000))
    votes = [
        s.put(n, np.round(roll * s.rng.uniform(0.005, 0.16, s.rows)))
        for n in ("SPD", "CDU", "Grüne", "FDP", "Linke", "Andere")
    ]
    valid = s.put("valid", sum(votes))
    spoilt = s.put("invalid", s.counts(5, 300))
    cast = s.put("cast", valid + spoilt)
    s.put("turnout", 100 * cast / roll, 1)
    s.put("SPD_pct", 100 * votes[0] / valid, 1)
    s.put("FDP_pct", 100 * votes[3] / valid, 1)


def ohm(s: Sheet) -> None:
    current, resistance = (
        s.put("I_mA", s.rng.uniform(1, 200, s.rows), 1),
        s.put("R_ohm", s.rng.uniform(10, 990, s.rows)),
    )
    volts = s.put("U_V", current * resistance / 1000, 3)
    s.put("P_mW", volts * current, 1)


def kinetic(s: Sheet) -> None:
    m, v = s.put("mass_kg", s.prices(0.2, 90), 2), s.put("speed", s.rng.uniform(0.5, 30, s.rows), 2)
    s.put("energy_J", 0.5 * m * v**2, 2)
    s.put("momentum", m * v, 3)


def gas(s: Sheet) -> None:
    n, t, v = (
        s.put("n_mol", s.prices(0.05, 5, 3), 3),
        s.put("T_K", s.rng.uniform(250, 500, s.rows), 1),
        s.put("V_L", s.prices(0.5, 50), 2),
    )
    s.put("P_kPa", 8.314 * n * t / v, 1)


def density(s: Sheet) -> None:
    m, v = s.put("mass_g", s.prices(0.5, 900, 3), 3), s.put("volume_ml", s.prices(0.5, 300, 1), 1)
    s.put("density", m / v, "4g")


def traces(s: Sheet) -> None:
    m, v = s.put("mass_g", s.prices(0.001, 0.05, 5), 5), s.put("volume_l", s.prices(0.5, 4, 3), 3)
    s.put("conc", m / v, 5)
    s.put("blank", s.rng.uniform(0.0001, 0.0009, s.rows), 5)


def dilution(s: Sheet) -> None:
    c1, v1, v2 = (
        s.put("C1", s.prices(1, 50), 2),
        s.put("V1", s.prices(1, 20), 2),
        s.put("V2", s.prices(50, 500, 1), 1),
    )
    s.put("C2", c1 * v1 / v2, 4)


def five_factors(s: Sheet) -> None:
    a, b, c, d, e = (s.put(n, s.prices(1, 40), 2) for n in "abcde")
    s.put("y", a * b * c * d * e, "full")


def two_by_two(s: Sheet) -> None:
    a, b, c, d = (s.put(n, s.prices(5, 500), 2) for n in ("p_in", "t_in", "p_out", "t_out"))
    s.put("ratio", a * b / (c * d), 3)


def half_product(s: Sheet) -> None:
    a, b, c = (s.put(n, s.prices(2, 90, 1), 1) for n in ("base", "height", "length"))
    s.put("prism", 0.5 * a * b * c, 1)
    s.put("perimeter", 2 * a + 2 * b, 1)


def cylinder(s: Sheet) -> None:
    r, h = s.put("radius", s.prices(1, 30, 1), 1), s.put("height", s.prices(5, 300, 1), 1)
    s.put("volume", np.pi * r**2 * h, 1)


def fahrenheit(s: Sheet) -> None:
    c = s.put("temp_c", s.rng.normal(12, 9, s.rows), 1)
    s.put("temp_f", 1.8 * c + 32, 1)
    s.put("temp_k", c + 273.15, 2)
    s.put("humidity", s.counts(20, 100))


def units(s: Sheet) -> None:
    km = s.prices(5, 900, 4)
    s.put("km", km, 1)
    s.put("miles", km / 1.609344, 1)
    lb = s.put("lb", s.rng.uniform(90, 280, s.rows), 1)
    s.put("kg", 0.45359237 * lb, 1)


def mileage(s: Sheet) -> None:
    mpg = s.put("mpg", s.rng.uniform(9, 58, s.rows), 1)
    s.put("l_per_100km", 235.215 / mpg, 1)
    s.put("cylinders", s.rng.choice([4.0, 6, 8], s.rows))


def pace(s: Sheet) -> None:
    distance, minutes = (
        s.put("km", s.prices(2, 60, 2), 2),
        s.put("minutes", s.rng.uniform(10, 400, s.rows), 1),
    )
    s.put("kmh", 60 * distance / minutes, 2)
    s.put("min_per_km", minutes / distance, 2)


def nutrition(s: Sheet) -> None:
    protein, carbs, fat = (
        s.put(n, s.rng.gamma(1.5, k, s.rows), 1) for n, k in (("protein_g", 8), ("carbs_g", 18), ("fat_g", 9))
    )
    kcal = s.put("kcal", 4 * protein + 4 * carbs + 9 * fat)
    s.put("kj", 4.184 * kcal)
    sodium = s.put("sodium_g", s.rng.gamma(1.2, 0.4, s.rows), 2)
    s.put("salt_g", 2.5 * sodium, 2)


def bmi(s: Sheet) -> None:
    height, weight = (
        s.put("height_cm", s.rng.normal(171, 10, s.rows), 1),
        s.put("weight_kg", s.rng.normal(74, 14, s.rows), 1),
    )
    s.put("age", s.counts(18, 90))
    s.put("bmi", weight / (height / 100) ** 2, 1)


def blood(s: Sheet) -> None:
    high, low = s.put("systolic", s.counts(95, 190)), s.put("diastolic", s.counts(55, 110))
    s.put("pulse_pressure", high - low)
    s.put("map", (high + 2 * low) / 3)
    s.put("age", s.counts(18, 90))


def cholesterol(s: Sheet) -> None:
    hdl, tri = s.put("hdl", s.counts(25, 95)), s.put("triglycerides", s.counts(40, 390))
    total = s.put("total_chol", s.counts(130, 310))
    s.put("ldl", total - hdl - tri / 5)
    s.put("chol_ratio", total / hdl, 1)


def grades(s: Sheet) -> None:
    work, mid, final = (s.put(n, s.counts(20, 100)) for n in ("homework", "midterm", "final"))
    s.put("grade", 0.2 * work + 0.3 * mid + 0.5 * final, 1)


def six_weights(s: Sheet) -> None:
    parts = [s.put(f"criterion_{at}", s.counts(0, 100)) for at in range(1, 7)]
    s.put("score", sum(w * p for w, p in zip((0.15, 0.05, 0.1, 0.2, 0.25, 0.25), parts, strict=True)))


def mean_of_four(s: Sheet) -> None:
    parts = [s.put(f"judge_{at}", s.rng.uniform(4, 10, s.rows), 1) for at in range(1, 5)]
    s.put("mean", sum(parts) / 4, 2)
    s.put("start_number", s.rng.permutation(s.rows) + 1)


def survey(s: Sheet) -> None:
    taste = s.rng.normal(3, 0.8, s.rows)
    parts = [
        s.put(f"q{at}", np.clip(np.round(taste + s.rng.normal(0, 1, s.rows)), 1, 5)) for at in range(1, 11)
    ]
    s.put("score", sum(parts))


def survey_reversed(s: Sheet) -> None:
    parts = [s.put(f"q{at}", s.counts(1, 5)) for at in range(1, 6)]
    s.put("scale", parts[0] + (6 - parts[1]) + parts[2] + (6 - parts[3]) + parts[4])


def survey_only(s: Sheet) -> None:
    taste = s.rng.normal(3, 0.8, s.rows)
    for at in range(1, 13):
        s.put(f"q{at}", np.clip(np.round(taste + s.rng.normal(0, 1, s.rows)), 1, 5))
    s.put("sex", s.counts(0, 1))
    s.put("age", s.counts(18, 80))


def census(s: Sheet) -> None:
    area = s.put("area_km2", s.prices(2, 900), 2)
    men, women = s.put("male", s.counts(200, 40000)), s.put("female", s.counts(200, 40000))
    people = s.put("population", men + women)
    s.put("density", people / area, 1)
    homes = s.put("households", np.round(people / s.rng.uniform(1.8, 3, s.rows)))
    s.put("persons_per_household", people / homes, 2)
    s.put("sex_ratio", 100 * men / women, 1)


def ages(s: Sheet) -> None:
    born, asked = (
        s.put("birth_year", s.counts(1930, 2004)),
        s.put("survey_year", s.rng.choice([2004.0, 2010, 2016, 2022], s.rows)),
    )
    s.put("age", asked - born)
    s.text("date", [f"{int(y)}-0{1 + at % 9}-1{at % 10}" for at, y in enumerate(asked)])


def hospital(s: Sheet) -> None:
    beds, days = s.put("beds", s.counts(30, 900)), s.put("patient_days", s.counts(5000, 250000))
    s.put("admissions", np.round(days / s.rng.uniform(3, 9, s.rows)))
    s.put("mean_stay", days / np.array([float(t) for t in s.plain["admissions"]]), 1)
    s.put("occupancy", 100 * days / (365 * beds), 1)


def rain(s: Sheet) -> None:
    fallen = s.put("rain_mm", np.where(s.rng.random(s.rows) < 0.4, s.rng.gamma(1, 6, s.rows), 0), 1)
    s.put("cumulative", np.cumsum(fallen), 1)
    s.put("temp", 10 + 8 * np.sin(np.arange(s.rows) / 58) + s.rng.normal(0, 2, s.rows), 1)


def float32(s: Sheet) -> None:
    a, b = (s.put(n, np.exp(s.rng.normal(2, 1, s.rows)), "single") for n in ("flow", "pressure"))
    s.put("power", np.float32(a) * np.float32(b), "single")
    s.put("head", s.rng.normal(5, 1, s.rows), "single")


def float32_in_r(s: Sheet) -> None:
    a, b, c = (s.put(n, np.exp(s.rng.normal(2, 1, s.rows)), "single15") for n in ("x1", "x2", "x3"))
    s.put("total", np.float32(a) + np.float32(b) + np.float32(c), "single15")
    s.put("share", np.float32(a) / (np.float32(a) + np.float32(b) + np.float32(c)), "single15")


def full_floats(s: Sheet) -> None:
    a, b = s.put("x", s.rng.normal(0, 3, s.rows), "full"), s.put("y", s.rng.normal(0, 3, s.rows), "full")
    s.put("sum", a + b, "full")
    s.put("weighted", 0.25 * a - 1.75 * b, "full")


def extremes(s: Sheet) -> None:
    a, b, c = (s.put(n, s.rng.uniform(5, 35, s.rows), 1) for n in ("t1", "t2", "t3"))
    s.put("max", np.maximum(np.maximum(a, b), c), 1)
    s.put("min", np.minimum(np.minimum(a, b), c), 1)
    s.put("abs_diff", np.abs(a - b), 1)


def curves(s: Sheet) -> None:
    x = s.put("x", s.rng.uniform(0.1, 9, s.rows), 2)
    s.put("log_x", np.log(x), 3)
    s.put("root_x", np.sqrt(x), 3)
    s.put("sine", np.sin(x), 3)
    s.put("near_x", 1.02 * x + s.rng.normal(0, 0.05, s.rows), 2)


def standardised(s: Sheet) -> None:
    x = s.put("raw", s.rng.normal(50, 12, s.rows), 1)
    s.put("rank", np.argsort(np.argsort(x)) + 1)
    s.put("smoothed", np.convolve(x, np.ones(5) / 5, mode="same"), 2)


def soil(s: Sheet) -> None:
    sand = s.counts(5, 80)
    clay = np.round((100 - sand) * s.rng.uniform(0.1, 0.9, s.rows))
    s.put("sand", sand)
    s.put("silt", 100 - sand - clay)
    s.put("clay", clay)
    s.put("ph", s.rng.normal(6.4, 0.6, s.rows), 1)


def zero_inflated(s: Sheet) -> None:
    def sparse(share: float) -> np.ndarray:
        return np.where(s.rng.random(s.rows) < share, s.counts(100, 90000), 0)

    repair, other = s.put("repair", sparse(0.03)), s.put("other", sparse(0.02))
    s.put("total_cost", repair + other)
    s.put("injuries", np.where(s.rng.random(s.rows) < 0.01, s.counts(1, 5), 0))
    s.put("speed", s.counts(60, 300))


def sparse_nothing(s: Sheet) -> None:
    for at in range(9):
        s.put(f"claims_{at}", np.where(s.rng.random(s.rows) < 0.05, s.counts(1, 4), 0))


def small_integers(s: Sheet) -> None:
    for at in range(10):
        s.put(f"count_{at}", s.counts(0, 6))


def small_total(s: Sheet) -> None:
    a, b, c = (s.put(n, s.counts(0, 6)) for n in ("gold", "silver", "bronze"))
    s.put("total", a + b + c)
    s.put("athletes", s.counts(4, 300))


def students(s: Sheet) -> None:
    pupils, teachers = s.put("students", s.counts(80, 1900)), s.put("teachers", s.counts(6, 120))
    s.put("str", pupils / teachers, 1)
    lunch = s.put("free_lunch", np.round(pupils * s.rng.uniform(0.02, 0.9, s.rows)))
    s.put("lunch_pct", 100 * lunch / pupils, 1)
    math, reading = (
        s.put("math", s.rng.normal(650, 20, s.rows), 1),
        s.put("reading", s.rng.normal(655, 20, s.rows), 1),
    )
    s.put("score", (math + reading) / 2, 2)


def solar(s: Sheet) -> None:
    watts, hours = s.put("watt", s.counts(200, 8000)), s.put("hours", s.rng.uniform(1, 12, s.rows), 1)
    kwh = s.put("kwh", watts * hours / 1000, 2)
    s.put("co2_kg", 0.4 * kwh, 2)
    s.put("cumulative_kwh", np.cumsum(kwh), 2)


def index_numbers(s: Sheet) -> None:
    price = s.put("price", s.walk(80, 0.03), 2)
    s.put("index", 1.25 * price, 1)
    s.put("volume", s.counts(1000, 90000))


def totals_of_parts(s: Sheet) -> None:
    x, y, z = (s.put(n, s.counts(1, 4000)) for n in ("urban", "rural", "abroad"))
    s.put("domestic", x + y)
    s.put("all", x + y + z)
    s.put("urban_share", x / (x + y), 3)
    s.put("ratio", (x + y) / z, 2)


def errors(s: Sheet) -> None:
    seen, said = s.put("observed", s.rng.normal(20, 6, s.rows), 2), None
    said = s.put("predicted", seen + s.rng.normal(0, 2, s.rows), 2)
    residual = s.put("residual", seen - said, 2)
    s.put("squared", residual**2, 4)


def wide(s: Sheet) -> None:
    for at in range(9):
        a, b = s.put(f"a{at}", s.prices(1, 500), 2), s.put(f"b{at}", s.prices(1, 500), 2)
        s.put(
            f"c{at}",
            (
                a + b,
                a * b,
                a / b,
                a - b,
                100 * a / b,
                0.3 * a + 0.7 * b,
                (a - b) / b,
                a / (a + b),
                1.5 * a * b,
            )[at],
            3,
        )


def ten_rows(s: Sheet) -> None:
    a, b, c = (s.put(n, s.prices(10, 900), 2) for n in "abc")
    s.put("total", a + b + c, 2)


def ten_products(s: Sheet) -> None:
    a, b = s.put("hours", s.prices(1, 90, 1), 1), s.put("wage", s.prices(10, 60), 2)
    s.put("pay", a * b, 2)
    s.put("share", a / (a + b), 4)


def ten_random(s: Sheet) -> None:
    for at in range(20):
        s.put(f"v{at}", s.counts(1, 60) if at % 2 else s.prices(1, 50, 1), 1 - at % 2)
