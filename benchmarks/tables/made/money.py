"""Stories of money, trade, and everything with an account.

Each generator is a function that fills a `Sheet`. What is true of it stands in `stories.py`, and is itself checked on
a fresh table before anything is judged by it.
"""

from __future__ import annotations

import numpy as np
from benchmarks.tables.made.sheet import Sheet


def invoice(s: Sheet) -> None:
    s.put("line", np.arange(s.rows) + 1)
    s.put("customer", 10_000 * s.rng.integers(1, 9) + s.counts(1, 400))
    qty, price = s.put("qty", s.counts(1, 20)), s.put("unit_price", s.prices(0.5, 300), 2)
    net = s.put("net", qty * price, 2)
    rate = s.put("vat_rate", s.rng.choice([7.0, 19.0], s.rows))
    vat = s.put("vat", net * rate / 100, 2)
    s.put("gross", net + vat, 2)


def invoice_one_rate(s: Sheet) -> None:
    s.put("invoice_no", 20240000 + np.arange(s.rows))
    net = s.put("net", s.prices(20, 9000), 2)
    vat = s.put("vat", 0.19 * net, 2)
    s.put("gross", net + vat, 2)
    s.put("days_to_pay", s.counts(3, 60))


def invoice_discount(s: Sheet) -> None:
    qty, price = s.put("Quantity", s.counts(1, 50)), s.put("List Price", s.prices(2, 80), 2)
    off = s.put("Discount %", s.rng.choice([0.0, 5, 10, 12.5, 20], s.rows), 1)
    s.put("Line Total", qty * price * (1 - off / 100), 2)


def payroll(s: Sheet) -> None:
    s.put("employee", 500 + np.arange(s.rows))
    hours, rate = s.put("hours", np.round(s.rng.uniform(20, 40, s.rows) * 4) / 4, 2), None
    rate = s.put("rate", s.rng.uniform(14, 60, s.rows), 2)
    over = s.put("overtime_hours", np.maximum(0, np.round(s.rng.normal(1, 4, s.rows) * 2) / 2), 1)
    base = s.put("base_pay", hours * rate, 2)
    extra = s.put("overtime_pay", 1.5 * over * rate, 2)
    gross = s.put("gross_pay", base + extra, 2)
    tax = s.put("income_tax", 0.2 * gross, 2)
    social = s.put("social_security", 0.062 * gross, 2)
    health = s.put("medicare", 0.0145 * gross, 2)
    s.put("net_pay", gross - tax - social - health, 2)


def loan(s: Sheet) -> None:
    s.put("month", np.arange(s.rows) + 1)
    balance, interest, principal, left = 100_000.0, [], [], []
    for _ in range(s.rows):
        due = round(0.005 * balance, 2)
        part = round(599.55 - due, 2)
        balance = round(balance - part, 2)
        interest.append(due)
        principal.append(part)
        left.append(balance)
    s.put("payment", np.full(s.rows, 599.55), 2)
    s.put("interest", interest, 2)
    s.put("principal", principal, 2)
    s.put("balance", left, 2)


