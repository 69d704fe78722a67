"""Reports in a browser: every picture is drawn, nothing is loaded, the keyboard reaches everything."""

import base64
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import unittest

import pyarrow as arrow
from lab import FOLDER, HERE, ROOT, flashloom, page, reports
from pyarrow import parquet

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


def show(opened, figure):
    """Chooses a picture that another of its choice is shown in place of."""
    opened.evaluate(
        """id => {
            const part = document.getElementById(id).closest(".choice > div");
            if (part === null) return;
            const at = [...part.parentElement.querySelectorAll(":scope > div")].indexOf(part);
            part.parentElement.querySelectorAll("input")[at].click();
        }""",
        figure,
    )


class Report(unittest.TestCase):
    """The pages of a run, a comparison, a validation and a sweep."""

    @classmethod
    def setUpClass(cls):
        reports()

    def open(self, name, **options):
        return page((FOLDER / name).as_uri(), offline=True, **options)

    def check(self, name, scheme):
        with self.open(name, color_scheme=scheme) as (opened, beyond, complaints):
            opened.goto((FOLDER / name).as_uri())
            self.assertEqual(opened.evaluate("document.documentElement.dataset.theme"), scheme)
            figures = opened.eval_on_selector_all(".chart", "found => found.map(one => one.id)")
            self.assertEqual(opened.evaluate("specs.length"), len(figures))
            for figure in figures:
                show(opened, figure)
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
            self.assertEqual(self.check("compare.html", scheme), 6)

    def test_every_picture_of_a_validation_is_drawn_in_both_themes(self):
        for scheme in ["light", "dark"]:
            self.assertEqual(self.check("validation.html", scheme), 2)

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
            for _ in range(160):
                opened.keyboard.press("Tab")
                reached.add(opened.evaluate("document.activeElement.id || document.activeElement.tagName"))
            self.assertLessEqual({f"chart-{number}" for number in range(1, 12)}, reached)
            self.assertIn("SUMMARY", reached)
            amplification = opened.locator("figure", has_text="Write amplification").first
            amplification.locator(".chart").focus()
            opened.keyboard.press("ArrowRight")
            self.assertIn("write amplification", amplification.locator(".chart").inner_text())
            table = amplification.locator("details")
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
        shown = [("run.html", "light", "#latency, #anatomy", 900), ("run.html", "dark", "#busy, #wear", 900),
                 ("seeds.html", "light", "#latency, #front", 900), ("seeds.html", "dark", "#latency, #front", 420),
                 ("sweep.html", "light", "#runs, #keys", 1600)]
        for name, scheme, parts, width in shown:
            # The style that hides the other parts is none of the page's.
            with self.open(name, color_scheme=scheme, bypass_csp=True) as (opened, _, _):
                opened.set_viewport_size({"width": width, "height": 300})
                opened.goto((FOLDER / name).as_uri())
                hide = f"section:not({parts}), header, .skip {{ display: none }}"
                opened.add_style_tag(content=hide)
                if "#front" in parts and name == "seeds.html":
                    for select, figure in [(0, "requests a second"), (1, "p99 of reads")]:
                        opened.locator("#front select").nth(select).select_option(figure)
                taken = opened.screenshot(full_page=True)
            self.assertLess(len(taken), 300_000)
            if os.environ.get("SCREENSHOTS"):
                IMAGES.mkdir(exist_ok=True)
                (IMAGES / f"report-{pathlib.Path(name).stem}-{scheme}.png").write_bytes(taken)


# What would set the title or ask for an image, if anything in a page made an element or a script of it.
HOSTILE = "\"'><img src=x onerror=\"document.title='ran'\"><svg onload=\"document.title='ran'\"></title></style>" \
    "</script><script>document.title='ran'</script>&<!--{a|b}\u202e\x1b[31m\n"


def poisoned(value, replace, path=()):
    """A result in which everything is hostile that its format leaves free: `replace` makes it of a plain text."""
    if isinstance(value, dict):
        is_free = "config" in path or "vary" in path
        return {replace(key) if is_free else key: poisoned(part, replace, (*path, key)) for key, part in value.items()}
    if isinstance(value, list):
        return [poisoned(part, replace, path) for part in value]
    return replace(value) if isinstance(value, str) and path[-1] != "schema" else value


