"""The page's sections: the claims, what each experiment shows, what differs, and where it is from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inalu.experiments.catalog import EXPERIMENTS, treatments
from inalu.experiments.claims import judge
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import THRESHOLDS, threshold_for
from inalu.experiments.summary import ExperimentSummary, JudgedClaim, by_setting
from inalu.page import Html, badge, escape, figure, table
from inalu.report import measures, tables
from inalu.report.closed import ROWS, SEEDS, ClosedForms
from inalu.report.figures import MOST_POINTS, Picture
from inalu.report.material import Material, program_of
from inalu.report.tables import Grid
from inalu.report.words import FIGURES, HEADINGS, NOTES, listed, plain

#: Name of the CSV beside the page, and of the folder with the drawings.
RECORDS, DRAWINGS = "records.csv", "figures"
# Measures that have tables of their own here.
_SHOWN = ("table_1", "against_published", "against_published_float32", "pooled")
#: Measures whose table is more than their rows.
_ARRANGED = {
    "non_finite": measures.stability, "combinations": measures.combinations, "effects": measures.effects,
    "effects_float32": measures.effects_float32,
}  # fmt: skip
_WORDS = {True: ("holds", "good"), False: ("does not hold", "bad"), None: ("cannot be told", "unsure")}
_SIDE_BY_SIDE = (
    "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:0 1.25rem"
)

Part = tuple[str, Html]


@dataclass(frozen=True)
class Drawn:
    """What was made beside the tables: drawings by experiment, and closed forms where they are shown."""

    pictures: Mapping[str, tuple[Picture, ...]] = field(default_factory=dict)
    closed: ClosedForms | None = None
    closed_of_main: ClosedForms | None = None


def sections(material: Material, drawn: Drawn) -> list[Part]:
    """Return the headings and bodies of the page."""
    found: list[Part] = [("In short", _short(material, drawn)), ("The claims of the text", _claims(material))]
    for summary in material.experiments:
        found.append((HEADINGS[summary.experiment], _experiment(summary, material, drawn)))
    if material.comparisons:
        found.append(("Where ours differ from the published runs", _different(material)))
    if material.others or drawn.closed is not None:
        found.append(("The recipes side by side", _recipes(material, drawn)))
    found.append(("Where this comes from", _provenance(material)))
    return found


def claims_of(material: Material) -> tuple[JudgedClaim, ...]:
    """Return every claim of the text; those on experiments without runs cannot be told."""
    held = {s.experiment: s.claims for s in material.experiments}
    return tuple(
        claim
        for name in EXPERIMENTS
        for claim in (held[name] if name in held else judge(name, {}, {}))
    )  # fmt: skip


def verdicts(claims: Sequence[JudgedClaim]) -> str:
    """Count verdicts in words.

    Examples
    --------
    >>> verdicts([JudgedClaim("exp1", "c", 1, True, None, None)])
    '1 holds, 0 do not hold, 0 cannot be told'
    """
    yes, no, open_ = (sum(c.holds is verdict for c in claims) for verdict in (True, False, None))
    return f"{yes} {_hold(yes)}, {no} {'does' if no == 1 else 'do'} not hold, {open_} cannot be told"


def _hold(count: int) -> str:
    return "holds" if count == 1 else "hold"


def missing(material: Material) -> list[str]:
    """Say what the catalogue has by default and the store has not, with the command that adds it."""
    said = []
    option = "" if material.recipe == "PAPER" else f" --recipe {material.recipe}"
    for gap in material.gaps:
        data = " --data FOLDER" if EXPERIMENTS[gap.experiment].needs == "data" else ""
        command = f"inalu reproduce {gap.experiment}{option}{data}"
        what = "no runs" if not gap.have else f"{gap.have:,} of {gap.wanted:,} runs"
        said.append(f"{gap.experiment}: {what}; {command} adds them.")
    return said


def _short(material: Material, drawn: Drawn) -> Html:
    claims = claims_of(material)
    tests = [c for found in material.comparisons.values() for c in found]
    facts = [f"Of {len(claims)} claims of the text, {verdicts(claims)}."]
    there = [c.published_holds for c in claims if c.published_holds is not None]
    facts.append(
        f"Of the {len(there)} that the authors' published runs can be asked about, {sum(there)} hold there."
    )
    if tests:
        plausible = sum(c.plausible for c in tests)
        facts.append(
            f"In {plausible:,} of {len(tests):,} settings the published count is plausible under ours "
            "(Fisher's test, corrected by Holm's method)."
        )
    single = [c for found in material.comparisons_single.values() for c in found]
    if single and (same := sum(c.plausible for c in single)) != sum(c.plausible for c in tests):
        facts.append(
            f"With our errors taken in float32, as the published were, it is in {same:,} of {len(single):,}."
        )
    parts = [_paragraphs(facts)]
    grid = tables.overview(material.experiments, drawn.closed_of_main)
    if grid.rows:
        parts.append(_table(grid))
    gaps = missing(material)
    if gaps:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in gaps)
        parts.append(Html(f"<p>Not all of the catalogue is in this store:</p><ul>{items}</ul>"))
    return _joined(parts)


def _claims(material: Material) -> Html:
    """Claims as a table of two columns, which fits a narrow screen without scrolling; a body an experiment."""
    claims = claims_of(material)
    caption = (
        f"{verdicts(claims)}. A claim is judged when its runs are as many as in the paper; "
        "lines are those of its TeX source. Where the authors published runs, it is judged on those, too."
    )
    head = '<tr><th scope="col">verdict and claim</th><th scope="col">ours and the published</th></tr>'
    bodies = []
    for name in dict.fromkeys(c.experiment for c in claims):
        title = f'<tr><th scope="rowgroup" colspan="2">{escape(HEADINGS[name])}</th></tr>'
        rows = "".join(map(_claim, (c for c in claims if c.experiment == name)))
        bodies.append(f"<tbody>{title}{rows}</tbody>")
    return Html(f"<table><caption>{escape(caption)}</caption><thead>{head}</thead>{''.join(bodies)}</table>")


def _claim(claim: JudgedClaim) -> str:
    theirs: str = _value(claim.published)
    if claim.published_holds is not None:
        theirs += f" <small>({_WORDS[claim.published_holds][0]} there)</small>"
    return (
        f"<tr><td>{badge(*_WORDS[claim.holds])}<br>{escape(claim.claim)} "
        f"<small>(line {claim.line})</small></td>"
        f"<td><small>ours</small> {_value(claim.ours)}<br><small>published</small> {theirs}</td></tr>"
    )


def _value(value: float | str | None) -> Html:
    return escape(plain(value))


def _experiment(summary: ExperimentSummary, material: Material, drawn: Drawn) -> Html:
    name = summary.experiment
    first, last = EXPERIMENTS[name].lines
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    seeds = {e.record.seed for e in summary.entries}
    facts = [
        *([] if name in PUBLISHED else [f"{EXPERIMENTS[name].title}."]),
        f"{_counted(summary.runs, 'run')} of {_counted(len(summary.settings), 'setting')}, "
        f"{_counted(len(seeds), 'seed')}, recipe {summary.recipe}; {where} of the paper's TeX source.",
    ]
    facts += [fact for fact in (_shown_twice(summary), NOTES.get(name, "")) if fact]
    parts = [_paragraphs(facts)]
    if name in drawn.pictures:
        parts.append(_pictures(name, drawn.pictures[name]))
    if name == "exp3":
        parts.append(_table(tables.first_table(summary)))
    if name in material.comparisons:
        closed = drawn.closed_of_main
        own = [threshold_for(name)]
        others = [t for t in THRESHOLDS if t not in own]
        parts.append(_table(tables.pooled(summary, own, closed)))
        parts.append(_fold("The same at the other thresholds in use", tables.pooled(summary, others, closed)))
        tests = material.comparisons[name], material.comparisons_single.get(name, ())
        parts.append(_fold("Every setting", tables.settings(summary, tests[0], closed, tests[1])))
    measured = [
        _ARRANGED[n](value) if n in _ARRANGED and value else measures.measure(n, value)
        for n, value in summary.measures.items()
        if n not in _SHOWN
    ]
    measured = [grid for grid in measured if grid.rows and grid.head]
    parts += [_table(grid) for grid in measured]
    if name not in material.comparisons:
        if not measured:
            parts.append(_table(tables.crossed(summary)))
        parts.append(_fold("Every setting", measures.filled(tables.settings(summary, ()))))
    return _joined(parts)


def _shown_twice(summary: ExperimentSummary) -> str:
    """With one output, the NALU's two gates are one model: say so where both are shown."""
    keys: dict[str, set[frozenset[str]]] = {}
    for setting, runs in by_setting(summary.entries).items():
        keys.setdefault(setting.model, set()).add(frozenset(e.record.key for e in runs))
    matrix, vector = keys.get("nalu-matrix"), keys.get("nalu-vector")
    if not matrix or matrix != vector:
        return ""
    return (
        "With one output a matrix gate and a vector gate are the same model: its runs are computed once "
        "and shown under both names."
    )


