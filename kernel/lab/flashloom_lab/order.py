# SPDX-License-Identifier: GPL-2.0
"""The simulator's schedulers held against the real ones.

The real one is recorded on a device that takes one request at a time and is slow, so that there is always much to
choose from. The simulator's block layer then gets what the recording says was queued, when it was, and is asked for a
request whenever the real one issued one. What it answers is compared with what was issued.

The recorded process keeps a number of requests outstanding. So that loop is closed in the simulator as well: a process
that does the same, before a device that takes the same time for a request, without any time from the recording.
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

# The header of an event of blktrace, and the events and flags that matter here.
EVENT = struct.Struct("<IIQQIIIIIHH")
MAGIC = 0x65617407
QUEUE, ISSUE, COMPLETE = 1, 7, 8
WRITE = 1 << 17


def events(path: Path) -> list[tuple[int, str, str, int, int]]:
    """Time, event, direction, first sector and sectors of what was queued, issued and completed, in time's order."""
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
    """Records a load under a scheduler: the events, a line each."""
    with tempfile.TemporaryDirectory() as directory:
        job = Path(directory) / "job.fio"
        job.write_text(JOB.format(load=LOADS[load], outstanding=OUTSTANDING))
        (path,) = record(target, Recording(job, scheduler, SLOW, exact=True), Path(directory) / "recording")
        return "".join(" ".join(map(str, event)) + "\n" for event in events(path))


def compared(program: str, arguments: list[str], load: str, lines: str) -> str:
    """What a program of the crate of comparisons says of a recording, as a row of a table."""
    cargo = ["cargo", "run", "--quiet", "-p", "flashloom-kernel-agreement", "--bin", program, *arguments]
    try:
        result = subprocess.run(cargo, input=lines, capture_output=True, text=True, check=False, cwd=KERNEL_DIR)
    except FileNotFoundError:
        raise LabError("cargo is missing, which builds the simulator: see the project's README") from None
    if result.returncode:
        raise LabFailure(f"{load}: {result.stderr.strip()}")
    return f"| {load} | {result.stdout.strip()} |"


def order(target: Kernel, scheduler: str) -> str:
    """Both comparisons under every load, as tables in Markdown."""
    simulated = SIMULATED[scheduler]
    replayed, closed = [], []
    for load, options in LOADS.items():
        lines = recorded(target, scheduler, load)
        replayed.append(compared("issue-order", [simulated], load, lines))
        # The loop of one process: of several, the recording does not say whose turn it would be.
        if "numjobs" not in options:
            loop = [simulated, str(OUTSTANDING), str(SERVICE_NS)]
            closed.append(compared("closed-loop", loop, load, lines))
    return "\n".join([
        f"Linux {target.release}: {scheduler}, and the simulator's {simulated}",
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
