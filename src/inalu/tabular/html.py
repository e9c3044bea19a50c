"""The answer to a table as one page; every name and value from the table is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from inalu.page import escape, page
from inalu.tabular import render
from inalu.tabular.relation import Audit, Relation
from inalu.tabular.table import Table

# More rows than these are for a program to read (--json), not for a person.
MOST_ROWS = 500


def page_of(audit: Audit, table: Table) -> str:
    """The whole page as HTML that needs nothing from elsewhere.

    Examples
    --------
    >>> table = Table.from_columns({"<b>": [1, 2]}, name="t.csv")
    >>> text = page_of(Audit("t.csv", 2, 0.1, 0.0, (), ("<b>",), None), table)
    >>> "<b>" in text, "&lt;b&gt;" in text
    (False, True)
    """
    sections = [("Formulas", _formulas(audit))]
    sections += [
        (f"Rows that break {one.target}", _breaking(one, table)) for one in audit.relations if one.breaking
    ]
    sections.append(("The table", _table(audit, table)))
    return page(f"Formulas of {audit.table}", sections)


def _formulas(audit: Audit) -> str:
    if not audit.relations:
        nearest = audit.nearest_miss
        miss = f" The nearest miss: {escape(str(nearest))}." if nearest is not None else ""
        said = "No formula found: no column follows from others clearly enough to tell it from luck."
        return f"<p>{said}{miss}</p>"
    rows = [_row(relation) for relation in audit.relations]
    head = ("formula", "rows that hold", "of", "found by", "bits of evidence", "in Excel", "in SQL")
    luck = f"{audit.false_findings_expected:.2g}"
    stopped = "<p>The search was interrupted; this is what had been found.</p>" if audit.interrupted else ""
    return f"{stopped}{_grid(head, rows)}<p>Expected by luck alone: {luck} of {len(audit.relations)}.</p>"


def _row(relation: Relation) -> list[str]:
    also = "".join(f"<br><small>also {escape(str(formula))}</small>" for formula in relation.equivalent)
    return [
        f"<code>{escape(str(relation))}</code>{also}",
        f"{relation.rows_holding:,}",
        f"{relation.rows_checked:,}",
        escape(relation.found_by),
        f"{relation.evidence.bits:.0f}",
        f"<code>{escape(render.excel(relation.formula))}</code>",
        f"<code>{escape(render.sql(relation.formula))}</code>",
    ]


def _breaking(relation: Relation, table: Table) -> str:
    head = ("row", "line in the file", relation.target, "expected", "difference", "likely cause", "suspect")
    rows = [
        [
            str(broken.row),
            str(table.row_label(broken.row)) if table.labels is not None else "",
            *(f"{value:.12g}" for value in (broken.value, broken.expected, broken.difference)),
            escape(broken.cause.replace("_", " ")),
            escape(broken.suspect),
        ]
        for broken in relation.breaking[:MOST_ROWS]
    ]
    more = len(relation.breaking) - len(rows)
    rest = f"<p>… and {more:,} more rows.</p>" if more else ""
    common = "".join(f"<p>{escape(sentence)}</p>" for sentence in relation.common)
    return f"<p><code>{escape(str(relation))}</code></p>{common}{_grid(head, rows)}{rest}"


def _table(audit: Audit, table: Table) -> str:
    facts = [
        f"{audit.rows:,} rows, {len(table.columns)} numeric columns, {audit.seconds:.1f} s.",
        *(audit.notes or table.notes),
    ]
    if audit.unexplained:
        facts.append(f"Not computed from other columns: {', '.join(audit.unexplained)}.")
    return "<ul>" + "".join(f"<li>{escape(fact)}</li>" for fact in facts) + "</ul>"


def _grid(head: Iterable[str], rows: Iterable[list[str]]) -> str:
    """A table; the cells are HTML already, the head is text."""
    top = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
