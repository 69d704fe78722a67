"""Reports in a browser: every picture is drawn, nothing is loaded, the keyboard reaches everything."""

import base64
import hashlib
import io
import os
import pathlib
import subprocess
import tarfile
import unittest

from lab import FOLDER, HERE, flashloom, page, run

ROOT = HERE.parents[3]
IMAGES = ROOT / "docs" / "images"


def shapes(opened, figure):
    """The drawn shapes of a picture: paths that have a size."""
    return opened.evaluate(
        """id => [...document.getElementById(id).querySelectorAll("svg path")].filter(path => {
            const box = path.getBBox();
            return box.width + box.height > 0;
        }).length""",
        figure,
    )


class Report(unittest.TestCase):
    """The pages of a run, a comparison and a sweep."""

    @classmethod
    def setUpClass(cls):
        result = run("run")
        flashloom("report", result, "-o", "run.html")
        vary = ["--vary", "ftl.gc=greedy,fifo", "--vary", "device.over_provisioning=20%,30%,40%"]
        few = ["--set", "workload.synthetic.requests=15000"]
        flashloom("compare", HERE / "busy.toml", *vary, *few, "--json", "compare.json", "--quiet")
        flashloom("report", "compare.json", "-o", "compare.html")
        flashloom("report", HERE.parent / "sweep", "-o", "sweep.html")

    def open(self, name, **options):
        return page((FOLDER / name).as_uri(), offline=True, **options)

    def check(self, name, scheme):
        with self.open(name, color_scheme=scheme) as (opened, beyond, complaints):
            opened.goto((FOLDER / name).as_uri())
            self.assertEqual(opened.evaluate("document.documentElement.dataset.theme"), scheme)
            figures = opened.eval_on_selector_all(".chart", "found => found.map(one => one.id)")
            self.assertEqual(opened.evaluate("specs.length"), len(figures))
            for figure in figures:
                box = opened.locator(f"#{figure}").bounding_box()
                self.assertGreater(min(box["width"], box["height"]), 150, figure)
                self.assertGreater(shapes(opened, figure), 8, f"{figure} is drawn")
                values = opened.evaluate(
                    "id => charts.find(({ element }) => element.id === id).chart.getModel().getSeries()"
                    ".reduce((sum, one) => sum + one.getData().count(), 0)", figure)
                self.assertGreater(values, 2, f"{figure} has values")
            self.assertEqual((beyond, complaints), ([], []))
            return len(figures)

    def test_every_picture_of_a_run_is_drawn_in_both_themes(self):
        for scheme in ["light", "dark"]:
            self.assertEqual(self.check("run.html", scheme), 11)

    def test_every_picture_of_a_comparison_is_drawn_in_both_themes(self):
        for scheme in ["light", "dark"]:
            self.assertEqual(self.check("compare.html", scheme), 3)

    def test_every_picture_of_a_sweep_is_drawn_in_both_themes(self):
        for scheme in ["light", "dark"]:
            self.assertEqual(self.check("sweep.html", scheme), 4)

    def test_the_rows_of_a_sweep_are_sorted_and_found(self):
        with self.open("sweep.html") as (opened, _, complaints):
            opened.goto((FOLDER / "sweep.html").as_uri())
            runs = opened.locator("#runs .long").first

            def column(at):
                cells = runs.locator(f"tbody tr:visible > :nth-child({at})")
                return cells.evaluate_all("cells => cells.map(cell => Number.parseFloat(cell.dataset.n))")

            head = runs.locator("thead th").all_inner_texts()
            rate = 1 + head.index("requests/s")
            sort = runs.locator("thead button", has_text="requests/s")
            for order, is_reversed in [("ascending", False), ("descending", True)]:
                sort.focus()
                opened.keyboard.press("Enter")
                self.assertEqual(runs.locator(f"th:nth-child({rate})").get_attribute("aria-sort"), order)
                rates = [number for number in column(rate) if number == number]
                self.assertEqual(len(rates), 18, "of 24 combinations, 6 failed")
                self.assertEqual(rates, sorted(rates, reverse=is_reversed))
            runs.get_by_label("Find rows").fill("greedy ok")
            self.assertEqual(runs.locator("output").inner_text(), "9 of 24 rows")
            self.assertEqual(len(column(1)), 9)
            everyone = opened.locator("#runs details")
            everyone.locator("summary").click()
            self.assertEqual(everyone.locator("tbody tr:visible").count(), 72)
            self.assertEqual(complaints, [])

    def test_the_keyboard_reaches_theme_pictures_and_tables(self):
        with self.open("run.html") as (opened, _, complaints):
            opened.goto((FOLDER / "run.html").as_uri())
            opened.keyboard.press("Tab")
            self.assertEqual(opened.evaluate("document.activeElement.className"), "skip")
            opened.locator("#theme").focus()
            opened.keyboard.press("Enter")
            self.assertEqual(opened.evaluate("document.documentElement.dataset.theme"), "dark")
            self.assertEqual(opened.get_attribute("#theme", "aria-pressed"), "true")
            reached = set()
            for _ in range(120):
                opened.keyboard.press("Tab")
                reached.add(opened.evaluate("document.activeElement.id || document.activeElement.tagName"))
            self.assertLessEqual({f"chart-{name}" for name in ["latency", "waf", "dies", "wear"]}, reached)
            self.assertIn("SUMMARY", reached)
            opened.locator("#chart-waf").focus()
            opened.keyboard.press("ArrowRight")
            self.assertIn("write amplification", opened.inner_text("#chart-waf"))
            table = opened.locator("figure:has(#chart-waf) details")
            table.locator("summary").focus()
            opened.keyboard.press("Enter")
            self.assertTrue(table.locator("table").is_visible())
            self.assertEqual(complaints, [])

    def test_a_report_prints(self):
        with self.open("run.html", color_scheme="dark") as (opened, _, complaints):
            opened.goto((FOLDER / "run.html").as_uri())
            printed = opened.pdf(format="A4")
            self.assertGreater(printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page "), 3)
            self.assertEqual(opened.evaluate("document.documentElement.dataset.theme"), "dark", "as before printing")
            self.assertEqual(complaints, [])

    def test_screenshots(self):
        shown = [("run.html", "light", "#latency, #anatomy"), ("run.html", "dark", "#busy, #wear"),
                 ("compare.html", "light", "#front"), ("sweep.html", "light", "#runs, #front, #keys")]
        for name, scheme, parts in shown:
            with self.open(name, color_scheme=scheme) as (opened, _, _):
                opened.set_viewport_size({"width": 1100, "height": 300})
                opened.goto((FOLDER / name).as_uri())
                hide = f"section:not({parts}), header, .skip {{ display: none }}"
                opened.add_style_tag(content=hide)
                taken = opened.screenshot(full_page=True)
            self.assertLess(len(taken), 300_000)
            if os.environ.get("SCREENSHOTS"):
                IMAGES.mkdir(exist_ok=True)
                (IMAGES / f"report-{pathlib.Path(name).stem}-{scheme}.png").write_bytes(taken)


class Vendored(unittest.TestCase):
    """The library that draws the pictures."""

    def test_it_is_that_of_the_registry(self):
        folder = ROOT / "crates" / "report" / "vendor" / "echarts-6.1.0"
        name = folder.name.replace("-", "@")
        subprocess.run(["npm", "pack", "--silent", name], cwd=FOLDER, check=True, capture_output=True)
        package = (FOLDER / f"{folder.name}.tgz").read_bytes()
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
        self.assertIn(integrity, (folder / "SHA256SUMS").read_text())
        with tarfile.open(fileobj=io.BytesIO(package)) as files:
            for inside in ["dist/echarts.min.js", "LICENSE", "NOTICE"]:
                ours = (folder / pathlib.Path(inside).name).read_bytes()
                self.assertEqual(files.extractfile(f"package/{inside}").read(), ours, inside)


if __name__ == "__main__":
    unittest.main()
