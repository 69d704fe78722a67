#!/usr/bin/env python3
"""Runs which-scheduler.toml for every recording and drive, and quickstart.toml on three drives that are kept full, and
writes the tables of docs/which-scheduler.md.

    experiments/which_scheduler.py PROGRAM TRACES OUT [PAGE]

PROGRAM is flashloom, TRACES a folder with the recordings. The JSON of each comparison is kept in the folder OUT, and
one that is there is not run again. With PAGE the tables are written into it, between their marks; without, printed.

A difference is told if it is at least 1 % and the 95 % interval of its five pairs of seeds excludes zero. The null is
`none` compared with itself, seeds 6 to 10 with seeds 1 to 5: what it tells is chance. A percentile of fewer than 500
requests, of which the slowest five would be the last hundredth, is left out.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pages

EXPERIMENT = Path(__file__).with_name("which-scheduler.toml")
QUICKSTART = Path(__file__).with_name("quickstart.toml")
SEEDS = 5
# Student's t for a 95 % interval of five values.
T = 2.776
# A difference below this share is none.
LEAST = 0.01
# A percentile of fewer requests is left out.
REQUESTS = 500
SCHEDULERS = ["mq-deadline", "kyber", "pardispatcher"]
NULL = "none again"

RECORDINGS = {
    "file server": "filebench-fileserver/filebench-fileserver.blktrace.0.zst",
    "web server": "filebench-webserver/filebench-webserver.blktrace.0.zst",
    "mail server": "filebench-varmail/filebench-varmail.blktrace.0.zst",
    "database": "filebench-oltp/filebench-oltp.blktrace.0.zst",
    "Linux desktop": "linux-desktop/linux-desktop.blktrace.0.zst",
    "Windows PC": "windows-pc-mayun2.diskmon.txt.zst",
    "virtual machine": "cloudphysics-2h.vscsi.zst",
    "web search": "websearch-60s.ssdsim.trace.zst",
    "dtrs": "ms-dtrs-100m.ssdsim.trace.zst",
    "OLTP": "oltp-financial1-10k.ssdsim.trace.zst",
    "Postmark": "postmark.disksim.trace.zst",
    "YCSB on ext4": "ycsb-ext4.blkparse.txt.zst",
}
# Preset, and an eighth of its blocks.
DRIVES = {
    "SATA MLC": ("kingston-mlc-60g", 230),
    "NVMe TLC": ("nvme-tlc-512g", 114),
    "NVMe QLC": ("nvme-qlc-1t", 171),
}
# A drive that takes all that is outstanding leaves a scheduler nothing to choose: a few recordings show it.
OF_NVME = ["file server", "mail server", "database"]
CELLS = [(recording, "SATA MLC") for recording in RECORDINGS]
CELLS += [(recording, drive) for recording in OF_NVME for drive in ("NVMe TLC", "NVMe QLC")]
# An eighth of the blocks of the NVMe drives is enough to age them five times.
OF_NVME_FULL = "host.queue_depth=1023 workload.queue_depth=256 workload.synthetic.requests=100000"
KEPT_FULL = {
    "`mlc-16g`: 64 outstanding, the drive takes 31": "",
    "`nvme-tlc-512g`: 256, the drive takes all": f"device.preset=nvme-tlc-512g device.blocks=114 {OF_NVME_FULL}",
    "`nvme-qlc-1t`: 256, the drive takes all": f"device.preset=nvme-qlc-1t device.blocks=171 {OF_NVME_FULL}",
}
FULL_FIGURES = [("requests/s", ("host", "iops"))] + [
    (f"{op} {percentile}", ("host", "latency_ns", op, percentile))
    for op in ("read", "write")
    for percentile in ("p50", "p99")
]
# Name, path in a result, and +1 if more is better.
FIGURES = [
    ("requests/s", ("host", "iops"), 1),
    ("read p99", ("host", "latency_ns", "read", "p99"), -1),
    ("write p99", ("host", "latency_ns", "write", "p99"), -1),
]


def of_recording(traces, recording, drive):
    """The keys of a recording on a drive."""
    preset, blocks = DRIVES[drive]
    path = traces / RECORDINGS[recording]
    sets = [f"workload.path={path}", "workload.device=all", f"device.preset={preset}", f"device.blocks={blocks}"]
    # Filebench writes by way of the page cache.
    return [*sets, "host.sync_writes=fsync"] if "filebench" in RECORDINGS[recording] else sets


def compared(program, experiment, kept, sets):
    """The runs of a comparison, by scheduler, a list in the order of the seeds; `none again` has other seeds."""
    if not kept.exists():
        print(kept.stem, file=sys.stderr, flush=True)
        common = [word for one in sets for word in ("--set", one)] + ["--quiet", "--no-hints"]
        parts = []
        again = ["--vary", "host.scheduler=none", "--set", f"run.seed={SEEDS + 1}"]
        for more in [["--seeds", SEEDS], [*again, "--seeds", SEEDS]]:
            part = kept.with_suffix(f".{len(parts)}")
            command = [program, "compare", experiment, *common, *more, "--json", part]
            subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
            parts.append(json.loads(part.read_text())["runs"])
            part.unlink()
        of = {}
        for scheduler, runs in [(None, parts[0]), (NULL, parts[1])]:
            for run in runs:
                of.setdefault(scheduler or run["vary"]["host.scheduler"], []).append(run["result"]["host"])
        kept.write_text(json.dumps(of))
    return json.loads(kept.read_text())


def figure(host, path):
    for key in path[1:]:
        if "count" in host and host["count"] < REQUESTS:
            return None
        host = host.get(key, {})
    return host or None


def difference(runs, other, path):
    """Mean and half width of the differences of two lists of runs, as shares of the second's mean."""
    pairs = [(figure(one, path), figure(two, path)) for one, two in zip(runs, other, strict=True)]
    if any(value is None for pair in pairs for value in pair):
        return None
    base = statistics.mean(two for _, two in pairs)
    shares = [(one - two) / base for one, two in pairs]
    return statistics.mean(shares), T * statistics.stdev(shares) / len(shares) ** 0.5


