#!/usr/bin/env python3
"""Writes the tables of docs/which-ftl.md and the picture beside it, from the report `related`.

    docs/reproduction/which_ftl.py            writes both
    docs/reproduction/which_ftl.py --check    fails if they are not what the report says

Figures are those of the report's tables: means over five replicates. Those over recordings are geometric means of the
quotients to the page map.
"""

import json
import math
import re
import sys
import textwrap
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
REPORT = DOCS / "reproduction" / "results" / "related.json"
PAGE = DOCS / "which-ftl.md"
PICTURE = DOCS / "images" / "which-ftl.svg"
MARKS = "<!-- tables -->\n", "<!-- end of tables -->\n"

# Titles of the report's tables begin with the budget, and go on with the spare space, and the buffer or the state.
BUDGETS = {"64th": "A sixty-fourth", "8th": "An eighth", "all": "All"}
SHARES = {"64th": "1/64", "8th": "1/8", "all": "all"}
CELLS = {f"{budget}-7": f"{words} of the memory of a page map, 7 % of spare space" for budget, words in BUDGETS.items()}
CELLS["8th-25"] = "An eighth of the memory of a page map, 25 % of spare space"
OTHERS = {"none": "without a buffer", "16m": "a buffer of 16 MiB", "steady": "steady state"}
CELLS |= {f"8th-7-{cell}": f"{CELLS['8th-7']}, {words}" for cell, words in OTHERS.items()}
RATE, LONGEST = "requests a second", "longest request in ms"


class Figures:
    """The figures of a report, by cell, figure, FTL and recording."""

    def __init__(self, report):
        self.recordings, self.ftls = [], []
        self.means, self.memory = {}, {}
        self.erases, self.wafs = {}, {}
        cells = {f"{title}: {figure}": (cell, figure) for cell, title in CELLS.items() for figure in (RATE, LONGEST)}
        for table in report["tables"]:
            if table["title"] in cells:
                self._add(table, cells[table["title"]])
            elif table["title"].startswith("Every FTL"):
                self._add_every(table, table["title"].rsplit(": ", 1)[1])

    def _add(self, table, key):
        self.recordings = table["columns"]
        self.ftls = [ftl_of(line["experiment"]) for line in table["lines"]]
        for line in table["lines"]:
            for recording, figure in zip(table["columns"], line["figures"], strict=True):
                self.means[*key, ftl_of(line["experiment"]), recording] = figure and figure["mean"]

    def _add_every(self, table, recording):
        waf, erases = table["columns"].index("WAF"), table["columns"].index("erases")
        for line in table["lines"]:
            name, figures = line["experiment"], line["figures"]
            self.memory[name] = figures[0]["mean"]
            self.erases[name, recording] = figures[erases]["mean"]
            self.wafs[name, recording] = figures[waf]

    def to_page_map(self, cell, figure, ftl, recordings=None):
        """Geometric mean over recordings of the quotient to the page map."""
        logs = []
        for recording in self.recordings if recordings is None else recordings:
            ours = self.means[cell, figure, ftl, recording]
            page = self.means[cell, figure, "page", recording]
            if ours and page:
                logs.append(math.log(ours / page))
        return math.exp(sum(logs) / len(logs))

    def by_writes(self):
        """The recordings whose writes a page map has to collect for, whose writes fit what is spare, and which write
        nothing: with 7 % of spare space."""
        reads = [recording for recording in self.recordings if not self.wafs["page-7", recording]]
        fills = [recording for recording in self.recordings if self.erases["page-7", recording] > 0]
        return fills, [recording for recording in self.recordings if recording not in fills + reads], reads


