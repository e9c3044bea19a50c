"""From matplotlib's SVG to a small one with a title and a description, for a file or a page."""

from __future__ import annotations

import re
from html import escape

FONTS = "system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"

_NEEDLESS = (
    r"<metadata>.*?</metadata>",
    # The style rule for all elements would reach beyond this drawing.
    r"<defs>\s*<style.*?</style>\s*</defs>",
    r"<!--.*?-->",
    r"font-family: [^;\"]*;? ?",
    r' transform="rotate\(-0 [^"]*"',
)
_MARKS = re.compile(r'<g( [^>]*)?>((?:<use [^>]*style="([^"]*)"/>)+)</g>')


def finish(drawn: str, *, name: str, title: str, alternative: str) -> str:
    """Return the drawing with a title and a description for those who cannot see it, and nothing needless.

    Parameters
    ----------
    drawn
        What matplotlib wrote.
    name
        Begins the ids of title and description.
    title, alternative
        What the drawing is, and what one sees in it.
    """
    text = drawn[drawn.index("<svg") :]
    for pattern in _NEEDLESS:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r'style="[^"]*"', lambda style: re.sub(r"(?<=[;:]) ", "", style[0]), text)
    text = _short_names(text)
    # Thousands of marks share a style; it stands once, at their group.
    text = _MARKS.sub(_share_style, text)
    text = re.sub(r"\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), text)
    words = (
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(alternative)}</desc>'
    )
    head, rest = text.split(">", 1)
    return (
        f'{head} role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
        f'font-family="{FONTS}" stroke-linejoin="round">{words}{rest}'
    ).strip()


def standalone(svg: str) -> str:
    """Return a finished drawing as the text of a file."""
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}\n'


def _short_names(text: str) -> str:
    """Number the ids that something refers to, and drop the others."""
    used = dict.fromkeys(re.findall(r"#([\w.-]+)(?=[\")])", text))
    names = {old: f"n{number}" for number, old in enumerate(old for old in used if f'id="{old}"' in text)}
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    return re.sub(r"(xlink:href=\"#|url\(#)([\w.-]+)", lambda m: m[1] + names.get(m[2], m[2]), text)


def _share_style(group: re.Match[str]) -> str:
    attributes, marks, style = group[1] or "", group[2], group[3]
    if marks.count("<use ") != marks.count(f' style="{style}"'):
        return group[0]
    bare = marks.replace(f' style="{style}"', "")
    return f'<g{attributes} style="{style}">{bare}</g>'
