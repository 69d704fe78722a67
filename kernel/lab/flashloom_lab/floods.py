# SPDX-License-Identifier: GPL-2.0
"""The wait of small writes at addresses above a flood of large ones, compared with mq-deadline in the same boot.

The jobs are those of the simulator's experiment floods.toml: one process keeps 128 large writes outstanding, in
ascending or random order; another submits one small write at a time, in the same region at higher addresses. The guest
counts instructions instead of time, and null_blk takes the same time for every request, so that a busy machine changes
no figure.

A small write first waits for a tag, which the block layer gives out in no order and so without a bound; then for its
dispatch, which the scheduler decides. blktrace separates the two, and only the second is checked, in requests that
were dispatched before the small write: that number is what the scheduler's rules bound.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .guest import Guest
from .host import KERNEL_DIR, LabFailure
from .kernels import Kernel, build_module
from .waits import waits

EXPERIMENTS = KERNEL_DIR.parent / "experiments"
JOBS = ("flood-sequential.fio", "flood-random.fio")
DEVICE = "memory_backed=0 size=65536 submit_queues=1 hw_queue_depth=4 irqmode=2 completion_nsec=2000000"

# The attributes of each scheduler. Each runs with the depth of the queue before it was lengthened, so that writes have
# 8 tags of 256, and with all tags, where only the scheduler's order bounds the wait of the small write.
ATTRIBUTES = ("", "async_depth=256")
REFERENCE, JUDGED = "mq-deadline", "pardispatcher"
RUNS = tuple((scheduler, attributes) for attributes in ATTRIBUTES for scheduler in (REFERENCE, JUDGED))

# The first address of the small writes, in bytes; the flood ends below it.
SMALL_FROM = 1 << 30

# Further promises of pardispatcher: bounds on the small write's mean wait, and on the flood's loss of throughput.
MEAN_OVER_REFERENCE = 3.0
THROUGHPUT_LOSS = 0.03


def most_before(depth: int) -> int:
    """The requests that may be dispatched before a queued write, where writes may take that many tags.

    Every queued request holds a tag. Before the write go the rest of the current sweep, at most all other holders of
    tags when the write is inserted; then its own sweep, at most all other holders of tags when that begins.
    """
    return 2 * (depth - 1)


@dataclass(frozen=True)
class Figures:
    """The measurements of one scheduler with a flood and small writes."""

    served: int
    mean_ms: float
    max_ms: float
    # The longest wait for a tag.
    tag_ms: float
    # The most requests dispatched before a small write, and the bound on them.
    before: int
    allowed: int
    flood_mb_s: float


def figures(result: str, recording: bytes, depth: int) -> Figures:
    """Evaluates the output of fio and blktrace, for a queue of which writes may take that many tags."""
    jobs = {job["jobname"]: job["write"] for job in json.loads(result)["jobs"]}
    victim = jobs["victim"]
    seen = waits(recording, SMALL_FROM)
    if len(seen) != victim["total_ios"]:
        raise LabFailure(f"fio has made {victim['total_ios']} small writes, and the recording has {len(seen)}")
    return Figures(
        served=victim["total_ios"],
        mean_ms=victim["lat_ns"]["mean"] / 1e6,
        max_ms=victim["lat_ns"]["max"] / 1e6,
        tag_ms=max(wait.tag_ms for wait in seen),
        before=max(wait.overtaken for wait in seen),
        allowed=most_before(depth),
        flood_mb_s=jobs["flood"]["bw_bytes"] / 1e6,
    )


def of_run(directory: Path, name: str) -> Figures:
    """Reads the output of a run from the directory."""
    result, depth = ((directory / f"{name}.{kind}").read_text() for kind in ("fio", "depth"))
    return figures(result, (directory / f"{name}.blktrace.0").read_bytes(), int(depth))


def broken(job: str, judged: Figures, reference: Figures) -> list[str]:
    """The promises that do not hold."""
    found = []
    if judged.mean_ms > MEAN_OVER_REFERENCE * reference.mean_ms:
        found.append(f"{job}: the small write waits {judged.mean_ms:.1f} ms, mq-deadline's {reference.mean_ms:.1f}")
    if judged.before > judged.allowed:
        found.append(f"{job}: {judged.before} requests went before a small write, not {judged.allowed} at most")
    if judged.flood_mb_s < (1 - THROUGHPUT_LOSS) * reference.flood_mb_s:
        found.append(f"{job}: the flood gets {judged.flood_mb_s:.1f} MB/s, mq-deadline's {reference.flood_mb_s:.1f}")
    return found


def table(target: Kernel, measured: dict[tuple[str, tuple[str, str]], Figures]) -> str:
    """The measurements in Markdown."""
    lines = [
        f"Linux {target.release}",
        "",
        "| flood | scheduler | small writes | mean ms | max ms | max ms for a tag | went before | flood MB/s |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (job, run), row in measured.items():
        name = Path(job).stem.removeprefix("flood-")
        scheduler = " ".join(run).strip()
        lines.append(
            f"| {name} | {scheduler} | {row.served} | {row.mean_ms:.2f} | {row.max_ms:.1f} | {row.tag_ms:.1f} "
            f"| {row.before} | {row.flood_mb_s:.1f} |"
        )
    return "\n".join(lines)


def floods(target: Kernel) -> str:
    """Runs every flood under every scheduler in one boot, and returns the table; raises if a promise does not hold."""
    runs = {f"{number}": key for number, key in enumerate((job, run) for job in JOBS for run in RUNS)}
    lines = [f"{name}|{job}|{scheduler}|{attributes}\n" for name, (job, (scheduler, attributes)) in runs.items()]
    files = {"lab/runs": "".join(lines).encode()}
    for job in JOBS:
        files[f"lab/{job}"] = (EXPERIMENTS / job).read_bytes().replace(b"/dev/nvme0n1", b"/dev/flood")
    guest = Guest(
        target, build_module(target), "floods", "floods", DEVICE.split(), files,
        exact=True, memory_mib=2048, output_mib=128,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        guest.boot(Path(directory))
        measured = {key: of_run(Path(directory), name) for name, key in runs.items()}
    text = table(target, measured)
    found = []
    for job in JOBS:
        for attributes in ATTRIBUTES:
            judged, reference = (measured[job, (scheduler, attributes)] for scheduler in (JUDGED, REFERENCE))
            found += broken(f"{job} {attributes}".strip(), judged, reference)
    if found:
        raise LabFailure("\n".join([text, "", *found]))
    return text