def ftl_of(experiment):
    return re.sub(r"(-(64th|8th|all))?-(7|25)(-(none|16m|steady))?$", "", experiment)


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table_of(figures, columns):
    """A line for each FTL, a column for each figure of it."""
    lines = ["| FTL | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for ftl in figures.ftls[1:]:
        lines.append(f"| `{ftl}` | " + " | ".join(column(ftl) for column in columns.values()) + " |")
    return lines


def quotient(figures, *what):
    cell, figure, *recordings = what
    return lambda ftl: number(figures.to_page_map(cell, figure, ftl, *recordings))


def overview(figures):
    """For each FTL and budget: memory, throughput and longest request, over all recordings."""
    columns = {}
    for budget, share in SHARES.items():
        name = f"{budget}-7"
        columns[f"memory %, {share}"] = lambda ftl, name=name: f"{figures.memory[f'{ftl}-{name}']:.1f}"
    for what, figure in (("throughput", RATE), ("longest", LONGEST)):
        for budget, share in SHARES.items():
            columns[f"{what}, {share}"] = quotient(figures, f"{budget}-7", figure)
    return table_of(figures, columns)


def other_cells(figures):
    """For each FTL, with an eighth of the memory: behind no buffer and two, in steady state, and with more spare."""
    cells = {"1 MiB": "8th-7", "none": "8th-7-none", "16 MiB": "8th-7-16m", "steady": "8th-7-steady", "25 %": "8th-25"}
    columns = {"memory %, 25 %": lambda ftl: f"{figures.memory[f'{ftl}-8th-25']:.1f}"}
    for what, figure in (("throughput", RATE), ("longest", LONGEST)):
        for words, cell in cells.items():
            columns[f"{what}, {words}"] = quotient(figures, cell, figure)
    return table_of(figures, columns)


def by_writes(figures):
    """For each FTL, with an eighth of the memory: by what the recordings write."""
    fills, fits, reads = figures.by_writes()
    kinds = {f"fill it ({len(fills)})": fills, f"fit ({len(fits)})": fits, f"only read ({len(reads)})": reads}
    columns = {}
    for what, figure in (("throughput", RATE), ("longest", LONGEST)):
        for words, recordings in kinds.items():
            columns[f"{what}, {words}"] = quotient(figures, "8th-7", figure, recordings)
    listed = "; ".join(f"{words.split(' (')[0]}: {', '.join(of)}" for words, of in kinds.items())
    return [*table_of(figures, columns), "", *textwrap.wrap(f"Recordings that {listed}.", 120)]


def best(figures, cell, figure):
    """For each recording: the page map's figure, the FTLs within 1 % of the best of the others, and the best."""
    lines = []
    for recording in figures.recordings:
        ftls = figures.ftls[1:]
        values = {ftl: figures.means[cell, figure, ftl, recording] for ftl in ftls}
        values = {ftl: value for ftl, value in values.items() if value is not None}
        choose = max if figure == RATE else min
        top = choose(values.values())
        near = [ftl for ftl, value in values.items() if abs(value - top) <= 0.01 * top]
        shown = "all" if len(near) == len(ftls) else ", ".join(f"`{ftl}`" for ftl in near)
        lines.append((recording, figures.means[cell, figure, "page", recording], shown, top))
    return lines


def choice(figures, figure):
    heads = " | ".join(f"{share} | its {figure.split(' in ')[0].split(' a ')[0]}" for share in SHARES.values())
    lines = [f"| recording | page map | {heads} |", "| --- | ---: |" + " --- | ---: |" * len(SHARES)]
    columns = [best(figures, f"{budget}-7", figure) for budget in SHARES]
    for cells in zip(*columns, strict=True):
        row = [cells[0][0], number(cells[0][1])]
        for _, _, shown, top in cells:
            row += [shown, number(top)]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def tables(figures):
    parts = ["### By what is written", "", "An eighth of the memory, 7 % of spare space, 1 MiB of buffer:", ""]
    parts += [*by_writes(figures), ""]
    parts += ["### Other buffers, steady state, and more spare space", "", "An eighth of the memory, but for what the"]
    parts += ["column says 7 % of spare space and 1 MiB of buffer:", "", *other_cells(figures), ""]
    parts += ["### By memory", "", "7 % of spare space, 1 MiB of buffer, over all recordings:", "", *overview(figures), ""]
    for figure in (RATE, LONGEST):
        parts += [f"{figure[0].upper()}{figure[1:]}, and the FTLs within 1 % of the best with each budget:", ""]
        parts += [*choice(figures, figure), ""]
    return "\n".join(parts) + "\n"


COLOURS = ["#0b6e99", "#c2571a", "#3d8b37", "#8a4fbf", "#b8860b", "#c0392b"]
COLOURS += ["#16a085", "#5d6d7e", "#d16ba5", "#7f8c2a", "#2e4fa8", "#8c5a3c", "#d98e04", "#4b7f7c"]
COLOURS += ["#9c1f5c", "#7a5195"]


def panel(figures, figure, left, title, is_log):
    """One panel: a line for each FTL over the budgets; 260 by 240, its left edge at `left`."""
    width, height, top = 240, 230, 60
    values = {
        ftl: [figures.to_page_map(f"{budget}-7", figure, ftl) for budget in BUDGETS] for ftl in figures.ftls[1:]
    }
    everything = [value for of in values.values() for value in of] + [1.0]
    scale = math.log10 if is_log else float
    low, high = (scale(end) for end in ((min(everything), max(everything)) if is_log else (0.0, max(everything))))

    def x(at):
        return left + width * at / (len(BUDGETS) - 1)

    def y(value):
        return top + height * (1 - (scale(value) - low) / (high - low))

    out = [f'<text class="title" x="{left}" y="{top - 26}">{title}</text>']
    out.append(f'<path class="axis" d="M{left} {top}v{height}h{width}"/>')
    for at, share in enumerate(SHARES.values()):
        out.append(f'<text class="tick" text-anchor="middle" x="{x(at):.1f}" y="{top + height + 18}">{share}</text>')
    for tick in [tick for tick in (1, 2, 3, 5, 10, 20) if scale(tick) <= high] if is_log else [0.25, 0.5, 0.75, 1.0]:
        out.append(f'<path class="grid" d="M{left} {y(tick):.1f}h{width}"/>')
        out.append(f'<text class="tick" text-anchor="end" x="{left - 6}" y="{y(tick) + 4:.1f}">{tick:g}</text>')
    for (ftl, line), colour in zip(values.items(), COLOURS[: len(values)], strict=True):
        points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in enumerate(line))
        out.append(f'<polyline stroke="{colour}" points="{points}"><title>{ftl}</title></polyline>')
        out += [
            f'<circle fill="{colour}" cx="{x(at):.1f}" cy="{y(value):.1f}" r="3"/>' for at, value in enumerate(line)
        ]
    return out


