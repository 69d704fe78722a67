# SPDX-License-Identifier: GPL-2.0
"""How long a small write waits above a flood of large ones, beside mq-deadline in the same boot.

The jobs are those of the simulator's experiment floods.toml, in which a process keeps 128 large writes outstanding, in
ascending or random order, and another waits for one small write at a time, in the same region and above all of them.
The guest counts instructions instead of time, and null_blk takes the same time for every request, so that a busy
machine changes no figure.

A small write first waits for a tag, which the block layer gives to whoever asks when one is free, in no order and so
without a bound; then for its turn, which is the scheduler's. blktrace tells the two apart, and only the second is
judged: in requests that went before, which is what the rules of the scheduler bound.
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

# What the attributes of a scheduler are set to. Both come with the depth that the queue had before it was made longer,
# so that writes have 8 tags of 256; with all of them, only the order of the scheduler keeps the small write from
# waiting.
ATTRIBUTES = ("", "async_depth=256")
REFERENCE, JUDGED = "mq-deadline", "pardispatcher"
RUNS = tuple((scheduler, attributes) for attributes in ATTRIBUTES for scheduler in (REFERENCE, JUDGED))

# Where the flood ends and the small writes are still to come, in bytes.
SMALL_FROM = 1 << 30

# What is promised of pardispatcher besides: bounds on the small write's mean wait, and on what the flood loses.
MEAN_OVER_REFERENCE = 3.0
THROUGHPUT_LOSS = 0.03


def most_before(depth: int) -> int:
    """How many requests the rules let go before a write that waits, where writes may take that many tags.

    All that waits holds a tag. Before the write goes what is left of the sweep under way, at most all others that hold
    tags when it comes; then at most all others that hold them when its own sweep begins.
    """
    return 2 * (depth - 1)


@dataclass(frozen=True)
class Figures:
    """What a scheduler did with a flood, and with the small writes beside it."""

    served: int
    mean_ms: float
    max_ms: float
    # The longest wait for a tag.
    tag_ms: float
    # The most requests that went before one, of those that the rules allow.
    before: int
    allowed: int
    flood_mb_s: float


def figures(result: str, recording: bytes, depth: int) -> Figures:
    """Reads what fio and blktrace say, of a queue of which writes may take that many tags."""
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
    """Reads what a run has left in the directory."""
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
    """What was measured, in Markdown."""
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
