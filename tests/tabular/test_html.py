"""The page: everything is said, and nothing of the table's becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser

from inalu.expression import Expression
from inalu.tabular.html import page_of
from inalu.tabular.relation import Audit, Break, Evidence, NearestMiss, Relation
from inalu.tabular.table import Table

ATTACK = '<script>alert("x")</script>'


class Tags(HTMLParser):
    """Collects the tags and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    return parser


def test_hostile_names_and_notes_stay_text() -> None:
    columns = {ATTACK: [1.25, 2.5], "a' onload='x": [1.0, 2.0], ATTACK + "b": [2.25, 9.0]}
    data = Table.from_columns(columns, name=ATTACK)
    formula = Expression.column(ATTACK) + Expression.column("a' onload='x")
    broken = Break(1, 9.0, 4.5, 4.5, ATTACK, ATTACK + "b", 4.5)
    relation = Relation(
        *(ATTACK + "b", formula, formula.columns, (), ATTACK, 2, 1, (broken,)),
        *(Evidence(9.0, 0.5, 0.0, 2, 3), (formula,), False, (ATTACK,)),
    )
    found = Audit(ATTACK, 2, 0.1, 0.0, (relation,), (ATTACK,), None, notes=(ATTACK,))
    parsed = read(page_of(found, data))
    assert "script" not in parsed.tags
    assert not any(name.startswith("on") for name in parsed.attributes)
    assert parsed.text.count('alert("x")') >= 8
    assert "4.50" in parsed.text


def test_nothing_found_says_so_with_the_nearest_miss() -> None:
    data = Table.from_columns({"a": [1, 2], "b": [2, 4]})
    miss = NearestMiss("b", Expression.parse("2 * a"), 2, 2, "too few rows")
    parsed = read(page_of(Audit("t", 2, 0.1, 0.0, (), ("a", "b"), miss), data))
    assert "No formula found" in parsed.text
    assert "b = 2 * a holds in 2 of 2 rows: too few rows" in parsed.text
    assert "Not computed from other columns: a, b." in parsed.text


def test_many_breaking_rows_are_cut() -> None:
    data = Table.from_columns({"a": range(900), "b": range(900)})
    breaks = tuple(Break(row, 0.0, 1.0, -1.0, "unknown", "b") for row in range(900))
    formula = Expression.parse("a + 1")
    relation = Relation("b", formula, ("a",), (), "x", 900, 0, breaks, Evidence(1.0, 0.0, 0.0, 900, 3))
    parsed = read(page_of(Audit("t", 900, 0.1, 0.0, (relation,), (), None), data))
    assert "and 400 more rows" in parsed.text
