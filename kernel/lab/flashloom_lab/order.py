# SPDX-License-Identifier: GPL-2.0
"""Comparison of the simulator's schedulers with the real ones.

The real scheduler is recorded on a slow device that takes one request at a time, so that many requests are queued. Open
loop: the simulator's block layer gets each request at its recorded time, and is asked for one whenever the real
scheduler issued one; the two orders are compared.

Closed loop: the recorded process keeps a number of requests outstanding. The simulator runs a process that does the
same, on a device with the same service time, without any times from the recording.
"""

import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from .host import KERNEL_DIR, LabError, LabFailure
from .kernels import Kernel
from .record import Recording, record

# The real schedulers that the simulator has built in, under the same names.
SIMULATED = ("none", "mq-deadline", "kyber", "pardispatcher")
# The share of requests in the same order that it promises, percent.
PROMISED = 99.0

LOADS = {
    "random reads": "rw=randread",
    "random reads and writes": "rw=randrw\nrwmixread=50",
    "writes with some reads": "rw=randrw\nrwmixread=10\nbsrange=4k-64k",
    "two streams of sequential writes": "rw=write\nnumjobs=2\noffset_increment=5g",
}
OUTSTANDING = 64
SERVICE_NS = 2_000_000
JOB = """[load]
filename=${{DEVICE}}
direct=1
ioengine=libaio
iodepth={outstanding}
bs=4k
size=32g
norandommap
number_ios={count}
allrandrepeat=1
{load}
"""
COUNT = 4000
# Requests may be as large as the simulator's default allows.
SLOW = ("size=65536", "hw_queue_depth=1", "irqmode=2", "max_sectors=1024")

# The header of a blktrace event, and the events and flags that are used.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
EVENTS = {1: "Q", 2: "M", 3: "M", 7: "D", 8: "C", 12: "I"}
WRITE, SYNC = 1 << 17, 1 << 19


def events(path: Path, kinds: str = "QDC") -> list[tuple]:
    """Events of these kinds: time, number, kind, direction, first sector, sectors, processor.

    The kinds are `Q` (queued), `M` (merged into another request), `I` (inserted into the scheduler), `D` (issued) and
    `C` (completed); the directions `R`, `W`, and `WS` for a write that a task waits for.
    """
    found = []
    for number, time_ns, sector, size, action, processor, _ in raw_events(path):
        kind = EVENTS.get(action & 0xFFFF)
        if kind and kind in kinds and size:
            direction = "R" if not action & WRITE else "WS" if action & SYNC else "W"
            found.append((time_ns, number, kind, direction, sector, size // 512, processor))
    return found


def raw_events(path: Path) -> Iterator[tuple]:
    """All events of a file: number, time, first sector, bytes, action, processor, attached bytes."""
    data = path.read_bytes()
    offset = 0
    while offset < len(data):
        magic, number, time_ns, sector, size, action, _, _, processor, _, attached = EVENT.unpack_from(data, offset)
        if magic != MAGIC:
            raise LabFailure(f"{path}: no event of blktrace at byte {offset}")
        offset += EVENT.size
        yield number, time_ns, sector, size, action, processor, data[offset : offset + attached]
        offset += attached


def lines(found: Iterable[tuple]) -> str:
    """Events in order of time, one per line, without their numbers."""
    return "".join(f"{time_ns} {' '.join(map(str, rest))}\n" for time_ns, _, *rest in sorted(found))


def recorded(target: Kernel, scheduler: str, load: str) -> str:
    """Records a load under a scheduler; returns the events, one per line."""
    with tempfile.TemporaryDirectory() as directory:
        job = Path(directory) / "job.fio"
        job.write_text(JOB.format(load=LOADS[load], outstanding=OUTSTANDING, count=COUNT))
        device = (*SLOW, "submit_queues=1", f"completion_nsec={SERVICE_NS}")
        (path,) = record(target, Recording(job, scheduler, device, exact=True), Path(directory) / "recording")
        return lines(events(path))


def compared(program: str, arguments: list[str], load: str, lines: str) -> str:
    """The output of a program of the agreement crate for a recording, as a row of a table."""
    cargo = ["cargo", "run", "--quiet", "-p", "flashloom-kernel-agreement", "--bin", program, *arguments]
    try:
        result = subprocess.run(cargo, input=lines, capture_output=True, text=True, check=False, cwd=KERNEL_DIR)
    except FileNotFoundError:
        raise LabError("cargo is missing, which builds the simulator: see the project's README") from None
    if result.returncode:
        raise LabFailure(f"{load}: {result.stderr.strip()}")
    return f"| {load} | {result.stdout.strip()} |"


def order(target: Kernel, scheduler: str) -> str:
    """Both comparisons under every load, as tables in Markdown; raises if the orders differ by more than promised."""
    replayed, closed = [], []
    for load, options in LOADS.items():
        found = recorded(target, scheduler, load)
        replayed.append(compared("issue-order", [scheduler, target.series], load, found))
        # One process only: with several, the recording does not tell which one submits next.
        if "numjobs" not in options:
            loop = [scheduler, target.series, str(OUTSTANDING), str(SERVICE_NS)]
            closed.append(compared("closed-loop", loop, load, found))
    text = "\n".join([
        f"Linux {target.release}: {scheduler}, and the simulator's",
        "",
        "| load | issued | same place | same order | share |\n| --- | ---: | ---: | ---: | ---: |",
        *replayed,
        "",
        "The loop closed in both (requests a second, mean latency in us):",
        "",
        "| load | real /s | real us | simulated /s | simulated us | same order |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *closed,
    ])  # fmt: skip
    return promised(text, replayed)


def promised(text: str, rows: list[str]) -> str:
    """The text; raises if a share of a row is lower than promised."""
    low = [row for row in rows if share(row) < PROMISED]
    if low:
        raise LabFailure(f"{text}\n\nless than {PROMISED:.0f} % in order: {'; '.join(low)}")
    return text


def share(row: str) -> float:
    """The lowest percentage of a row."""
    return min(float(cell.strip().removesuffix(" %")) for cell in row.split("|") if cell.strip().endswith("%"))
