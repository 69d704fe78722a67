# SPDX-License-Identifier: GPL-2.0
"""What a request costs under each scheduler, exact to the instruction.

The guest has one processor whose clock counts instructions, four nanoseconds each, and a null_blk device with a fixed
time per request. So a run repeats to within a few instructions from boot to boot, and differences come from the
schedulers. Instructions are not time on a real processor: here a cache miss costs as much as an addition.

A load runs twice, with few requests and with many; the difference of the two excludes the start of fio. Each run
submits a fixed number of requests and waits for all of them, so that the work around the scheduler is always the same.
"""

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .compare import SCHEDULERS
from .guest import Guest
from .host import LabFailure
from .kernels import Kernel, build_module

NS_PER_INSTRUCTION = 4
FEW, MANY = 10_240, 40_960
# What pardispatcher may take of mq-deadline's instructions: it has regions to find, and a clock to read.
ALLOWED = 1.02

# A device that takes one request at a time, so that up to 63 others are queued in the scheduler.
DEVICE = "hw_queue_depth=1 irqmode=2 completion_nsec=100000"
BATCH = "--iodepth=64 --iodepth_batch=64 --iodepth_batch_complete_min=64"
LOADS = {
    "random reads": f"--rw=randread {BATCH}",
    "random writes": f"--rw=randwrite {BATCH}",
    "random reads and writes": f"--rw=randrw {BATCH}",
}


@dataclass(frozen=True)
class Figures:
    """The measurements of one scheduler under one load."""

    instructions: float
    mean_us: float
    p99_us: float
    max_us: float


def file_name(load: str) -> str:
    """A load's name without characters that a shell would split."""
    return re.sub(r"\W+", "-", load)


def result(directory: Path, load: str, requests: int) -> list[dict]:
    """fio's report of each direction that the load has."""
    (job,) = json.loads((directory / f"{file_name(load)}-{requests}").read_text())["jobs"]
    parts = [job[direction] for direction in ("read", "write") if job[direction]["total_ios"]]
    served = sum(part["total_ios"] for part in parts)
    if served != requests:
        raise LabFailure(f"{load}: {served} requests were served of {requests}")
    return parts


def figures(console: str, directory: Path, load: str) -> Figures:
    """Reads a guest's output of one load."""
    busy_ns = [
        int(re.search(rf"^busy_ns {file_name(load)} {requests} (\d+)", console, re.M)[1]) for requests in (FEW, MANY)
    ]
    result(directory, load, FEW)
    parts = result(directory, load, MANY)
    return Figures(
        instructions=(busy_ns[1] - busy_ns[0]) / NS_PER_INSTRUCTION / (MANY - FEW),
        mean_us=sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts) / MANY / 1e3,
        p99_us=max(part["clat_ns"]["percentile"]["99.000000"] for part in parts) / 1e3,
        max_us=max(part["lat_ns"]["max"] for part in parts) / 1e3,
    )


def measure(target: Kernel, module: Path, scheduler: str) -> dict[str, Figures]:
    """The figures of one scheduler, by load."""
    lines = [f"{file_name(load)}|{FEW}|{MANY}|{DEVICE}|{options}\n" for load, options in LOADS.items()]
    files = {"lab/loads": "".join(lines).encode()}
    guest = Guest(target, module, f"cost-{scheduler}", "cost", [scheduler], files, exact=True)
    with tempfile.TemporaryDirectory() as directory:
        console = guest.boot(Path(directory))
        return {load: figures(console, Path(directory), load) for load in LOADS}


def table(target: Kernel, measured: dict[str, dict[str, Figures]]) -> str:
    """The costs in Markdown, one table per load."""
    lines = [f"Linux {target.release}"]
    for load in LOADS:
        lines += [
            "",
            f"{load[0].upper()}{load[1:]}:",
            "",
            "| scheduler | instructions a request | against mq-deadline | mean us | 99 % us | max us |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for scheduler, by_load in measured.items():
            row = by_load[load]
            base = measured.get("mq-deadline")
            more = f"{row.instructions - base[load].instructions:+.0f}" if base else ""
            lines.append(
                f"| {scheduler} | {row.instructions:.0f} | {more} | {row.mean_us:.0f} | {row.p99_us:.0f} "
                f"| {row.max_us:.0f} |"
            )
    return "\n".join(lines)


def cost(target: Kernel, schedulers: list[str]) -> str:
    """Runs every scheduler and returns the tables; raises if pardispatcher costs more than it may."""
    module = build_module(target)
    measured = {scheduler: measure(target, module, scheduler) for scheduler in schedulers}
    text = table(target, measured)
    if {"mq-deadline", "pardispatcher"} <= measured.keys():
        for load in LOADS:
            ours, theirs = (measured[name][load].instructions for name in ("pardispatcher", "mq-deadline"))
            if ours > ALLOWED * theirs:
                verdict = f"pardispatcher takes {ours:.0f} instructions, mq-deadline {theirs:.0f}"
                raise LabFailure(f"{text}\n\n{load}: {verdict}")
    return text
