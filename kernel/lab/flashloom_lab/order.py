# SPDX-License-Identifier: GPL-2.0
"""The simulator's schedulers held against the real ones.

The real one is recorded on a device that takes one request at a time and is slow, so that there is always much to
choose from. The simulator's block layer then gets what the recording says was queued, when it was, and is asked for a
request whenever the real one issued one. What it answers is compared with what was issued.
"""

import struct
import subprocess
import tempfile
from pathlib import Path

from .host import KERNEL_DIR, LabError, LabFailure
from .kernels import Kernel
from .record import Recording, record

# The real schedulers that the simulator has, and its names for them.
SIMULATED = {"mq-deadline": "deadline", "pardispatcher": "pardispatcher"}

LOADS = {
    "random reads": "rw=randread",
    "random reads and writes": "rw=randrw\nrwmixread=50",
    "writes with some reads": "rw=randrw\nrwmixread=10\nbsrange=4k-64k",
    "two streams of sequential writes": "rw=write\nnumjobs=2\noffset_increment=5g",
}
JOB = """[load]
filename=${{DEVICE}}
direct=1
ioengine=libaio
iodepth=64
bs=4k
size=32g
norandommap
number_ios=4000
allrandrepeat=1
{load}
"""
# Requests may be as large as the simulator's default allows.
SLOW = (
    "size=65536", "submit_queues=1", "hw_queue_depth=1", "irqmode=2", "completion_nsec=2000000", "max_sectors=1024",
)  # fmt: skip

# The header of an event of blktrace, and the events and flags that matter here.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
QUEUE, ISSUE = 1, 7
WRITE = 1 << 17


def events(path: Path) -> list[tuple[int, str, str, int, int]]:
    """Time, event, direction, first sector and sectors of what was queued and issued, in order of time."""
    data = path.read_bytes()
    found = []
    offset = 0
    while offset < len(data):
        magic, sequence, time_ns, sector, size, action, _, _, _, _, attached = EVENT.unpack_from(data, offset)
        if magic != MAGIC:
            raise LabFailure(f"{path}: no event of blktrace at byte {offset}")
        event = {QUEUE: "Q", ISSUE: "D"}.get(action & 0xFFFF)
        if event and size:
            direction = "W" if action & WRITE else "R"
            found.append((time_ns, sequence, event, direction, sector, size // 512))
        offset += EVENT.size + attached
    return [(time_ns, *rest) for time_ns, _, *rest in sorted(found)]


def compare_order(target: Kernel, scheduler: str, load: str) -> str:
    """Records a load under a scheduler and returns what the comparison says of it."""
    with tempfile.TemporaryDirectory() as directory:
        job = Path(directory) / "job.fio"
        job.write_text(JOB.format(load=LOADS[load]))
        (path,) = record(target, Recording(job, scheduler, SLOW, exact=True), Path(directory) / "recording")
        lines = "".join(" ".join(map(str, event)) + "\n" for event in events(path))
    compare = ["--bin", "issue-order", SIMULATED[scheduler]]
    cargo = ["cargo", "run", "--quiet", "-p", "flashloom-kernel-agreement", *compare]
    try:
        result = subprocess.run(cargo, input=lines, capture_output=True, text=True, check=False, cwd=KERNEL_DIR)
    except FileNotFoundError:
        raise LabError("cargo is missing, which builds the simulator: see the project's README") from None
    if result.returncode:
        raise LabFailure(f"{load}: {result.stderr.strip()}")
    return f"| {load} | {result.stdout.strip()} |"


def order(target: Kernel, scheduler: str) -> str:
    """The comparison under every load, as a table in Markdown."""
    rows = [compare_order(target, scheduler, load) for load in LOADS]
    head = "| load | issued | same place | same order | share |\n| --- | ---: | ---: | ---: | ---: |"
    title = f"Linux {target.release}: {scheduler}, and the simulator's {SIMULATED[scheduler]}"
    return "\n".join([title, "", head, *rows])
