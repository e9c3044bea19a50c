"""From matplotlib's SVG to a small one with a title and a description, for a file or a page."""

from __future__ import annotations

import re
from html import escape

FONTS = "system-ui, 'Segoe UI', 'DejaVu Sans', Arial, sans-serif"


def finish(drawn: str, *, name: str, title: str, alternative: str) -> str:
    """Return the drawing with a title and a description for those who cannot see it, and nothing needless.

    Parameters
    ----------
    drawn
        What matplotlib wrote.
    name
        Begins every id, so that several drawings can stand in one page.
    """
    text = drawn[drawn.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # The style rule for all elements would reach beyond this drawing.
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)[\")]", text))
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r"(xlink:href=\"#|url\(#)", rf"\g<1>{name}-", text)
    text = re.sub(r"(font: [^;\"]*?px) [^;\"]*", rf"\1 {FONTS}", text)
    text = re.sub(r">\s+<", "><", text).replace("; ", ";")
    words = (
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(alternative)}</desc>'
    )
    return re.sub(
        r"<svg([^>]*)>",
        rf'<svg\1 role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc" '
        rf'stroke-linejoin="round">{_literal(words)}',
        text,
        count=1,
    ).strip()


def standalone(svg: str) -> str:
    """Return a finished drawing as the text of a file."""
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}\n'


def _literal(text: str) -> str:
    """Text that `re.sub` puts in as it is."""
    return text.replace("\\", r"\\")
