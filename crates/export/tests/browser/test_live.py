"""The page of a drive that is served, in a browser while fio reads and writes: the figures move, every panel is drawn
in both themes, nothing is loaded from elsewhere, and no other page may read it."""

import http.server
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from lab import FOLDER, HERE, PROGRAM, page

# Figures at the top whose texts change while requests are served.
FIGURES = "[...document.querySelectorAll('#figures dd')].map((figure) => figure.textContent).join(' ')"

# Pairs of texts of a picture that lie on one another, and texts that are cut or small.
TEXTS = """() => [...document.querySelectorAll("svg[role=img]")].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")]
        .map((text) => ({ said: text.textContent, box: text.getBoundingClientRect() }))
        .filter(({ said, box }) => said.trim() !== "" && box.width > 0);
    const cut = texts.filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(({ said }) => [svg.id, "cut", said]);
    const on = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    const pairs = texts.flatMap((a, at) => texts.slice(at + 1).filter((b) => on(a.box, b.box))
        .map((b) => [svg.id, a.said, b.said]));
    const small = [...document.querySelectorAll("body *")]
        .filter((one) => parseFloat(getComputedStyle(one).fontSize) < 11);
    return cut.concat(pairs, small.map((one) => [svg.id, "small", one.textContent]));
})"""

# Texts in the tiles, panels and the head of the page that their boxes cut.
CUT = """() => [...document.querySelectorAll("dt, dd, h1, h2, header p, .legend li, td, th")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && !one.querySelector(".hidden"))
    .map((one) => one.textContent)"""


