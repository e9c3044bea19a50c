"""The look of ``page.py``, in one place: colours for light and dark, type, tables, figures, print."""

STYLE = """\
:root {
  --paper: #fcfcfa; --card: #ffffff; --ink: #1c1e21; --soft: #565c64; --line: #dcdfe3; --shade: #f3f4f2;
  --link: #0b5cad; --good: #0f6b3a; --bad: #b3261e; --unsure: #7a5200; --focus: #0b5cad; --edge: #00000024;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --card: #1c1f23; --ink: #e6e7e9; --soft: #a4abb5; --line: #353a41; --shade: #22262b;
    --link: #8ab8f0; --good: #6fd19b; --bad: #ff938a; --unsure: #e6bf6b; --focus: #8ab8f0; --edge: #00000090;
  }
}
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1, h2, h3 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { margin: 0 0 0.5rem; font-size: clamp(1.5rem, 1.2rem + 1.4vw, 2.1rem); letter-spacing: -0.01em; }
h2 { margin: 3rem 0 0.75rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.3rem; }
h3 { margin: 1.75rem 0 0.5rem; font-size: 1.05rem; }
p, ul, ol, dl, figcaption { max-width: 46rem; overflow-wrap: anywhere; }
p, ul, ol, dl { margin: 0 0 1rem; }
ul, ol { padding-left: 1.4rem; }
.lead { color: var(--soft); font-size: 1.08rem; }
.foot { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: 0.875rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
small, .soft { color: var(--soft); font-size: 0.875em; }
code, kbd, pre { font: 0.9em/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; }
code { padding: 0.1em 0.3em; border-radius: 0.25rem; background: var(--shade); overflow-wrap: anywhere;
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
pre { padding: 0.9rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; background: var(--shade);
  overflow-x: auto; }
pre code { padding: 0; background: none; }
nav ol { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; max-width: none; margin: 1.5rem 0 0;
  padding: 0; list-style: none; }
nav li { max-width: min(22rem, 100%); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
section { scroll-margin-top: 1rem; }
.box { max-width: 100%; margin: 0 0 1.25rem; border: 1px solid var(--line); border-radius: 0.5rem;
  background-color: var(--card); overflow-x: auto; }
.box:not(.drawing) {
  /* A shadow at the edge behind which more is hidden; its covers move with the content. */
  background-image: linear-gradient(to right, var(--card), var(--card)),
    linear-gradient(to right, var(--card), var(--card)),
    linear-gradient(to right, var(--edge), transparent), linear-gradient(to left, var(--edge), transparent);
  background-position: left, right, left, right; background-repeat: no-repeat;
  background-size: 1.5rem 100%, 1.5rem 100%, 0.75rem 100%, 0.75rem 100%;
  background-attachment: local, local, scroll, scroll;
}
.box:focus-visible, a:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: 0.9375rem; font-variant-numeric: tabular-nums; }
caption { padding: 0.6rem 0.8rem 0.45rem; color: var(--soft); font-size: 0.875rem; text-align: left; }
th, td { padding: 0.45rem 0.8rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { color: var(--soft); font-size: 0.8125rem; font-weight: 600; vertical-align: bottom; }
thead th { background: var(--shade); }
tbody tr:last-child > * { border-bottom: 0; }
tbody tr:hover > * { background: var(--shade); }
td { max-width: min(26rem, 75vw); overflow-wrap: break-word; unicode-bidi: isolate; }
td code { overflow-wrap: break-word; }
.number { text-align: right; white-space: nowrap; }
.short { white-space: nowrap; }
.long { min-width: 15rem; }
.pinned > table th:first-child, .pinned > table td:first-child { position: sticky; left: 0;
  background: var(--card); border-right: 1px solid var(--line); }
.pinned > table { border-collapse: separate; border-spacing: 0; }
.badge { display: inline-block; padding: 0.05em 0.55em; border: 1px solid currentColor; border-radius: 1em;
  color: var(--soft); font-size: 0.8125rem; font-weight: 600; white-space: nowrap; }
.badge.good { color: var(--good); }
.badge.bad { color: var(--bad); }
.badge.unsure { color: var(--unsure); }
figure { margin: 0 0 1.5rem; }
figcaption { color: var(--soft); font-size: 0.9375rem; }
.drawing { padding: 0.75rem; background: #ffffff; }
.drawing svg { display: block; width: 100%; height: auto; margin: 0 auto; color: #1c1e21; }
@media (max-width: 40rem) {
  body { padding-top: 1.25rem; }
  h2 { margin-top: 2.25rem; }
  th, td { padding: 0.4rem 0.6rem; }
}
@media print {
  :root { --paper: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --line: #bbbbbb;
    --shade: #f3f3f3; --edge: transparent; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .box { overflow: visible; }
  section, figure, tr { break-inside: avoid; }
}
"""