def picture(figures):
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 392" role="img" aria-labelledby="title description">',
        '  <title id="title">Throughput and longest request by memory</title>',
        '  <desc id="description">A line for each FTL over three budgets of memory, beside a page map: geometric means',
        "    over the recordings, with 7 % of spare space.</desc>",
        "  <style>",
        '    svg { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif;',
        "      --ink: #17202c; --quiet: #4c5867; --edge: #c3cad4; }",
        "    @media (prefers-color-scheme: dark) { svg { --ink: #eef1f5; --quiet: #b4bfcd; --edge: #3b4554; } }",
        "    .title { font-size: 14px; font-weight: 600; fill: var(--ink); }",
        "    .tick, .name { font-size: 12.5px; fill: var(--quiet); }",
        "    .axis { stroke: var(--quiet); fill: none; } .grid { stroke: var(--edge); }",
        "    polyline { stroke-width: 2; fill: none; }",
        "  </style>",
    ]
    out += panel(figures, RATE, 46, "Requests a second (page map 1)", False)
    out += panel(figures, LONGEST, 350, "Longest request (page map 1)", True)
    ftls = figures.ftls[1:]
    for at, (ftl, colour) in enumerate(zip(ftls, COLOURS[: len(ftls)], strict=True)):
        y = 66 + 22 * at
        out.append(f'<path stroke="{colour}" stroke-width="3" d="M620 {y}h18"/>')
        out.append(f'<text class="name" x="644" y="{y + 4}">{ftl}</text>')
    out.append('<text class="tick" x="46" y="330">memory, as a share of the page map&#39;s</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    figures = Figures(json.loads(REPORT.read_text()))
    page = PAGE.read_text()
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    wanted = {PAGE: f"{before}{MARKS[0]}\n{tables(figures)}{MARKS[1]}{after}", PICTURE: picture(figures)}
    if sys.argv[1:] == ["--check"]:
        other = [path.name for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        sys.exit(f"{', '.join(other)}: not what the report says: {Path(__file__).name} writes them" if other else 0)
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