class Served:
    """A drive that is served with a page, and fio at work on it."""

    def __init__(self, *arguments):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        command = [PROGRAM, "serve", HERE / "live.toml", "--unix", "socket", "--web", f"127.0.0.1:{self.port}"]
        command += arguments
        self.server = subprocess.Popen(list(map(str, command)), cwd=self.folder, stderr=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, text=True)
        said = ""
        while "Ctrl-C ends it" not in said:
            line = self.server.stderr.readline()
            assert line, f"it does not serve: {said}"
            said += line
        uri = f"--uri=nbd+unix:///?socket={self.folder}/socket"
        job = "--name=w --ioengine=nbd --rw=randrw --bs=4k --iodepth=8 --size=100% --time_based --runtime=600 --minimal"
        self.fio = subprocess.Popen(["fio", *job.split(), uri], cwd=self.folder, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def end(self):
        self.fio.terminate()
        self.fio.wait()
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(60)

    def __exit__(self, *_):
        self.end()
        self.server.stderr.close()


def violations(opened):
    """Has the page note what its policy refuses, in `refused`."""
    opened.add_init_script("window.refused = []; document.addEventListener('securitypolicyviolation',"
                           "(event) => window.refused.push(event.violatedDirective))")


def until(opened, condition):
    """Waits for a condition by asking: the policy of the page lets nothing within it wait for us."""
    for _ in range(600):
        if opened.evaluate(condition):
            return
        opened.wait_for_timeout(200)
    raise AssertionError(f"never: {condition}")


def wait(opened, samples):
    until(opened, f"samples.length >= {samples}")


class Live(unittest.TestCase):
    def test_every_panel_is_drawn_and_moves_in_both_themes(self):
        for scheme, pace in [("light", ["--pace", "real"]), ("dark", ["--set", "ftl.mapping=fast"])]:
            with self.subTest(scheme=scheme), Served(*pace) as drive, page(drive.url, color_scheme=scheme) as opened:
                self.check(drive, scheme, *opened)

    def check(self, drive, scheme, opened, beyond, complaints):
        opened.set_viewport_size({"width": 1280, "height": 800})
        violations(opened)
        opened.goto(drive.url)
        wait(opened, 12)
        until(opened, "latest.status.block_erases > 300 && latest.busy.jobs.length >= 10")
        before = opened.evaluate(FIGURES)
        opened.wait_for_timeout(1_500)
        self.assertNotEqual(opened.evaluate(FIGURES), before)
        self.assertEqual(opened.text_content("#state"), "Serving")
        # Lines of more than a few points, bars of more than one origin.
        for name, paths in [("throughput", 2), ("latency", 4), ("amplification", 2)]:
            drawn = opened.locator(f"#{name} path.line").evaluate_all("all => all.map((one) => one.getAttribute('d'))")
            self.assertEqual(len(drawn), paths)
            self.assertGreater(min(len(re.findall("[ML]", path)) for path in drawn[:2]), 1, name)
        self.assertGreater(opened.locator("#programs path.area").evaluate_all(
            "all => all.filter((one) => one.getAttribute('d').length > 20).length"), 1)
        # The map of wear has a cell for each block, of several shades, and says what they mean.
        shades = opened.locator("#wear rect").evaluate_all("all => all.map((one) => getComputedStyle(one).fill)")
        self.assertEqual(len(shades), 256)
        self.assertGreater(len(set(shades)), 2)
        self.assertRegex(opened.text_content("#wear-summary"), r"Since new \d+ to \d+ erases a block; [0-9,]+ since")
        self.assertEqual(opened.locator("#array .die").count(), 4)
        self.assertGreater(opened.locator("#array rect").count(), 3)
        self.assertEqual(opened.locator("#jobs tbody tr").count(), 10)
        self.assertGreater(opened.locator("#slowest tbody tr").count(), 5)
        self.assertGreater(opened.locator("#slowest rect").count(), 5)
        # Pictures have names; the theme is that of the browser.
        for picture in opened.locator("svg[role=img]").all():
            names = picture.evaluate("one => one.getAttribute('aria-labelledby').split(' ')"
                                     ".map((id) => document.getElementById(id).textContent)")
            self.assertTrue(all(name.strip() for name in names), names)
        is_dark = opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
        self.assertEqual(is_dark, scheme == "dark")
        # The most important is seen at once, and nothing is cut or lies on anything else.
        self.assertLessEqual(opened.locator("#wear").bounding_box()["y"], 800 - 195)
        self.assertEqual(opened.evaluate(TEXTS), [])
        self.assertEqual(opened.evaluate(CUT), [])
        opened.screenshot(path=str(FOLDER / f"live-{scheme}.png"), full_page=True)
        if os.environ.get("SCREENSHOTS"):
            print(FOLDER / f"live-{scheme}.png")
        for width in [420, 900, 1600]:
            opened.set_viewport_size({"width": width, "height": 900})
            opened.wait_for_timeout(700)
            self.assertLessEqual(opened.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
            self.assertEqual(opened.evaluate(TEXTS), [], width)
        self.assertEqual((beyond, complaints, opened.evaluate("refused")), ([], [], []))
        # What is refused would be noted.
        opened.evaluate("document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))")
        until(opened, "refused.length === 1")
        complaints.clear()
        # The end of the drive is told.
        drive.end()
        until(opened, "document.querySelector('#state').textContent.startsWith('No connection')")

    def test_pictures_stand_still_on_demand(self):
        with Served() as drive, page(drive.url) as (opened, _, complaints):
            opened.goto(drive.url)
            wait(opened, 3)
            opened.keyboard.press("Tab")
            opened.keyboard.press("Enter")
            self.assertEqual(opened.get_attribute("#pause", "aria-pressed"), "true")
            before = opened.evaluate(FIGURES)
            count = opened.evaluate("samples.length")
            wait(opened, count + 4)
            self.assertEqual(opened.evaluate(FIGURES), before)
            opened.keyboard.press("Enter")
            self.assertNotEqual(opened.evaluate(FIGURES), before)
            self.assertEqual(complaints, [])

    def test_pages_of_other_origins_learn_nothing(self):
        class Quiet(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>elsewhere</title>")

            def log_message(self, *_):
                pass

        elsewhere = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        with Served() as drive, page("http://") as (opened, _, _):
            opened.goto(f"http://127.0.0.1:{elsewhere.server_port}/")
            read = "(url) => fetch(url, {mode}).then((answer) => answer.text(), () => 'refused')"
            for mode in ["", "mode: 'no-cors'"]:
                asked = read.replace("mode", mode)
                self.assertIn(opened.evaluate(asked, drive.url + "live.json"), ["refused", ""])
            framed = """(url) => new Promise((done) => {
                const frame = Object.assign(document.createElement("iframe"), { src: url, onload: () => done(frame) });
                document.body.append(frame);
            }).then((frame) => { try { return frame.contentDocument?.title ?? ""; } catch { return ""; } })"""
            self.assertEqual(opened.evaluate(framed, drive.url), "")
            loads = """(url) => new Promise((done) => {
                const script = Object.assign(document.createElement("script"), { src: url });
                Object.assign(script, { onload: () => done("loaded"), onerror: () => done("refused") });
                document.body.append(script);
            })"""
            self.assertEqual(opened.evaluate(loads, drive.url + "live.json"), "refused")
            # The same browser at the address itself.
            opened.goto(drive.url.replace("127.0.0.1", "localhost"))
            wait(opened, 2)
        elsewhere.shutdown()
        elsewhere.server_close()


if __name__ == "__main__":
    unittest.main()