def _pictures(name: str, pictures: Iterable[Picture]) -> Html:
    drawings = [
        figure(
            p.svg, title=p.title, description=p.alternative, least_width=300,
            caption=Html(f'<a href="{DRAWINGS}/{p.name}.svg">{escape(p.name)}.svg</a>'),
        )
        for p in pictures
    ]  # fmt: skip
    caption = (
        f"Figure {FIGURES[name]} of the paper. Filled marks are our runs, the hollow ones below them the "
        "published runs. Half filled ones are ours with errors taken in float32, as the published were; they stand "
        "only where another number of them is solved. The dashed line is the paper's threshold, and how many are "
        "solved stands at the end of each line. Errors beyond the axis lie on its end. "
        f"Of more than {MOST_POINTS} runs in a lane, {MOST_POINTS} evenly spaced quantiles are drawn, "
        "the least and the largest among them."
    )
    return Html(f'<p>{escape(caption)}</p><div style="{_SIDE_BY_SIDE}">{"".join(drawings)}</div>')


def _different(material: Material) -> Html:
    items = ""
    for name, found in material.comparisons.items():
        single = material.comparisons_single.get(name)
        again = f", in float32 in {sum(c.plausible for c in single)} of {len(single)}" if single else ""
        items += f"<li>{name}: in {sum(c.plausible for c in found)} of {len(found)}{again}.</li>"
    grid = tables.different(material.comparisons, material.comparisons_single)
    said = Html(
        "<p>Settings in which the published count is plausible under ours, with our errors in float64 and in "
        f"float32, in which the published runs were evaluated:</p><ul>{items}</ul>{_paragraphs([_weak(material)])}"
    )
    if not grid.rows:
        return _joined([said, _paragraphs(["No setting differs by more than chance allows."])])
    return _joined([said, _table(grid)])


