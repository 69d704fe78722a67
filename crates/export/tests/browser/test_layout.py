"""Reports at the widths of a phone, a tablet and a large screen: nothing is cut, nothing lies on anything else, axes
begin where the numbers do, and what there is to choose is shown."""

import math
import unittest

from lab import FOLDER, page, reports

WIDTHS = [420, 900, 1600]
# Columns that the widest window shows at once. A sweep has one for each key beside those of the figures.
MOST_COLUMNS = 14

# Elements that reach beyond the window, without a place to scroll them in.
BEYOND = """() => {
    const scrolls = (element) => {
        for (let at = element.parentElement; at; at = at.parentElement) {
            if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
        }
        return false;
    };
    return [...document.body.querySelectorAll("*")].filter((element) => {
        const box = element.getBoundingClientRect();
        const isBeyond = box.right > document.documentElement.clientWidth + 1 || box.left < -1;
        return box.width > 0 && isBeyond && !element.closest(".skip") && !scrolls(element);
    }).map((element) => element.outerHTML.slice(0, 160));
}"""

# Pairs of texts of a picture that lie on one another, and texts that the edge of the picture cuts.
OVERLAPS = """() => [...document.querySelectorAll(".chart svg")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")]
        .map((text) => ({ said: text.textContent, box: text.getBoundingClientRect() }))
        .filter(({ said, box }) => said.trim() !== "" && box.width > 0);
    const cut = texts.filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(({ said }) => ["cut", said]);
    const on = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const pairs = texts.flatMap((a, at) => texts.slice(at + 1).filter((b) => on(a.box, b.box))
        .map((b) => [a.said, b.said]));
    return cut.concat(pairs);
})"""

# What a table shows when it is scrolled to its end, of its last row and column.
ENDS = """() => [...document.querySelectorAll(".table")].filter((one) => one.offsetParent !== null).map((one) => {
    one.scrollTo(1e6, 1e6);
    const [cell] = [...one.querySelectorAll("tr:last-child > :last-child")].slice(-1);
    const [frame, box] = [one.getBoundingClientRect(), cell.getBoundingClientRect()];
    one.scrollTo(0, 0);
    const hidden = one.scrollWidth - one.clientWidth;
    const columns = one.querySelectorAll("th[scope=col]").length;
    return { right: box.right - frame.right, bottom: box.bottom - frame.bottom, hidden, columns };
})"""

# The ends of an axis of a picture that is no map and has no bars, and the numbers on it: of curves by percentile those
# of all but the quickest hundredth of the requests.
AXIS = """([id, name]) => {
    const { chart, kind, spec } = charts.find(({ element }) => element.id === id);
    const numbers = {
        percentiles: () => spec.lines.flatMap(({ points }) => points.filter(([nines]) => nines >= -Math.log10(0.99)))
            .map(([, ns]) => ns).filter((ns) => ns > 0),
        lines: () => spec.lines.flatMap(({ values }) => values.filter((value) => value !== null)),
        values: () => spec.points.map(([, y]) => y),
    }[kind]?.();
    const axis = chart.getModel().getComponent(name).axis;
    return numbers ? { ends: axis.scale.getExtent(), type: axis.type, numbers } : null;
}"""

# Combinations on the front over the figures of two names.
ON_FRONT = """(names) => {
    const { spec } = charts.find(({ kind }) => kind === "front");
    const [x, y] = names.map((name) => spec.figures.findIndex((figure) => figure.name === name));
    return frontOver(spec, { x, y }).on.length;
}"""