def hostile(text):
    return HOSTILE + text


class Hostile(unittest.TestCase):
    """Pages of files that somebody sent: nothing of them acts, and everything is drawn."""

    @classmethod
    def setUpClass(cls):
        few = ["--set", "workload.synthetic.requests=15000"]
        flashloom("run", HERE / "busy.toml", *few, "--json", "plain-run.json")
        vary = ["--vary", "ftl.gc=greedy,fifo", "--vary", "host.queue_depth=2,32", "--vary", "run.seed=1,2"]
        flashloom("compare", HERE / "busy.toml", *vary, *few, "--json", "plain-compare.json", "--quiet")
        open_load = ["--set", "workload.synthetic.interarrival=100us", "--set", "workload.replay=timestamps"]
        flashloom("run", HERE / "busy.toml", *few, *open_load, "--log", "log.csv", "--quiet")
        own = ["--against", "log.csv", "--set", "workload.sort=true"]
        flashloom("validate", HERE / "busy.toml", *own, "--json", "plain-validate.json")
        for name in ["run", "compare", "validate"]:
            whole = json.loads((FOLDER / f"plain-{name}.json").read_text())
            if name == "compare":
                whole["expectations"] = [{"claim": "c", "formula": "f", "value": 1.0, "at_least": 0.0, "holds": True}]
                whole["hints"] = [{"about": "a", "text": "t", "key": "k", "rows": [1]}]
                whole["left_out"] = [{"vary": {"a": "b"}, "problems": ["p"]}]
            whole = poisoned(whole, hostile)
            if name == "compare":
                # Beside bars this name would stand in a line of its own.
                whole["runs"][0]["vary"] = {"a.pppppppppppppppp": "__proto__"}
            (FOLDER / f"hostile-{name}.json").write_text(json.dumps(whole))
        table = parquet.read_table(HERE.parent / "sweep" / "data.parquet")
        columns = {name: table[name].to_pylist() for name in table.column_names}
        rows = table.num_rows
        varied = json.loads(table.schema.metadata[b"flashloom.varied"])
        # Two keys whose ids were one, and the names of what every object of JavaScript has.
        names = {key: hostile(key) for key in varied} | {"a.b": "a.b", "a-b": "a-b", "__proto__": "__proto__"}
        for key in ["a.b", "a-b", "__proto__"]:
            columns[key] = [["__proto__", "constructor", hostile(key)][row % 3] for row in range(rows)]
        configs = [text and json.dumps(poisoned(json.loads(text), hostile, ("config",))) for text in columns["config"]]
        kept = {"id", "status", "config", "__proto__", "a.b", "a-b"}
        made = {}
        for name, cells in columns.items():
            is_text = name not in kept and any(isinstance(cell, str) for cell in cells)
            cells = [hostile(cell) if is_text and isinstance(cell, str) else cell for cell in cells]
            made[names.get(name, name)] = configs if name == "config" else cells
        metadata = {key: value for key, value in table.schema.metadata.items() if not key.startswith(b"ARROW")}
        metadata = {key if key == b"flashloom.varied" else hostile(key.decode()).encode(): hostile(value.decode())
                    for key, value in metadata.items()}
        metadata[b"flashloom.varied"] = json.dumps(list(names.values()))
        (FOLDER / "hostile-sweep").mkdir()
        written = arrow.table(made).replace_schema_metadata(metadata)
        parquet.write_table(written, FOLDER / "hostile-sweep" / "data.parquet", compression="zstd")
        for name in ["run.json", "compare.json", "validate.json", "sweep"]:
            # The title of the page is the name of the file.
            source = FOLDER / f"hostile-{name}"
            named = source.with_name("'\"><img src=x onerror=document.title='ran'>" + name)
            source.rename(named)
            flashloom("report", named, "-o", f"hostile-{name}.html")

    def check(self, name, pictures):
        for scheme in ["light", "dark"]:
            with page((FOLDER / name).as_uri(), offline=True, color_scheme=scheme) as (opened, beyond, complaints):
                dialogs = []
                opened.on("dialog", lambda asked: (dialogs.append(asked.message), asked.dismiss()))
                opened.add_init_script(
                    "window.violations = []; document.addEventListener('securitypolicyviolation',"
                    " event => violations.push(event.violatedDirective + ' ' + event.blockedURI))")
                opened.goto((FOLDER / name).as_uri())
                figures = opened.eval_on_selector_all(".chart", "found => found.map(one => one.id)")
                self.assertEqual(figures, [f"chart-{number}" for number in range(1, pictures + 1)])
                for figure in figures:
                    show(opened, figure)
                    self.assertGreater(shapes(opened, figure), 5, f"{figure} is drawn")
                    # Labels and what the pointer shows, too.
                    opened.locator(f"#{figure}").focus()
                    for _ in range(3):
                        opened.keyboard.press("ArrowRight")
                # What is beside bars and points is laid out anew.
                for width in [420, 1600]:
                    opened.set_viewport_size({"width": width, "height": 900})
                    opened.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
                for select in opened.locator("#front select").all():
                    for at in range(select.locator("option").count()):
                        select.select_option(index=at)
                for item in opened.locator(".legend button:visible").all():
                    item.click()
                opened.locator("#theme").click()
                for button in opened.locator(".long thead button:visible").all():
                    button.click()
                injected = opened.evaluate(
                    "() => [document.querySelectorAll('img, iframe, object, embed, link, base, form').length,"
                    " document.scripts.length, document.styleSheets.length, document.querySelectorAll('title').length,"
                    " [...document.querySelectorAll('*')].flatMap(one => [...one.attributes])"
                    "   .filter(one => /^(on|src|action)/.test(one.name)).length]")
                self.assertEqual(injected, [0, 3, 1, 1, 0])
                # What every object has is as it was.
                changed = opened.evaluate(
                    "() => Object.getOwnPropertyNames(Object.prototype).map(name => Object.prototype[name])"
                    ".concat(Object.prototype).filter(one => one && 'next' in one).length")
                self.assertEqual(changed, 0)
                self.assertRegex(opened.title(), "^(Run|Comparison|Validation|Sweep): ")
                self.assertEqual(opened.evaluate("violations"), [])
                self.assertEqual((dialogs, beyond, complaints), ([], [], []))

    def test_nothing_of_a_hostile_result_acts(self):
        self.check("hostile-run.json.html", 11)

    def test_nothing_of_a_hostile_comparison_acts(self):
        self.check("hostile-compare.json.html", 6)

    def test_nothing_of_a_hostile_validation_acts(self):
        self.check("hostile-validate.json.html", 2)

    def test_nothing_of_a_hostile_data_set_acts(self):
        self.check("hostile-sweep.html", 7)

    def test_what_a_page_did_not_bring_does_not_run(self):
        # Whatever escaped the escapes would meet the policy.
        whole = (FOLDER / "hostile-run.json.html").read_text()
        injected = whole.replace("</h1>", "</h1><img src=x onerror=\"document.title='ran'\">"
                                 "<script>document.title='ran'</script><p style='color: red' id='styled'>", 1)
        (FOLDER / "injected.html").write_text(injected)
        with page((FOLDER / "injected.html").as_uri(), offline=True) as (opened, beyond, complaints):
            opened.goto((FOLDER / "injected.html").as_uri())
            self.assertNotEqual(opened.title(), "ran")
            self.assertNotEqual(opened.evaluate("getComputedStyle(styled).color"), "rgb(255, 0, 0)")
            self.assertEqual(opened.evaluate("specs.length"), 11, "the page's own scripts run")
            self.assertEqual(beyond, [])
            self.assertGreaterEqual(len([text for text in complaints if "Content Security Policy" in text]), 3)


class Vendored(unittest.TestCase):
    """The library that draws the pictures."""

    def test_it_is_that_of_the_registry(self):
        folder = ROOT / "crates" / "export" / "vendor" / "echarts-6.1.0"
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
