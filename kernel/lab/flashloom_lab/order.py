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
number_ios=4000
allrandrepeat=1
{load}
"""
# Requests may be as large as the simulator's default allows.
SLOW = (
    "size=65536", "submit_queues=1", "hw_queue_depth=1", "irqmode=2", f"completion_nsec={SERVICE_NS}",
    "max_sectors=1024",
)  # fmt: skip

# The header of a blktrace event, and the events and flags that are used.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
QUEUE, ISSUE, COMPLETE = 1, 7, 8
WRITE = 1 << 17


def events(path: Path) -> list[tuple[int, str, str, int, int]]:
    """Queue, issue and completion events in order of time: time, event, direction, first sector, sectors."""
    data = path.read_bytes()
    found = []
    offset = 0
    while offset < len(data):
        magic, sequence, time_ns, sector, size, action, _, _, _, _, attached = EVENT.unpack_from(data, offset)
        if magic != MAGIC:
            raise LabFailure(f"{path}: no event of blktrace at byte {offset}")
        event = {QUEUE: "Q", ISSUE: "D", COMPLETE: "C"}.get(action & 0xFFFF)
        if event and size:
            direction = "W" if action & WRITE else "R"
            found.append((time_ns, sequence, event, direction, sector, size // 512))
        offset += EVENT.size + attached
    return [(time_ns, *rest) for time_ns, _, *rest in sorted(found)]


def recorded(target: Kernel, scheduler: str, load: str) -> str:
    """Records a load under a scheduler; returns the events, one per line."""
    with tempfile.TemporaryDirectory() as directory:
        job = Path(directory) / "job.fio"
        job.write_text(JOB.format(load=LOADS[load], outstanding=OUTSTANDING))
        (path,) = record(target, Recording(job, scheduler, SLOW, exact=True), Path(directory) / "recording")
        return "".join(" ".join(map(str, event)) + "\n" for event in events(path))


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
        lines = recorded(target, scheduler, load)
        replayed.append(compared("issue-order", [scheduler, target.series], load, lines))
        # One process only: with several, the recording does not tell which one submits next.
        if "numjobs" not in options:
            loop = [scheduler, target.series, str(OUTSTANDING), str(SERVICE_NS)]
            closed.append(compared("closed-loop", loop, load, lines))
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
    low = [row for row in replayed if share(row) < PROMISED]
    if low:
        raise LabFailure(f"{text}\n\nless than {PROMISED:.0f} % in order: {'; '.join(low)}")
    return text


def share(row: str) -> float:
    """The percentage at the end of a row."""
    return float(row.rsplit("|", 2)[1].removesuffix("% ").strip())
