"""The one HTML shell: a page that holds all it needs, for the report and for the audit of tables.

Nothing is fetched and nothing is executed: style is inline, figures are inline SVG, there is no script, and a
content security policy says so to the browser. It reads light or dark, at 400 pixels as at 1,400: what is
wider than the window scrolls inside its own box. Headers and values of other people's tables are hostile
until they went through `escape`; `table`, `badge` and `figure` do that for whatever is not `Html`.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Sequence

from ._page_style import STYLE
from .errors import invalid

# Characters that HTML forbids, halves of surrogate pairs, and marks that turn the direction of text around.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_TONES = {"good": "✓", "bad": "✗", "unsure": "?", "plain": ""}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Html(str):
    """Text that is HTML already; what is not marked so is escaped."""

    __slots__ = ()


Cell = str | int | float | None

# Letters up to which a cell is not broken, and from which it gets room; columns from which names are pinned.
_SHORT, _LONG, _MANY = 24, 40, 6
_RIGHT = ' class="number"'


def escape(text: object) -> Html:
    """Return any text as HTML that shows it and does nothing else, in content as in a quoted attribute.

    Examples
    --------
    >>> escape('<img src=x onerror="alert(1)">')
    '&lt;img src=x onerror=&quot;alert(1)&quot;&gt;'
    """
    return Html(html.escape(_UNPRINTABLE.sub("\ufffd", str(text)), quote=True))


def page(title: str, sections: Iterable[tuple[str, str]], *, lead: str = "", foot: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title
        Text; it is escaped.
    sections
        Pairs of a heading (text, escaped) and a body (HTML). A table in a body gets its scrolling box here.
    lead, foot
        A sentence below the title and one at the end; text is escaped, `Html` is taken as it is.

    Examples
    --------
    >>> text = page("Formulas of <t>.csv", [("Found", "<p>None.</p>")])
    >>> "<h1>Formulas of &lt;t&gt;.csv</h1>" in text
    True
    """
    parts = list(sections)
    anchors = [f"section-{number}" for number in range(1, len(parts) + 1)]
    bodies = "\n".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
        f'<h2 id="{anchor}-title">{escape(heading)}</h2>\n'
        f"{_with_boxes(body, heading)}\n</section>"
        for anchor, (heading, body) in zip(anchors, parts, strict=True)
    )
    contents = _contents([heading for heading, _ in parts], anchors) if len(parts) > 2 else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{_paragraph(lead, "lead")}</header>
{contents}<main>
{bodies}
</main>
{_paragraph(foot, "foot")}</body>
</html>
"""


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], *, caption: str = "") -> Html:
    """Return a table in a box in which it scrolls; numbers stand to the right, None is a dash.

    Raises
    ------
    InvalidArgument
        When a row has more or fewer cells than the head.

    Examples
    --------
    >>> print(table(["name", "rows"], [["<b>", 12345]]))  # doctest: +ELLIPSIS
    <div class="box" ...&lt;b&gt;</td><td class="number">12,345</td></tr></tbody></table></div>
    """
    body = [list(row) for row in rows]
    for row in body:
        if len(row) != len(head):
            raise invalid("rows", f"must have {len(head)} cells each, one for every head", row)
    columns = [[row[i] for row in body] for i in range(len(head))]
    numeric = [bool(body) and not any(isinstance(cell, str) for cell in column) for column in columns]
    top = "".join(
        f'<th scope="col"{_RIGHT if right else ""}>{_text(name)}</th>'
        for name, right in zip(head, numeric, strict=True)
    )
    lines = "".join(
        f"<tr>{''.join(_cell(cell, right) for cell, right in zip(row, numeric, strict=True))}</tr>"
        for row in body
    )
    title = f"<caption>{_text(caption)}</caption>" if caption else ""
    inside = f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    # A column of names stays in sight beside many columns of numbers.
    pinned = len(head) > _MANY and not numeric[0] and max(len(str(cell)) for cell in columns[0]) <= _SHORT
    return _box(inside, caption or ", ".join(map(str, head)), "box pinned" if pinned else "box")


def badge(text: str, tone: str = "plain") -> Html:
    """Return a short word set off by a sign, a colour and a frame; tones are good, bad, unsure and plain.

    Examples
    --------
    >>> print(badge("holds", "good"))
    <span class="badge good"><span aria-hidden="true">✓ </span>holds</span>
    """
    if tone not in _TONES:
        raise invalid("tone", f"must be one of {', '.join(_TONES)}", tone)
    sign = f'<span aria-hidden="true">{_TONES[tone]} </span>' if _TONES[tone] else ""
    return Html(f'<span class="badge {tone}">{sign}{_text(text)}</span>')


def figure(svg: str, *, title: str, description: str, caption: str = "", least_width: int = 0) -> Html:
    """Return an SVG drawing with its text alternative; drawn for a light ground, it keeps one in the dark.

    Parameters
    ----------
    svg
        An ``<svg>`` element, as matplotlib writes it; declarations, scripts and outside links are taken out.
    title, description
        What the drawing is, and what one sees in it, for those who do not see it.
    caption
        A sentence below.
    least_width
        Pixels below which the drawing does not shrink but scrolls in its box.

    Raises
    ------
    InvalidArgument
        When there is no ``<svg>`` element, or no title or description.
    """
    if not title.strip() or not description.strip():
        raise invalid("title and description", "must say what the drawing shows", title or description)
    match = re.search(r"<svg\b([^>]*)>(.*)</svg\s*>", svg, re.DOTALL | re.IGNORECASE)
    if match is None:
        raise invalid("svg", "must hold an <svg> element", svg[:60])
    # Several drawings on one page must not share names.
    mark = "g" + hashlib.sha256((svg + title).encode("utf-8", "replace")).hexdigest()[:8]
    attributes, inside = _harmless(match[1], match[2], mark)
    style = f"min-width:{int(least_width)}px;max-width:{max(_natural_width(match[1]), int(least_width))}px"
    drawing = (
        f'<svg{attributes} role="img" aria-labelledby="{mark}-title {mark}-text" style="{style}">'
        f'<title id="{mark}-title">{escape(title)}</title><desc id="{mark}-text">{escape(description)}</desc>'
        f"{inside}</svg>"
    )
    below = f"<figcaption>{_text(caption)}</figcaption>" if caption else ""
    return Html(f"<figure>{_box(drawing, title, kind='box drawing')}{below}</figure>")


def _contents(headings: list[str], anchors: list[str]) -> str:
    pairs = zip(headings, anchors, strict=True)
    items = "".join(f'<li><a href="#{anchor}">{escape(heading)}</a></li>' for heading, anchor in pairs)
    return f'<nav aria-label="Contents"><ol>{items}</ol></nav>\n'


def _paragraph(text: str, kind: str) -> str:
    tag = "footer" if kind == "foot" else "p"
    return f'<{tag} class="{kind}">{_text(text)}</{tag}>\n' if text else ""


def _text(text: str) -> str:
    return text if isinstance(text, Html) else escape(text)


def _cell(value: Cell, right: bool) -> str:
    if value is None:
        return '<td class="number">–</td>' if right else "<td>–</td>"
    if isinstance(value, str):
        visible = value if not isinstance(value, Html) else re.sub("<[^>]*>", "", value)
        kind = ' class="short"' if len(visible) <= _SHORT else ' class="long"' if len(visible) > _LONG else ""
        return f"<td{kind}>{_text(value)}</td>"
    return f'<td class="number">{_number(value)}</td>'


def _number(value: float) -> str:
    if hasattr(value, "__index__"):
        shown = f"{value:,}"
    elif 1000 <= abs(value) < 1e7:
        shown = f"{value:,.0f}"
    else:
        shown = re.sub(r"e([+-])0+", r"e\1", f"{value:.4g}").replace("e+", "e")
    # A minus as wide as a digit.
    return shown.replace("-", "−", 1) if shown.startswith("-") else shown


def _box(inside: str, label: str, kind: str) -> Html:
    # A box that scrolls must be reachable by keyboard, and what can be reached must have a name.
    return Html(f'<div class="{kind}" role="region" tabindex="0" aria-label="{escape(label)}">{inside}</div>')


def _with_boxes(body: str, heading: str) -> str:
    """Put tables that stand alone into a box to scroll in."""
    pattern = re.compile(r'(<div class="box\b[^>]*>)?(<table\b.*?</table>)', re.DOTALL)
    return pattern.sub(lambda m: m[0] if m[1] else _box(m[2], heading, "box"), body)


def _natural_width(attributes: str) -> int:
    """Return the pixels of an SVG's own width, a little more than which it may grow to."""
    size = re.search(r"\bwidth\s*=\s*[\"']([0-9.]+)(pt|px)?[\"']", attributes)
    box = re.search(r"\bviewBox\s*=\s*[\"'][-0-9.e]+[ ,]+[-0-9.e]+[ ,]+([0-9.]+)", attributes)
    if size is None and box is None:
        return 800
    pixels = (
        float(size[1]) * (4 / 3 if size[2] == "pt" else 1)
        if size is not None
        else float(box[1] if box else 800)
    )
    return round(1.2 * pixels)


