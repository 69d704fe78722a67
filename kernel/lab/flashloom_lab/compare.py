# SPDX-License-Identifier: GPL-2.0
"""Real schedulers beside the simulator's, on one simulated drive.

A guest has no drive whose inside can be read, and its clock says nothing of a real one. So the real scheduler is
recorded on a null_blk device of the drive's size and depth, and the requests that it issued go to the simulated drive
in that order, as many at a time as the device took. The simulator's scheduler gets what the recorded process asked for,
in a closed loop of the same depth, on the same drive. What is compared is the drive's account of the two orders:
requests a second, write amplification, copies, erases.

The real scheduler chose on null_blk, which takes the same time for every request, and the simulator's on the drive. So
a scheduler that reads completion times (kyber, bfq) saw two devices; the difference of its rows has that part too.
"""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .host import KERNEL_DIR, LAB, LabError, LabFailure, run
from .kernels import Kernel
from .order import COUNT, JOB, OUTSTANDING, events
from .record import Recording, record

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq", "pardispatcher")
EXPERIMENT = LAB / "compare.toml"
LOADS = {
    "random reads and writes": "rw=randrw\nrwmixread=50",
    "writes with some reads": "rw=randrw\nrwmixread=10\nbsrange=4k-64k",
}
# Requests that the device takes at a time, and its size: that of the drive of the experiment, in MiB.
DEPTH = 4
SIZE_MIB = 57_220
DEVICE = (
    f"size={SIZE_MIB}", "submit_queues=1", f"hw_queue_depth={DEPTH}", "irqmode=2", "completion_nsec=2000000",
    "max_sectors=1024",
)  # fmt: skip


@dataclass(frozen=True)
class Account:
    """What a simulated drive says of the requests that it got."""

    requests: int
    kib_mean: float
    per_second: float
    amplification: float
    copies: int
    erases: int


def account(result: dict) -> Account:
    """Reads a result of the simulator."""
    host, drive = result["host"], result["ftl"]
    requests = host["scheduler"]["dispatched"]
    return Account(
        requests=requests,
        kib_mean=(host["read_bytes"] + host["write_bytes"]) / requests / 1024,
        per_second=requests / host["duration_ns"] * 1e9,
        amplification=drive["waf"],
        copies=drive["page_copies"],
        erases=drive["block_erases"],
    )


def settings(recording: str, scheduler: str | None, linux: str) -> dict[str, str]:
    """The keys of a run: of the recorded order if no scheduler is named, else of that scheduler."""
    keys = {"workload.path": recording, "workload.replay": "closed", "host.queue_depth": str(DEPTH)}
    if scheduler is None:
        # What was issued, in that order, without a second merge.
        own = {"workload.event": "issue", "workload.queue_depth": str(DEPTH), "host.scheduler": "none"}
    else:
        own = {"workload.event": "queue", "workload.queue_depth": str(OUTSTANDING), "host.scheduler": scheduler}
        # As guest/record.sh sets them, where the drive's queue would give too few to sort.
        own |= {"host.nr_requests": "128", "host.async_limits": "nr_requests", "host.max_request": "512KiB"}
    return keys | own | {"host.linux": linux}


def program() -> Path:
    """The simulator with the kernel's own bfq, built if it is not."""
    target = KERNEL_DIR.parent / "target"
    try:
        run([KERNEL_DIR / "policies" / "fetch", target / "linux"])
        environment = {"FLASHLOOM_LINUX": str(target / "linux"), "CARGO_TARGET_DIR": str(target)}
        build = ["cargo", "build", "--quiet", "--locked", "--release", "--features", "program"]
        run(["env", *(f"{name}={value}" for name, value in environment.items()), *build], cwd=KERNEL_DIR / "policies")
    except FileNotFoundError as error:
        raise LabError(f"{error.filename} is missing, which builds the simulator: see the project's README") from None
    return target / "release" / "flashloom-linux"


def simulated_name(scheduler: str, linux: str) -> str:
    """The simulator's name of a scheduler; bfq is the kernel's own, compiled."""
    return f"linux-{linux.replace('.', '-')}-bfq" if scheduler == "bfq" else scheduler


def simulate(simulator: Path, experiment: Path, keys: dict[str, str]) -> Account:
    """Runs the simulator and reads its account."""
    command = [simulator, "run", experiment, "--json", "-"]
    for key, value in keys.items():
        command += ["--set", f"{key}={value}"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if result.returncode:
        raise LabFailure(f"{keys['host.scheduler']}: {result.stderr.strip()}")
    return account(json.loads(result.stdout))


def check(load: str, scheduler: str, recording: Path, real: Account) -> None:
    """Raises if the drive did not get what the kernel issued."""
    issued = len(events(recording, "D"))
    if issued != real.requests:
        raise LabFailure(f"{load}, {scheduler}: the kernel issued {issued} requests, the drive got {real.requests}")


def rows(target: Kernel, simulator: Path, experiment: Path, scheduler: str, load: str) -> list[str]:
    """Both rows of a scheduler under a load."""
    with tempfile.TemporaryDirectory() as directory:
        job = Path(directory) / "job.fio"
        job.write_text(JOB.format(load=LOADS[load], outstanding=OUTSTANDING, count=COUNT))
        recorded = record(target, Recording(job, scheduler, DEVICE, exact=True), Path(directory) / "recording")
        name = str(Path(directory) / "recording.blktrace")
        real = simulate(simulator, experiment, settings(name, None, target.series))
        check(load, scheduler, recorded[0], real)
        own = settings(name, simulated_name(scheduler, target.series), target.series)
        return [row(scheduler, "real", real), row(scheduler, "simulated", simulate(simulator, experiment, own))]


def row(scheduler: str, which: str, of: Account) -> str:
    """A row of the table."""
    return (
        f"| {scheduler} | {which} | {of.requests} | {of.kib_mean:.1f} | {of.per_second:.1f} | {of.amplification:.2f} "
        f"| {of.copies} | {of.erases} |"
    )


def compare(target: Kernel, schedulers: list[str], experiment: Path = EXPERIMENT) -> str:
    """The table in Markdown, one part per load."""
    simulator = program()
    lines = [f"Linux {target.release}, and the simulator's schedulers"]
    for load in LOADS:
        lines += [
            "", f"{load[0].upper()}{load[1:]}:", "",
            "| scheduler | which | requests | mean KiB | requests/s | write amplification | copies | erases |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for scheduler in schedulers:
            lines += rows(target, simulator, experiment, scheduler, load)
    return "\n".join(lines)
