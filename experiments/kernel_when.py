#!/usr/bin/env python3
"""Runs Filebench's personalities under the schedulers of Linux 6.12 and pardispatcher, and writes the tables of
docs/kernel-when.md.

    experiments/kernel_when.py PROGRAM OUT [PAGE]

PROGRAM is the flashloom of kernel/policies, which has the kernel's own bfq. The JSON of each comparison is kept in the
folder OUT, and one that is there is not run again. With PAGE the tables are written into it, between their marks;
without, printed. A difference is told where the 95 % intervals of the two means do not overlap.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pages

FIGURES = Path(__file__).parent / "papers" / "pardispatcher"
SEEDS = 3
# Student's t for a 95 % interval of three values.
T = 4.303
BFQ = "linux-6-12-bfq"
SCHEDULERS = ["none", "mq-deadline", "kyber", BFQ, "pardispatcher"]
DEPTHS = [1, 4, 31]
PERSONALITIES = {"webserver": 1_000_000, "fileserver": 300_000, "varmail": 1_000_000}
COMMON = ["workload.filebench.runtime=30s", "host.linux=6.12"]
# Its writers wait for dirty pages to be written back, which write-back throttling knows of.
OF_FILESERVER = ["host.writeback=held-up"]


def compared(program, experiment, kept, sets, depths):
    """Operations a second by depth and scheduler, a list of the seeds."""
    if not kept.exists():
        print(kept.stem, file=sys.stderr, flush=True)
        command = [program, "compare", FIGURES / experiment, "--seeds", SEEDS, "--quiet", "--no-hints"]
        command += [word for one in [*COMMON, *sets] for word in ("--set", one)]
        command += ["--vary", "host.queue_depth=" + ",".join(map(str, depths))]
        command += ["--vary", "host.scheduler=" + ",".join(SCHEDULERS)]
        part = kept.with_suffix(".part")
        subprocess.run([str(word) for word in [*command, "--json", part]], check=True, stdout=subprocess.DEVNULL)
        of = {}
        for run in json.loads(part.read_text())["runs"]:
            vary, filebench = run["vary"], run["result"]["filebench"]
            of_depth = of.setdefault(str(vary["host.queue_depth"]), {})
            of_depth.setdefault(vary["host.scheduler"], []).append(filebench["operations_per_second"])
        part.unlink()
        kept.write_text(json.dumps(of))
    return json.loads(kept.read_text())


def interval(values):
    return statistics.mean(values), T * statistics.stdev(values) / len(values) ** 0.5


def cells(of):
    """The means with the halves of their intervals, and pardispatcher against the best of the others."""
    found = {scheduler: interval(of[scheduler]) for scheduler in SCHEDULERS}
    shown = [f"{mean:,.0f} ± {half_width:,.0f}" for mean, half_width in found.values()]
    (ours, our_width), (best, width) = found["pardispatcher"], max(found[one] for one in SCHEDULERS[:-1])
    is_told = abs(ours - best) > our_width + width
    return [*shown, f"{100 * (ours / best - 1):+.1f} %" + ("" if is_told else " ~")]


def table(columns, rows):
    names = [name.replace(BFQ, "bfq") for name in SCHEDULERS]
    lines = ["| " + " | ".join([*columns, *names, "against the best"]) + " |"]
    lines.append("| " + "--- | " * (len(columns) - 1) + "---: |" + " ---: |" * (len(names) + 1))
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("kernel_when.py: usage: kernel_when.py PROGRAM OUT [PAGE]")
    program, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for personality, files in PERSONALITIES.items():
        sets = [f"workload.filebench.personality={personality}", f"workload.filebench.files={files}"]
        sets += OF_FILESERVER if personality == "fileserver" else []
        of = compared(program, "figure-3.toml", out / f"{personality}.json", sets, DEPTHS)
        for depth in DEPTHS:
            first = f"{personality}, {files}" if depth == DEPTHS[0] else ""
            rows.append([first, str(depth), *cells(of[str(depth)])])
    of = compared(program, "regions-figure-3.toml", out / "regions.json", OF_FILESERVER, DEPTHS[1:])
    whole = table(["personality, files", "queue depth"], rows)
    regions = table(["queue depth"], [[str(depth), *cells(of[str(depth)])] for depth in DEPTHS[1:]])
    pages.write(*sys.argv[3:] or [None], [("whole drive", whole), ("regions", regions)])


if __name__ == "__main__":
    main()