def _harmless(attributes: str, inside: str, mark: str) -> tuple[str, str]:
    """Return an SVG without what acts or fetches, every name in it prefixed by ``mark``."""
    inside = re.sub(r"<!DOCTYPE[^>]*>|<\?.*?\?>|<!--.*?-->", "", inside, flags=re.DOTALL)
    for tag in ("metadata", "script", "foreignObject", "title", "desc"):
        inside = re.sub(
            rf"<{tag}\b[^>]*/>|<{tag}\b.*?</{tag}\s*>", "", inside, flags=re.DOTALL | re.IGNORECASE
        )
    texts = []
    for text in (attributes, inside):
        text = re.sub(r"\son\w+\s*=\s*(\"[^\"]*\"|'[^']*')", "", text, flags=re.IGNORECASE)
        text = re.sub(
            r"\s(?:xlink:)?href\s*=\s*([\"'])(?!#|data:image/)[^\"']*\1", "", text, flags=re.IGNORECASE
        )
        text = re.sub(r"\bid=([\"'])", rf"id=\1{mark}-", text)
        text = re.sub(r"(href=[\"']#|url\(#)", rf"\1{mark}-", text)
        texts.append(text)
    # The size comes from the page; the viewBox keeps the proportions.
    sized = "|width|height" if "viewBox" in texts[0] else ""
    plain = re.sub(rf"\s(?:role|aria-\w+|style|id{sized})\s*=\s*(\"[^\"]*\"|'[^']*')", "", texts[0])
    return plain, texts[1]