def loan_varying(s: Sheet) -> None:
    balance, out = 250_000.0, []
    rates = np.repeat(np.round(s.rng.uniform(2, 7, s.rows // 12 + 1), 2), 12)[: s.rows]
    paid = s.rng.integers(1500, 1900, s.rows).astype(float)
    for rate, pay in zip(rates, paid, strict=True):
        due = round(balance * rate / 1200, 2)
        out.append((balance, due, pay - due, balance - (pay - due)))
        balance = round(balance - (pay - due), 2)
    opening, due, part, closing = np.array(out).T
    for name, values in (("opening", opening), ("rate_pct", rates), ("payment", paid), ("interest", due)):
        s.put(name, values, 2)
    s.put("principal", part, 2)
    s.put("closing", closing, 2)


def bank(s: Sheet) -> None:
    inward = np.where(s.rng.random(s.rows) < 0.3, s.prices(50, 3000), 0.0)
    outward = np.where(inward == 0, s.prices(3, 400), 0.0)
    s.put("paid_in", inward, 2)
    s.put("paid_out", outward, 2)
    s.put("balance", 1500 + np.cumsum(inward - outward), 2)


def bank_blanks(s: Sheet) -> None:
    bank(s)
    for name in ("paid_in", "paid_out"):
        s.plain[name] = s.fancy[name] = ["" if float(t) == 0 else t for t in s.plain[name]]


def accounts(s: Sheet) -> None:
    amount = np.round(s.rng.normal(20, 400, s.rows), 2)
    account = np.arange(s.rows) // 20
    balance = np.concatenate([np.cumsum(amount[account == a]) for a in np.unique(account)])
    s.put("account", 7000 + 13 * account)
    s.put("amount", amount, 2)
    s.put("balance", balance, 2)


def stock_keeping(s: Sheet) -> None:
    received = s.put("received", np.where(s.rng.random(s.rows) < 0.4, s.counts(20, 200), 0))
    sold = s.put("sold", s.counts(0, 60))
    closing = 800 + np.cumsum(received - sold)
    s.put("opening", np.concatenate([[800.0], closing[:-1]]))
    s.put("closing", closing)


def year_to_date(s: Sheet) -> None:
    month = np.arange(s.rows) % 12 + 1
    s.put("month", month)
    sales = s.put("sales", s.prices(2000, 90000), 2)
    total, out = 0.0, []
    for m, v in zip(month, sales, strict=True):
        total = v if m == 1 else total + v
        out.append(total)
    s.put("ytd", out, 2)


def balance_sheet(s: Sheet) -> None:
    parts = {n: s.put(n, np.round(s.prices(5, 9000, 1), 1), 1) for n in ("cash", "receivables", "inventory")}
    current = s.put("current_assets", sum(parts.values()), 1)
    plant, soft = s.put("plant", s.prices(100, 20000, 1), 1), s.put("intangibles", s.prices(1, 5000, 1), 1)
    fixed = s.put("noncurrent_assets", plant + soft, 1)
    total = s.put("total_assets", current + fixed, 1)
    debt = s.put("liabilities", np.round(total * s.rng.uniform(0.2, 1.2, s.rows), 1), 1)
    equity = s.put("equity", total - debt, 1)
    s.put("debt_to_equity", debt / equity, 2)


def income_statement(s: Sheet) -> None:
    revenue = s.put("Revenue", s.prices(1000, 90000, 0), 0, form=",")
    cogs = s.put("COGS", np.round(revenue * s.rng.uniform(0.3, 0.7, s.rows)), 0, form=",")
    gross = s.put("Gross profit", revenue - cogs, 0, form=",")
    costs = [
        s.put(n, np.round(revenue * s.rng.uniform(0.02, 0.15, s.rows)), 0, form=",")
        for n in ("S&M", "R&D", "G&A")
    ]
    ebit = s.put("EBIT", gross - sum(costs), 0, form=",")
    s.put("Gross margin", 100 * gross / revenue, 1, form="%")
    s.put("EBIT margin", 100 * ebit / revenue, 1, form="%")


def commission(s: Sheet) -> None:
    sales = s.put("sales", s.prices(500, 80000), 2)
    tiers = np.select(
        [sales < 5000, sales < 20000],
        [0.02 * sales, 100 + 0.035 * (sales - 5000)],
        625 + 0.05 * (sales - 20000),
    )
    paid = s.put("commission", tiers, 2)
    base = s.put("base_salary", s.counts(18, 60) * 100)
    s.put("payout", base + paid, 2)


def shipping(s: Sheet) -> None:
    weight = s.put("weight_kg", s.prices(0.1, 40), 2)
    s.put("parcels", s.counts(1, 9))
    s.put("shipping_cost", np.select([weight <= 2, weight <= 5, weight <= 10], [4.99, 6.99, 9.49], 16.49), 2)


def brackets(s: Sheet) -> None:
    gross = s.put("gross_income", s.counts(9000, 190000))
    tax = (
        np.maximum(0, gross - 10000) * 0.12
        + np.maximum(0, gross - 45000) * 0.13
        + np.maximum(0, gross - 95000) * 0.1
    )
    tax = s.put("tax", tax, 2)
    net = s.put("net_income", gross - tax, 2)
    s.put("effective_rate", 100 * tax / gross, 1)
    s.put("children", s.counts(0, 4))
    assert len(net) == s.rows


def compound(s: Sheet) -> None:
    start, rate, years = (
        s.put("deposit", s.counts(10, 500) * 100),
        s.put("rate", s.prices(0.5, 8), 2),
        s.put("years", s.counts(1, 30)),
    )
    end = s.put("final_value", start * (1 + rate / 100) ** years, 2)
    s.put("interest_earned", end - start, 2)


def simple_interest(s: Sheet) -> None:
    start, rate, days = (
        s.put("principal", s.prices(1000, 500000), 2),
        s.put("rate_pct", s.prices(0.5, 9), 2),
        s.put("days", s.counts(5, 364)),
    )
    s.put("interest", start * rate * days / 36000, 2)


def market(s: Sheet) -> None:
    close = np.round(s.walk(80, 0.02), 2)
    opened = np.round(close * (1 + s.rng.normal(0, 0.01, s.rows)), 2)
    high = np.round(np.maximum(close, opened) * (1 + np.abs(s.rng.normal(0, 0.008, s.rows))), 2)
    low = np.round(np.minimum(close, opened) * (1 - np.abs(s.rng.normal(0, 0.008, s.rows))), 2)
    for name, values in (("open", opened), ("high", high), ("low", low), ("close", close)):
        s.put(name, values, 2)
    s.put("range", high - low, 2)
    s.put("typical", (high + low + close) / 3, 4)
    volume = s.put("volume", s.counts(10_000, 5_000_000))
    s.put("turnover", volume * close, 2)
    s.put("change_pct", np.concatenate([[np.nan], 100 * (close[1:] / close[:-1] - 1)]), 2)


def marketing(s: Sheet) -> None:
    seen = s.put("impressions", s.counts(5000, 900000))
    clicks = s.put("clicks", np.round(seen * s.rng.uniform(0.002, 0.06, s.rows)))
    orders = s.put("orders", np.round(clicks * s.rng.uniform(0.005, 0.1, s.rows)))
    cost = s.put("cost", np.round(clicks * s.rng.uniform(0.1, 2.5, s.rows), 2), 2)
    revenue = s.put("revenue", np.round(orders * s.rng.uniform(20, 90, s.rows), 2), 2)
    s.put("ctr", 100 * clicks / seen, 2, form="%")
    s.put("cpc", cost / clicks, 2)
    s.put("cpm", 1000 * cost / seen, 2)
    with np.errstate(all="ignore"):
        s.put("conversion", 100 * orders / clicks, 2, form="%")
        s.put("aov", revenue / orders, 2, form="DIV")
    s.put("roas", revenue / cost, 2)


def variance(s: Sheet) -> None:
    budget = s.put("budget", s.counts(0, 40) * 250)
    actual = s.put(
        "actual", np.maximum(0, np.round(budget * s.rng.normal(1, 0.2, s.rows) + s.rng.normal(0, 90, s.rows)))
    )
    gap = s.put("variance", actual - budget)
    with np.errstate(all="ignore"):
        s.put("variance_pct", 100 * gap / budget, 1, form="DIV")


def fx_daily(s: Sheet) -> None:
    usd = s.put("amount_usd", s.prices(10, 20000), 2)
    rate = s.put("usd_per_eur", s.walk(1.1, 0.004), 4)
    euro = s.put("amount_eur", usd / rate, 2)
    pound = s.put("gbp_per_eur", s.walk(0.86, 0.004), 4)
    s.put("amount_gbp", euro * pound, 2)


def fx_fixed(s: Sheet) -> None:
    usd = s.put("price_usd", s.prices(5, 2000), 2)
    s.put("price_eur", 0.92 * usd, 2)
    s.put("price_sek", 10.45 * usd, 2)
    s.put("stock", s.counts(0, 400))


def margins(s: Sheet) -> None:
    cost = s.put("unit cost", s.prices(1, 200), 2)
    price = s.put("sale price", np.round(cost * s.rng.uniform(1.05, 2.4, s.rows), 2), 2)
    profit = s.put("profit", price - cost, 2)
    s.put("margin", profit / price, 4)
    s.put("markup", profit / cost, 4)


def growth_columns(s: Sheet) -> None:
    before = s.put("sales_2022", s.prices(100, 90000, 0))
    after = s.put("sales_2023", np.round(before * s.rng.lognormal(0.05, 0.3, s.rows)))
    s.put("growth", 100 * (after - before) / before, 1, form="%")


def growth_rows(s: Sheet) -> None:
    s.put("year", 1960 + np.arange(s.rows))
    gdp = s.put("gdp", s.walk(540, 0.03, 0.03), 1)
    s.put("growth_pct", np.concatenate([[np.nan], 100 * (gdp[1:] - gdp[:-1]) / gdp[:-1]]), 2)
    s.put("change", np.concatenate([[np.nan], np.diff(gdp)]), 1)


def regions(s: Sheet) -> None:
    names = ("north", "south", "east", "west", "online")
    parts = [s.put(n, s.counts(50, 9000)) for n in names]
    total = s.put("total", sum(parts))
    for name, part in zip(names, parts, strict=True):
        s.put(f"{name}_share", 100 * part / total, 1)


def thousands(s: Sheet) -> None:
    exact = [s.prices(100, 90000, 4) for _ in range(4)]
    for name, part in zip(("wages", "rent", "energy", "other"), exact, strict=True):
        s.put(name, part)
    s.put("total_costs", sum(exact))


def rent(s: Sheet) -> None:
    area = s.put("sqft", s.counts(350, 4200))
    price = s.put("price", s.counts(60, 990) * 1000, form="$")
    s.put("price_per_sqft", price / area)
    s.put("bedrooms", s.counts(1, 5))


def meter(s: Sheet) -> None:
    used = s.counts(40, 900)
    s.put("reading", 12000 + np.cumsum(used))
    used = s.put("kwh", used)
    price = s.put("cents_per_kwh", s.rng.uniform(22, 41, s.rows), 1)
    s.put("cost_eur", used * price / 100, 2)


def water_bill(s: Sheet) -> None:
    used = s.put("m3", s.rng.uniform(2, 60, s.rows), 1)
    s.put("bill", 12.5 + 3.2 * used, 2)
    s.put("persons", s.counts(1, 6))


def signed_sum(s: Sheet) -> None:
    parts = [s.put(f"p{at}", s.rng.normal(0, 300, s.rows), 2) for at in range(12)]
    signs = [1, 1, -1, 1, -1, 1, 1, -1, 1, 1, -1, 1]
    s.put("result", sum(sign * part for sign, part in zip(signs, parts, strict=True)), 2)


def months(s: Sheet) -> None:
    names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    parts = [s.put(n, s.counts(0, 900)) for n in names]
    total = s.put("year", sum(parts))
    s.put("monthly_mean", total / 12, 1)


def budgets_huge(s: Sheet) -> None:
    parts = [s.put(n, np.round(s.prices(1e6, 4e9, 0))) for n in ("defence", "health", "education")]
    total = s.put("spending", sum(parts))
    income = s.put("income", np.round(s.prices(1e7, 9e9, 0)))
    s.put("deficit", total - income)
    s.put("health_pct", 100 * parts[1] / total, 2)


def gdp_parts(s: Sheet) -> None:
    c, i = s.put("consumption", s.walk(1700, 0.01, 0.01), 1), s.put("investment", s.walk(280, 0.03, 0.01), 1)
    g, x = s.put("government", s.walk(470, 0.01, 0.01), 1), s.put("exports", s.walk(150, 0.03, 0.01), 1)
    m = s.put("imports", s.walk(160, 0.03, 0.012), 1)
    gdp = s.put("gdp", c + i + g + x - m, 1)
    people = s.put("population", s.walk(177, 0.0005, 0.003), 3)
    s.put("gdp_per_head", 1000 * gdp / people, 0)
    s.put("deflator", s.walk(29, 0.005, 0.008), 2)


def unrelated_trends(s: Sheet) -> None:
    for at in range(8):
        s.put(f"index_{at}", s.walk(100, 0.01, 0.005 * (at % 3)), 1)
    s.put("year", 1950 + np.arange(s.rows))


def conditional(s: Sheet) -> None:
    qty, price = s.put("qty", s.counts(1, 30)), s.put("price", s.prices(1, 60), 2)
    off = np.where(s.rng.random(s.rows) < 0.32, s.rng.uniform(0.7, 0.95, s.rows), 1.0)
    s.put("paid", qty * price * off, 2)


def total_rows(s: Sheet) -> None:
    qty, price = s.counts(1, 40), s.prices(2, 90)
    revenue = np.round(qty * price, 2)
    total = np.arange(s.rows) % 11 == 10
    for at in np.flatnonzero(total):
        qty[at], revenue[at], price[at] = qty[at - 10 : at].sum(), revenue[at - 10 : at].sum(), np.nan
    s.text("item", ["Total" if t else f"item {at}" for at, t in enumerate(total)])
    s.put("qty", qty)
    s.put("price", price, 2)
    s.put("revenue", revenue, 2)


def copies(s: Sheet) -> None:
    qty, price = s.put("qty", s.counts(1, 20)), s.put("price", s.prices(1, 90), 2)
    s.put("price_old", price, 2)
    s.put("currency_factor", np.ones(s.rows))
    s.put("warehouse", np.full(s.rows, 3.0))
    s.put("amount", qty * price, 2)
    s.put("amount_copy", qty * price, 2)


def hostile_names(s: Sheet) -> None:
    a, b = s.put("Net (€) [excl.]", s.prices(10, 900), 2), s.put("50%", s.prices(1, 90), 2)
    c = s.put("class", s.counts(2, 90))
    s.put("in", 100 * a / c, 1)
    s.put("sum", a + b, 2)
    s.put("a-b", a - b, 2)


def two_prices(s: Sheet) -> None:
    q1, p1, q2, p2 = (
        s.put("q1", s.counts(1, 30)),
        s.put("p1", s.prices(1, 60), 2),
        s.put("q2", s.counts(1, 30)),
        s.put("p2", s.prices(1, 60), 2),
    )
    s.put("revenue", q1 * p1 + q2 * p2, 2)
