"""Stage g, on request: populations of iNALUs for what is still unexplained, and for a named target.

Two layers of gated cells learn (a + b) * c, a / b - c, a * b + c * d and the like from the rows, every weight
rounded to -1, 0 or 1 at the end. Constants are not theirs to find: the audit looks for factors afterwards.
It takes seconds a target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from inalu.expression import Expression
from inalu.tabular.search.linear import problems
from inalu.tabular.search.regress import Problem
from inalu.tabular.search.view import Array, Candidate, Found, View

# Columns that a network sees, those that go with the target most, and rows that it is trained on.
MOST_INPUTS = 6
ROWS = 240
# Results further from the target than this (mean bounded error) are not looked at.
WORST_ERROR = 0.02
# Networks learn numbers of about this size.
USUAL = 2.0


def networks(view: View, targets: Sequence[int]) -> Found:
    """What networks of two layers say about each target, its cells as they are and brought to a usual size."""
    from inalu.engine.network import Network
    from inalu.engine.plan import ArraySource
    from inalu.engine.search import Problem as Learning
    from inalu.engine.search import solve

    asked = []
    tasks = []
    for target in targets:
        for problem, columns, scale in _problems(view, target):
            network = Network("inalu-independent", (len(columns), 2, 1))
            source = ArraySource(problem.x / scale, problem.y / scale)
            tasks.append(Learning(network=network, source=source, seed=view.seed))
            asked.append((target, columns, scale))
    if not tasks:
        return Found()
    found: dict[Candidate, None] = {}
    training = solve(tasks)
    for (target, columns, scale), result in zip(asked, training.results, strict=False):
        if not result.error <= WORST_ERROR:
            continue
        names = [view.names[column] for column in columns]
        formula = rescaled(result.expression(names), scale)
        if formula.columns:
            found[Candidate(view.names[target], formula, "networks")] = None
    if training.interrupted:
        raise KeyboardInterrupt
    return Found(list(found), len(tasks) * 2**MOST_INPUTS)


def _problems(view: View, target: int) -> Iterator[tuple[Problem, list[int], float]]:
    """The rows and columns that a target's networks are trained on, and what their cells are divided by."""
    for problem, columns in problems(view, target, rows=ROWS, intercept=False):
        keep = np.sort(np.argsort(-_agreement(problem.x, problem.y), kind="stable")[:MOST_INPUTS])
        chosen = problem.columns(keep.astype(np.intp))
        usual = float(np.median(np.abs(chosen.y[chosen.y != 0]))) if (chosen.y != 0).any() else 1.0
        for scale in dict.fromkeys([1.0, 10.0 ** round(np.log10(usual / USUAL))]):
            yield chosen, [columns[int(at)] for at in keep], scale
        return


def _agreement(x: Array, y: Array) -> Array:
    """How much each column goes with the target: the rank correlation of their sizes."""
    places = np.argsort(np.argsort(np.abs(np.column_stack([x, y])), axis=0), axis=0).astype(np.float64)
    places -= places.mean(axis=0)
    size = np.sqrt((places**2).sum(axis=0)) + 1e-12
    agreement: Array = np.abs(places[:, :-1].T @ places[:, -1]) / (size[:-1] * size[-1])
    return agreement


def rescaled(formula: Expression, scale: float) -> Expression:
    """The formula for cells that were divided by ``scale``, target and operands alike.

    Examples
    --------
    >>> print(rescaled(Expression.parse("a + b"), 100.0), "|", rescaled(Expression.parse("a * b"), 100.0))
    a + b | 0.01 * a * b
    """
    if scale == 1.0:
        return formula.simplify()
    inside = {name: Expression.column(name) / Expression.constant(scale) for name in formula.columns}
    return (Expression.constant(scale) * formula.substitute(inside)).simplify()
