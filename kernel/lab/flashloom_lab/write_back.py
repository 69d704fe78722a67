# SPDX-License-Identifier: GPL-2.0
"""Write-back throttling of the simulator, held against the kernel's.

fio writes to the page cache of a null_blk device with a volatile cache and a constant completion time, and the flusher
writes it back; the writes that the device has at a time are in the recording. The simulator gets the same requests at
the times at which the kernel's block layer got them, and must let in at least as many. The flusher has waited for its
tokens at these times, so that a limit that is too strict is found, and one that is too lenient only where the kernel's
throttling is off: it then has more than the simulator lets in.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from .host import LabFailure
from .kernels import Kernel
from .order import compared, events, lines
from .record import Recording, record

DEPTH = 64
SIZE_MIB = 512
# The cache makes the device report a volatile one; the memory is what null_blk wants for it.
DEVICE = (
    f"size={SIZE_MIB}", "submit_queues=1", f"hw_queue_depth={DEPTH}", "irqmode=2", "memory_backed=1", "cache_size=8",
)  # fmt: skip
SECONDS = 6

# A new device counts for a second as one whose tasks are held up.
OLDER = "sleep 2\necho 1048576 >/proc/sys/vm/dirty_background_bytes\n"
# Much is left to write back, and nobody is held up for it, or tasks are.
LEFT = OLDER + "echo 1073741824 >/proc/sys/vm/dirty_bytes\n"
HELD_UP = OLDER + "echo 4194304 >/proc/sys/vm/dirty_bytes\n"
WRITES = (
    "/usr/bin/fio --filename=$DEVICE --bs=4k --ioengine=psync --randrepeat=1 --norandommap --time_based "
    f"--runtime={SECONDS + 1} --name=writes --rw=randwrite --size=256m --rate=40m"
)
READS = " --name=reads --rw=randread --direct=1 --offset=256m --size=128m --rate=400k"
OFF = "echo 0 >/sys/block/${DEVICE#/dev/}/queue/wbt_lat_usec\n"


@dataclass(frozen=True)
class Load:
    """A load, and the device's time for a request."""

    script: str
    service_ns: int
    # What its writes are to the simulator (`host.writeback`).
    writeback: str
    throttled: bool = True


LOADS = {
    "writes alone": Load(LEFT + WRITES, 1_000_000, "background"),
    "writes, tasks held up": Load(HELD_UP + WRITES, 1_000_000, "held-up"),
    "beside reads below 2 ms": Load(LEFT + WRITES + READS, 1_000_000, "background"),
    "beside reads of 3 ms": Load(LEFT + WRITES + READS, 3_000_000, "background"),
    "beside reads of 3 ms, throttling off": Load(OFF + LEFT + WRITES + READS, 3_000_000, "background", False),
}


def write_back(target: Kernel) -> str:
    """The comparison under every load, as a table in Markdown; raises if a load has not what it promises."""
    rows = {name: row(target, name, load) for name, load in LOADS.items()}
    text = "\n".join([
        f"Linux {target.release}: writes at the device at a time",
        "",
        "| load | real: most | real: mean | simulated: most | simulated: mean |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows.values(),
    ])  # fmt: skip
    wrong = [name for name, load in LOADS.items() if is_let_in(rows[name]) != load.throttled]
    if wrong:
        raise LabFailure(f"{text}\n\nnot as promised: {'; '.join(wrong)}")
    return text


def row(target: Kernel, name: str, load: Load) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / "load.sh"
        script.write_text(load.script + "\n")
        device = (*DEVICE, f"completion_nsec={load.service_ns}")
        (path,) = record(target, Recording(script, "none", device, exact=True), Path(directory) / "recording")
        arguments = [target.series, str(DEPTH), str(load.service_ns), load.writeback]
        return compared("write-back", arguments, name, lines(while_it_runs(events(path))))


def while_it_runs(found: list[tuple]) -> list[tuple]:
    """The events before fio ends, which closes the device: that writes back all that is left, by another limit."""
    if not found:
        raise LabFailure("nothing was recorded")
    begins_ns = min(time_ns for time_ns, *_ in found)
    return [event for event in found if event[0] - begins_ns < SECONDS * 1_000_000_000]


def is_let_in(line: str) -> bool:
    """Whether the device never had more writes than the simulator let in."""
    _, _, real, _, simulated, _, _ = line.split("|")
    return int(real) <= int(simulated)
