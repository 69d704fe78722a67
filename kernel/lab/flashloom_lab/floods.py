# SPDX-License-Identifier: GPL-2.0
"""How long a small write waits above a flood of large ones, beside mq-deadline in the same boot.

The jobs are those of the simulator's experiment floods.toml, in which a process keeps 128 large writes outstanding, in
ascending or random order, and another waits for one small write at a time, in the same region and above all of them.
The guest counts instructions instead of time, and null_blk takes the same time for every request, so that the figures
are the same boot after boot, however busy the machine is.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .guest import Guest
from .host import KERNEL_DIR, LabFailure
from .kernels import Kernel, build_module

EXPERIMENTS = KERNEL_DIR.parent / "experiments"
JOBS = ("flood-sequential.fio", "flood-random.fio")
DEVICE = "memory_backed=0 size=65536 submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=2000000"

# What the attributes of a scheduler are set to. Both come with the depth that the queue had before it was made longer,
# so that writes have 8 tags of 256; with all of them, only the order of the scheduler keeps the small write from
# waiting.
ATTRIBUTES = ("", "async_depth=256")
REFERENCE, JUDGED = "mq-deadline", "pardispatcher"
RUNS = tuple((scheduler, attributes) for attributes in ATTRIBUTES for scheduler in (REFERENCE, JUDGED))

# What is promised of pardispatcher: bounds on the small write's wait, and on what the flood loses.
MEAN_OVER_REFERENCE = 3.0
LONGEST_MS = 300.0
THROUGHPUT_LOSS = 0.03


@dataclass(frozen=True)
class Figures:
    """What a scheduler did with a flood, and with the small writes beside it."""

    served: int
    mean_ms: float
    max_ms: float
    flood_mb_s: float


def figures(result: str) -> Figures:
    """Reads what fio says."""
    jobs = {job["jobname"]: job["write"] for job in json.loads(result)["jobs"]}
    victim = jobs["victim"]
    return Figures(
        served=victim["total_ios"],
        mean_ms=victim["lat_ns"]["mean"] / 1e6,
        max_ms=victim["lat_ns"]["max"] / 1e6,
        flood_mb_s=jobs["flood"]["bw_bytes"] / 1e6,
    )


def broken(job: str, judged: Figures, reference: Figures) -> list[str]:
    """The promises that do not hold."""
    found = []
    if judged.mean_ms > MEAN_OVER_REFERENCE * reference.mean_ms:
        found.append(f"{job}: the small write waits {judged.mean_ms:.1f} ms, mq-deadline's {reference.mean_ms:.1f}")
    if judged.max_ms > LONGEST_MS:
        found.append(f"{job}: the small write has waited {judged.max_ms:.0f} ms")
    if judged.flood_mb_s < (1 - THROUGHPUT_LOSS) * reference.flood_mb_s:
        found.append(f"{job}: the flood gets {judged.flood_mb_s:.1f} MB/s, mq-deadline's {reference.flood_mb_s:.1f}")
    return found


def table(target: Kernel, measured: dict[tuple[str, tuple[str, str]], Figures]) -> str:
    """What was measured, in Markdown."""
    lines = [
        f"Linux {target.release}",
        "",
        "| flood | scheduler | small writes | mean ms | max ms | flood MB/s |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for (job, run), row in measured.items():
        name = Path(job).stem.removeprefix("flood-")
        scheduler = " ".join(run).strip()
        lines.append(
            f"| {name} | {scheduler} | {row.served} | {row.mean_ms:.2f} | {row.max_ms:.1f} | {row.flood_mb_s:.1f} |"
        )
    return "\n".join(lines)


def floods(target: Kernel) -> str:
    """Runs every flood under every scheduler in one boot, and returns the table; raises if a promise does not hold."""
    runs = {f"{number}": key for number, key in enumerate((job, run) for job in JOBS for run in RUNS)}
    lines = [f"{name}|{job}|{scheduler}|{attributes}\n" for name, (job, (scheduler, attributes)) in runs.items()]
    files = {"lab/runs": "".join(lines).encode()}
    for job in JOBS:
        files[f"lab/{job}"] = (EXPERIMENTS / job).read_bytes().replace(b"/dev/nvme0n1", b"/dev/flood")
    guest = Guest(target, build_module(target), "floods", "floods", DEVICE.split(), files, exact=True, memory_mib=2048)
    with tempfile.TemporaryDirectory() as directory:
        guest.boot(Path(directory))
        measured = {key: figures((Path(directory) / name).read_text()) for name, key in runs.items()}
    text = table(target, measured)
    found = []
    for job in JOBS:
        for attributes in ATTRIBUTES:
            judged, reference = (measured[job, (scheduler, attributes)] for scheduler in (JUDGED, REFERENCE))
            found += broken(f"{job} {attributes}".strip(), judged, reference)
    if found:
        raise LabFailure("\n".join([text, "", *found]))
    return text
