"""The answer to a table as one page; every name and value from the table is escaped."""

from __future__ import annotations

from inalu.page import Cell, Html, badge, escape, page, table
from inalu.tabular import render
from inalu.tabular.relation import Audit, Relation
from inalu.tabular.table import Table
from inalu.tabular.totals import sentence

# More rows than these are for a program to read (--json), not for a person.
MOST_ROWS = 500


def page_of(audit: Audit, data: Table) -> str:
    """The whole page as HTML that needs nothing from elsewhere.

    Examples
    --------
    >>> data = Table.from_columns({"<b>": [1, 2]}, name="t.csv")
    >>> text = page_of(Audit("t.csv", 2, 0.1, 0.0, (), ("<b>",), None), data)
    >>> "<b>" in text, "&lt;b&gt;" in text
    (False, True)
    """
    sections = [("Formulas", _formulas(audit))]
    if audit.relations:
        sections.append(("To paste", _texts(audit, data)))
    broken = [one for one in audit.relations if one.breaking]
    sections += [(f"Rows that break {one}", _breaking(one, data)) for one in broken]
    if audit.total_rows:
        sections.append(("Total rows", _totals(audit, data)))
    sections.append(("The table", _facts(audit, data)))
    return page(f"Formulas of {audit.table}", sections, lead=_lead(audit))


def _lead(audit: Audit) -> str:
    rows = {broken.row for relation in audit.relations for broken in relation.breaking}
    if not audit.relations and audit.interrupted:
        return "The search was interrupted; no formula had been found yet."
    if not audit.relations:
        return "No formula found: no column follows from others clearly enough to tell it from luck."
    count = len(audit.relations)
    said = f"{count} {'formula' if count == 1 else 'formulas'} in {audit.rows:,} rows; "
    if rows:
        said += f"{len(rows):,} {'row breaks' if len(rows) == 1 else 'rows break'} one. "
    else:
        said += "all rows hold. "
    if wrong := sum(bool(total.breaking) for total in audit.total_rows):
        said += f"{wrong:,} total {'row does' if wrong == 1 else 'rows do'} not add up. "
    said += f"Expected by luck alone: {audit.false_findings_expected:.2g}."
    return f"{said} The search was interrupted; this is what had been found." if audit.interrupted else said


def _formulas(audit: Audit) -> str:
    if not audit.relations:
        nearest = audit.nearest_miss
        return f"<p>The nearest miss: {escape(nearest)}.</p>" if nearest is not None else "<p>None.</p>"
    rows: list[list[Cell]] = [
        [
            badge("breaks", "bad") if relation.breaking else badge("holds", "good"),
            Html(f"<code>{escape(relation)}</code>"),
            relation.rows_holding,
            relation.rows_checked,
            round(relation.evidence.bits),
            relation.found_by,
            Html("<br>".join(f"<code>{escape(formula)}</code>" for formula in relation.equivalent)),
        ]
        for relation in audit.relations
    ]
    head = ["", "formula", "rows that hold", "of", "bits of evidence", "found by", "follows as well"]
    return table(head, rows)


def _texts(audit: Audit, data: Table) -> str:
    """The formulas in Excel and SQL, rounded to the target's decimals."""
    decimals = {column.name: None if column.relative else column.decimals for column in data.columns}
    rows = []
    for relation in audit.relations:
        digits = decimals.get(relation.target)
        texts = (
            render.excel(relation.formula, decimals=digits),
            render.sql(relation.formula, decimals=digits),
        )
        rows.append([relation.target, *(Html(f"<code>{escape(text)}</code>") for text in texts)])
    return table(["column", "Excel", "SQL"], rows)


def _breaking(relation: Relation, data: Table) -> str:
    head = ["row", "line in the file", relation.target, "expected", "difference", "likely cause", "look at"]
    rows = [
        [
            broken.row,
            data.row_label(broken.row) if data.labels is not None else None,
            *(
                data.shown(value, relation.target)
                for value in (broken.value, broken.expected, broken.difference)
            ),
            "" if broken.cause == "unknown" else broken.cause.replace("_", " "),
            broken.suspect,
        ]
        for broken in relation.breaking[:MOST_ROWS]
    ]
    more = len(relation.breaking) - len(rows)
    rest = f"<p>… and {more:,} more rows.</p>" if more else ""
    common = "".join(f"<p>{escape(sentence)}</p>" for sentence in relation.common)
    return f"{common}{table(head, rows)}{rest}"


def _totals(audit: Audit, data: Table) -> str:
    """The rows that are sums of rows above; no formula is held against them."""
    ordered = sorted(audit.total_rows, key=lambda total: not total.breaking)
    rows: list[list[Cell]] = [
        [
            badge("breaks", "bad") if total.breaking else badge("holds", "good"),
            total.row,
            data.row_label(total.row) if data.labels is not None else None,
            total.label or "",
            sentence(total, data, audit.total_rows),
        ]
        for total in ordered[:MOST_ROWS]
    ]
    more = len(ordered) - len(rows)
    rest = f"<p>… and {more:,} more total rows.</p>" if more else ""
    return table(["", "row", "line in the file", "label", "what it sums"], rows) + rest


def _facts(audit: Audit, data: Table) -> str:
    facts = [f"{audit.rows:,} rows, {len(data.columns)} numeric columns, {audit.seconds:.1f} s."]
    facts += audit.notes or data.notes
    if audit.unexplained:
        facts.append(f"Not computed from other columns: {', '.join(audit.unexplained)}.")
    return "<ul>" + "".join(f"<li>{escape(fact)}</li>" for fact in facts) + "</ul>"