def _weak(material: Material) -> str:
    """What an absence of differences is worth."""
    fewest = min(c.ours[1] for found in material.comparisons.values() for c in found)
    return (
        f"Ours are {fewest} runs a setting or more, the published 10 (in experiment 3 up to 20): after "
        "Holm's correction only large differences show, so 'plausible' does not mean 'equal'."
    )


def _recipes(material: Material, drawn: Drawn) -> Html:
    shown = [(material.recipe, material.experiments), *material.others]
    published = [
        (name, [s for s in found if s.experiment in FIGURES or s.experiment == "exp3"])
        for name, found in shown
    ]
    parts = [_table(tables.recipes(published, drawn.closed))]
    if drawn.closed is not None:
        parts.append(
            _paragraphs([
                f"'{tables.CLOSED}' is least squares on values and on logarithms, and the ratio and the "
                f"product of two sums, rounded to -1, 0 and 1: computed from {ROWS:,} training rows for "
                f"{SEEDS} seeds a task, without any training. A search that solves these tasks has not shown "
                "that networks are needed for them."
            ])
        )  # fmt: skip
    return _joined(parts)


def _provenance(material: Material) -> Html:
    entries = [e for s in material.experiments for e in s.entries]
    programs: dict[tuple[str, int], list[str]] = {}
    for summary in material.experiments:
        for entry in summary.entries:
            named = programs.setdefault(program_of(entry), [])
            if summary.experiment not in named:
                named.append(summary.experiment)
    versions: dict[str, set[str]] = {}
    for entry in entries:
        for library, version in entry.record.versions:
            versions.setdefault(library, set()).add(version)
    first = entries[0].record.specification
    known = treatments().get(material.recipe)
    rows: list[tuple[str, str]] = [
        ("recipe", material.recipe + (f": {known.about}" if known is not None else "")),
        *(
            (f"backend {backend}", f"algorithm version {algorithm}; {listed(names)}")
            for (backend, algorithm), names in sorted(programs.items())
        ),
        ("training", f"{first.dtype}, {first.rows:,} rows a set"),
        ("evaluation", f"float64, version {first.evaluation}"),
        *((library, ", ".join(sorted(found))) for library, found in sorted(versions.items())),
        ("published runs", "the files of the authors' experiments 1 to 4, as they published them"),
    ]
    note = Html(
        f'<p>All {len(material.records):,} records of the store are in <a href="{RECORDS}">{RECORDS}</a>, '
        "one row for each run of a setting. The paper: Schlör, Ring, Hotho, iNALU: Improved Neural "
        "Arithmetic Logic Unit, 2020, arXiv:2003.07629; lines are those of its TeX source.</p>"
    )
    return _joined([table(("what", "value"), rows), note])


def _table(grid: Grid) -> Html:
    shown = table(grid.head, grid.rows, caption=grid.caption)
    return Html(f'<p class="soft">{escape(grid.note)}</p>{shown}') if grid.note else shown


def _fold(summary: str, grid: Grid) -> Html:
    return Html(f"<details><summary>{escape(summary)}</summary>{_table(grid)}</details>")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _paragraphs(texts: Iterable[str]) -> Html:
    return Html("".join(f"<p>{escape(text)}</p>" for text in texts))


def _joined(parts: Iterable[Html]) -> Html:
    return Html("\n".join(parts))
