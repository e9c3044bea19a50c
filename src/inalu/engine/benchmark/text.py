"""The figures of the benchmark as a person reads them in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Tree = dict[str, Any]


def render(figures: Tree) -> str:
    """Return the whole answer as text."""
    machine, versions = figures["machine"], figures["versions"]
    rates = machine["vectors_per_ns"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores; {machine['system']}",
        ", ".join(f"{name} {number}" for name, number in versions.items()),
        f"one core makes, in vectors of 16 float32 a nanosecond, {rates['products']} products,",
        f"{rates['products_and_sums']} products and sums, {rates['divisions']} divisions, {rates['roots']} roots",
        "",
        "Nanoseconds for one step of one member (64 rows) under PAPER; less is better.",
    ]
    for case in figures["cases"]:
        lines += ["", *_case(case)]
    for axis, title in (
        ("members", "members, on one core"),
        ("inputs", "inputs of one layer, on one core"),
        ("cores", "cores"),
    ):
        rows = [row for row in figures["scaling"] if row["axis"] == axis]
        if rows:
            lines += ["", f"A step against {title} ({rows[0]['cell']})", *_scaling(rows)]
    return "\n".join(lines)


def _case(case: Tree) -> Iterable[str]:
    widths = " → ".join(map(str, case["network"]))
    yield f"{case['cell']} {widths}, {case['members']:,} members"
    one, every = case["ns_step_one_core"], case["ns_step_all_cores"]
    yield _row("inalu, one core", one, f"{case['roofline_share']:.0%} of what the core allows")
    yield _row("inalu, all cores", every, f"{one / every:.2f} times one core")
    for name, value in case["eager"].items():
        yield _row(f"PyTorch, eager, {name} Adam", value, f"{value / one:,.0f} times one core")
    for name, key in (
        ("stacked", "stacked_eager_ns_step"),
        ("stacked, compiled", "stacked_compiled_ns_step"),
    ):
        if case[key] is not None:
            yield _row(f"{name}, one core", case[key], f"{case[key] / one:,.1f} times one core")
    if case["jax_ns_step"] is not None:
        yield _row(
            "JAX, vmap and scan, all cores", case["jax_ns_step"], f"{case['ratio_jax']:,.1f} times all cores"
        )


def _row(name: str, value: float, note: str) -> str:
    return f"  {name:38}{value:>12,.1f}   {note}"


def _scaling(rows: list[Tree]) -> Iterable[str]:
    several = len({tuple(row["network"]) for row in rows}) > 1 and rows[0]["axis"] == "cores"
    for row in rows:
        name = f"{row['value']:,}"
        if several:
            name += f" ({' → '.join(map(str, row['network']))})"
        yield f"  {name:38}{row['ns_step']:>12,.1f}"
