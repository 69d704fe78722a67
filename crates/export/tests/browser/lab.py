"""What the tests in a browser share: the program, its outputs, and a page without a network."""

import contextlib
import functools
import os
import pathlib
import subprocess
import tempfile

from playwright.sync_api import sync_playwright

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
PROGRAM = pathlib.Path(os.environ["FLASHLOOM"]).resolve()
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="flashloom-report-"))


def flashloom(*arguments):
    """Runs the program in the folder of the tests."""
    subprocess.run([PROGRAM, *map(str, arguments)], cwd=FOLDER, check=True, capture_output=True)


def run(name, *arguments):
    """Runs the busy experiment; returns the path of its result."""
    flashloom("run", HERE / "busy.toml", "--json", f"{name}.json", *arguments)
    return FOLDER / f"{name}.json"


@functools.cache
def reports():
    """Makes a page of each kind once, and returns their names: of a run, of comparisons without and with seeds, of a
    validation, of a sweep."""
    flashloom("report", run("run"), "-o", "run.html")
    vary = ["--vary", "ftl.gc=greedy,fifo", "--vary", "device.over_provisioning=20%,30%,40%"]
    few = ["--set", "workload.synthetic.requests=15000", "--quiet"]
    flashloom("compare", HERE / "busy.toml", *vary, *few, "--json", "compare.json")
    # The schedulers of README's first comparison, and one more, on a smaller drive.
    vary = ["--vary", "host.scheduler=noop,deadline,anticipatory,cfq,fios,pardispatcher", "--seeds", "5"]
    few = ["workload.synthetic.requests=10000", "device.blocks=128", "run.series=20ms", "run.anatomy=true"]
    few = [part for setting in few for part in ("--set", setting)]
    flashloom("compare", ROOT / "experiments" / "quickstart.toml", *vary, *few, "--quiet", "--json", "seeds.json")
    for name in ["compare", "seeds"]:
        flashloom("report", f"{name}.json", "-o", f"{name}.html")
    # A run's own log, against a drive whose reads take longer.
    open_load = ["workload.synthetic.interarrival=100us", "workload.synthetic.requests=40000"]
    open_load = [part for setting in open_load for part in ("--set", setting)]
    quickstart = ROOT / "experiments" / "quickstart.toml"
    flashloom("run", quickstart, *open_load, "--log", "log.csv", "--quiet")
    slower = ["--set", "workload.sort=true", "--set", "device.read_time=60us"]
    flashloom("validate", quickstart, "--against", "log.csv", *slower, "--json", "validation.json")
    flashloom("report", "validation.json", "-o", "validation.html")
    flashloom("report", HERE.parent / "sweep", "-o", "sweep.html")
    return ["run.html", "compare.html", "seeds.html", "validation.html", "sweep.html"]


@contextlib.contextmanager
def page(allowed, **options):
    """A page that may load what begins with `allowed`; yields it with what it wanted beyond, and its complaints."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_context(viewport={"width": 1100, "height": 900}, **options).new_page()
        beyond, complaints = [], []

        def route(asked):
            if asked.request.url.startswith(allowed):
                asked.continue_()
            else:
                beyond.append(asked.request.url)
                asked.abort()

        opened.route("**/*", route)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        yield opened, beyond, complaints
        browser.close()