def is_told(mean, half_width):
    return abs(mean) >= LEAST and abs(mean) > half_width


def cell(found):
    if found is None:
        return "-"
    mean, half_width = (100 * value for value in found)
    shown = f"{mean:+.1f} ± {half_width:.1f}"
    return f"**{shown}**" if is_told(*found) else shown


def full_table(results):
    lines = ["| drive | scheduler | " + " | ".join(f"{name}, %" for name, _ in FULL_FIGURES) + " |"]
    lines.append("| --- | --- |" + " ---: |" * len(FULL_FIGURES))
    for drive, of in results.items():
        for scheduler in [*SCHEDULERS, NULL]:
            row = [drive if scheduler == SCHEDULERS[0] else "", scheduler]
            for _, path in FULL_FIGURES:
                mean, half_width = (100 * value for value in difference(of[scheduler], of["none"], path))
                row.append(f"{mean:+.1f} ± {half_width:.1f}" + (" ~" if abs(mean) <= half_width else ""))
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def tables(results):
    lines = ["| drive | scheduler | " + " | ".join(name for name, _, _ in FIGURES) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(FIGURES))
    found = {}
    for (recording, drive), of in results.items():
        for scheduler in [*SCHEDULERS, NULL]:
            for name, path, _ in FIGURES:
                found[recording, drive, scheduler, name] = difference(of[scheduler], of["none"], path)
    recordings = {drive: [one for one, of in CELLS if of == drive] for drive in DRIVES}
    for drive in DRIVES:
        for scheduler in [*SCHEDULERS, NULL]:
            row = [drive, scheduler]
            for name, _, sign in FIGURES:
                all_of = [found[recording, drive, scheduler, name] for recording in recordings[drive]]
                known = [value for value in all_of if value is not None]
                told = [sign * mean for mean, half_width in known if is_told(mean, half_width)]
                better, worse = sum(value > 0 for value in told), sum(value < 0 for value in told)
                row.append(f"{better} better, {worse} worse, of {len(known)}")
            lines.append("| " + " | ".join(row) + " |")
    for name, _, _ in FIGURES:
        for drive in DRIVES:
            lines += ["", f"{drive}: {name}, change from `none` in per cent.", ""]
            lines.append("| recording | " + " | ".join([*SCHEDULERS, NULL]) + " |")
            lines.append("| --- |" + " ---: |" * (len(SCHEDULERS) + 1))
            for recording in recordings[drive]:
                row = [cell(found[recording, drive, scheduler, name]) for scheduler in [*SCHEDULERS, NULL]]
                lines.append(f"| {recording} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit("which_scheduler.py: usage: which_scheduler.py PROGRAM TRACES OUT [PAGE]")
    program, traces, out = (Path(word) for word in sys.argv[1:4])
    missing = [path for path in RECORDINGS.values() if not (traces / path).exists()]
    if missing:
        sys.exit(f"which_scheduler.py: {traces} lacks " + ", ".join(missing))
    out.mkdir(parents=True, exist_ok=True)
    program, traces = program.resolve(), traces.resolve()
    full = {}
    for drive, sets in KEPT_FULL.items():
        kept = out / f"kept-full-{drive.split('`')[1]}.json"
        full[drive] = compared(program, QUICKSTART, kept, sets.split())
    results = {}
    for recording, drive in CELLS:
        kept = out / f"{recording}, {drive}.json".replace(" ", "-")
        results[recording, drive] = compared(program, EXPERIMENT, kept, of_recording(traces, recording, drive))
    pages.write(*sys.argv[4:] or [None], [("kept full", full_table(full)), ("tables", tables(results))])


if __name__ == "__main__":
    main()