class Layout(unittest.TestCase):
    """The pages of a run, of comparisons and of a sweep, at each width in both themes."""

    @classmethod
    def setUpClass(cls):
        cls.pages = reports()

    def open(self, name, scheme="light"):
        return Opened(name, scheme)

    def check(self, name):
        """Every check of a page at every width in both themes."""
        checks = [self.nothing_is_wider_than_the_window_but_what_scrolls, self.texts_neither_overlap_nor_are_cut,
                  self.legends_stand_above_their_pictures, self.axes_begin_where_the_numbers_do,
                  self.tables_are_whole_when_they_are_scrolled]
        for scheme in ["light", "dark"]:
            with self.open(name, scheme=scheme) as opened:
                for width in WIDTHS:
                    opened.set_viewport_size({"width": width, "height": 900})
                    opened.reload()
                    for check in checks:
                        with self.subTest(check=check.__name__, width=width, scheme=scheme):
                            check(opened, width)

    def test_a_run(self):
        self.check("run.html")

    def test_a_comparison(self):
        self.check("compare.html")

    def test_a_comparison_with_seeds(self):
        self.check("seeds.html")

    def test_a_sweep(self):
        self.check("sweep.html")

    def nothing_is_wider_than_the_window_but_what_scrolls(self, opened, _):
        self.assertEqual(opened.evaluate(BEYOND), [])
        self.assertLessEqual(opened.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)

    def texts_neither_overlap_nor_are_cut(self, opened, _):
        self.assertEqual(opened.evaluate(OVERLAPS), [])
        for option in opened.locator(".choice input").all():
            option.check()
            self.assertEqual(opened.evaluate(OVERLAPS), [])

    def legends_stand_above_their_pictures(self, opened, _):
        apart = opened.evaluate(
            "charts.filter(({ legend }) => legend?.offsetParent).map(({ legend, element }) =>"
            " element.getBoundingClientRect().top - legend.getBoundingClientRect().bottom)")
        self.assertGreaterEqual(min(apart), 0)

    def tables_are_whole_when_they_are_scrolled(self, opened, width):
        opened.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for end in opened.evaluate(ENDS):
            self.assertLessEqual(max(end["right"], end["bottom"]), 1)
            if width == WIDTHS[-1] and end["columns"] <= MOST_COLUMNS:
                self.assertLessEqual(end["hidden"], 0, "all columns at once")

    def axes_begin_where_the_numbers_do(self, opened, _):
        for chart in opened.locator("figure:visible .chart").all():
            picture = opened.evaluate(AXIS, [chart.get_attribute("id"), "yAxis"])
            if picture is None:
                continue
            (low, high), numbers = picture["ends"], picture["numbers"]
            # No more than half of a picture lies below the least number, nor above the largest.
            place = math.log if picture["type"] == "log" else (lambda number: number)
            height = place(high) - place(low)
            self.assertLessEqual(place(min(numbers)) - place(low), height / 2 + 1e-9, picture)
            self.assertLessEqual(place(high) - place(max(numbers)), height / 2 + 1e-9, picture)
            if picture["type"] == "log":
                self.assertGreater(low, min(numbers) / 1.2)
                self.assertLess(high, max(numbers) * 1.2)

    def test_names_beside_points_do_not_overlap_whatever_the_axes(self):
        for name in ["compare.html", "seeds.html", "sweep.html"]:
            with self.open(name) as opened:
                across, up = opened.locator("#front select").all()
                options = across.locator("option").all_inner_texts()
                self.assertIn("requests a second", options)
                for width in WIDTHS:
                    opened.set_viewport_size({"width": width, "height": 900})
                    for x, y in [(0, 1), (2, 3), (5, 6), (0, 4), (3, 0)]:
                        across.select_option(index=x)
                        up.select_option(index=y)
                        with self.subTest(page=name, width=width, x=options[x], y=options[y]):
                            self.assertEqual(opened.evaluate(OVERLAPS), [])

    def test_the_rows_of_a_sweep_are_all_shown_at_once(self):
        with self.open("sweep.html") as opened:
            for width in WIDTHS:
                opened.set_viewport_size({"width": width, "height": 900})
                rows = opened.locator("#runs .table").first.evaluate("one => one.scrollHeight - one.clientHeight")
                self.assertLessEqual(rows, 0, width)

    def test_a_legend_hides_what_it_names(self):
        with self.open("seeds.html") as opened:
            items = opened.locator("#latency .legend").first.locator("button")
            self.assertEqual(items.count(), 6)
            self.assertEqual(items.last.inner_text(), "6: scheduler pardispatcher")
            drawn = "charts[0].chart.getModel().getSeries().filter((one) => !charts[0].chart.getModel()" \
                ".isSeriesFiltered(one)).length"
            self.assertEqual(opened.evaluate(drawn), 6)
            items.last.focus()
            opened.keyboard.press("Enter")
            self.assertEqual((items.last.get_attribute("aria-pressed"), opened.evaluate(drawn)), ("false", 5))
            opened.locator("#theme").click()
            self.assertEqual(opened.evaluate(drawn), 5, "in the other theme, too")

    def test_six_lines_have_six_colours_and_six_dashes(self):
        with self.open("seeds.html") as opened:
            lines = opened.evaluate(
                "charts[0].chart.getOption().series.map(({ lineStyle }, at) =>"
                " [JSON.stringify(lineStyle.type), LINES.light[at]])")
            self.assertEqual([len(set(column)) for column in zip(*lines)], [6, 6])

    def test_reads_writes_and_all_requests_are_shown_in_turn(self):
        with self.open("seeds.html") as opened:
            group = opened.locator("#latency .choice")
            for name, title in [("reads", "of reads"), ("writes", "of writes"), ("all", "of all requests")]:
                group.get_by_label(name, exact=True).check()
                shown = group.locator("figcaption:visible").all_inner_texts()
                self.assertEqual(shown, [f"Latency {title} by percentile"])
                self.assertEqual(group.locator(".chart svg:visible").count(), 1)
            causes = opened.locator("#anatomy .choice")
            self.assertEqual([text.strip() for text in causes.locator("label").all_inner_texts()], ["reads", "writes"])
            group.get_by_label("all", exact=True).focus()
            opened.keyboard.press("ArrowLeft")
            self.assertTrue(group.get_by_label("writes", exact=True).is_checked(), "the keyboard chooses")

    def test_the_axes_of_the_front_are_chosen_and_its_table_follows(self):
        with self.open("seeds.html") as opened:
            figure = opened.locator("#front figure")
            across, up = figure.locator("select").all()
            heads = figure.locator("details th[scope=col]")

            def chosen():
                return [one.locator("option:checked").inner_text() for one in [across, up]]

            self.assertEqual(len(set(chosen())), 2, "the page chooses two that differ")
            across.select_option("blocks erased")
            up.select_option("p99.9 of all requests")
            first = figure.locator(".summary").inner_text()
            self.assertEqual(chosen(), ["blocks erased", "p99.9 of all requests"])
            up.select_option("p99 of reads")
            self.assertEqual(heads.all_text_contents()[1:3], ["blocks erased", "p99 of reads"])
            self.assertRegex(figure.locator(".summary").inner_text(), "of 6 combinations are on the front")
            marked = figure.locator("tbody tr", has_text="on the front").count()
            self.assertEqual(marked, opened.evaluate(ON_FRONT, ["blocks erased", "p99 of reads"]))
            across.select_option("p99 of reads")
            self.assertEqual(chosen(), ["p99 of reads", "blocks erased"], "they change places")
            across.select_option("requests a second")
            up.select_option("blocks erased")
            up.select_option("p99.9 of all requests")
            across.select_option("blocks erased")
            self.assertEqual(figure.locator(".summary").inner_text(), first)


class Opened:
    """A page of the tests, held to complain of nothing."""

    def __init__(self, name, scheme):
        self.address = (FOLDER / name).as_uri()
        self.opening = page(self.address, offline=True, color_scheme=scheme)

    def __enter__(self):
        opened, self.beyond, self.complaints = self.opening.__enter__()
        opened.goto(self.address)
        return opened

    def __exit__(self, *raised):
        self.opening.__exit__(*raised)
        assert raised[0] or (self.beyond, self.complaints) == ([], []), (self.beyond, self.complaints)


if __name__ == "__main__":
    unittest.main()
