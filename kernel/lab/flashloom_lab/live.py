# SPDX-License-Identifier: GPL-2.0
"""A guest whose disks are simulated drives: file systems and a database on every mapping, below real schedulers.

`flashloom serve` serves a drive for each run, and keeps a log of its requests. The guest makes a file system on it,
lets fio and SQLite use it, compares all data after it was mounted again, trims it, and checks it; blktrace records what
the guest's driver was given. Phases are messages in that recording. In each of them the guest's requests and the
drive's have to be of the same sectors, its FUA writes have to be FUA writes of the drive, and its flushes to reach it.
"""

import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from .guest import Guest
from .host import LabFailure, find, install, require
from .initramfs import MODULES
from .kernels import Kernel, build_module
from .order import raw_events
from .served import Account, Request, Service, free_port, program, require_server

FILE_SYSTEMS = ("ext4", "xfs", "btrfs")
# A map in memory, two that are cached by page and by run of pages, and two log-block FTLs.
MAPPINGS = ("page", "dftl", "sftl", "fast", "kast")
# Schedulers of the guest.
BELOW = ("none", "mq-deadline", "pardispatcher")
# How a drive is attached: by QEMU as a virtio or an NVMe disk, or by the guest's own client over QEMU's network.
PATHS = ("virtio", "nbd", "nvme")

# Programs of the guest beside the lab's own, and their packages.
PROGRAMS = {
    "mkfs.xfs": "xfsprogs", "xfs_repair": "xfsprogs", "mkfs.btrfs": "btrfs-progs", "btrfs": "btrfs-progs",
    "sqlite3": "sqlite3", "nbd-client": "nbd-client",
}  # fmt: skip

TRANSACTIONS = 150
# Drives of a guest, which have their data in memory, and the first of their places on its bus.
PER_GUEST = 9
FIRST_SLOT = 0x10
# What blktrace's events say: the kind of event, and flags above it.
ISSUED, MESSAGE, OF_GROUP = 7, 2, 1 << 8
WRITES, FLUSHES, NOTIFIES, DISCARDS, FUA = (1 << 16 + bit for bit in (1, 2, 10, 13, 15))
OWN_FLUSHES = 2
# What is recorded before the first phase.
BEGIN = "begin"
PHASES = ("durable", "files", "delete", "after-delete", "wal", "after-wal", "again", "trim", "after-trim")


@dataclass(frozen=True)
class Run:
    """A file system on a drive, below a scheduler."""

    file_system: str
    mapping: str
    scheduler: str
    path: str = "virtio"

    @property
    def name(self) -> str:
        """The run's name in the guest."""
        return "-".join((self.file_system, self.mapping, self.scheduler, self.path))


# A mapping in memory and a log-block one, flushes by QEMU and FUA writes by the guest.
SHORT = (Run("ext4", "page", "none"), Run("ext4", "fast", "pardispatcher", "nbd"))


@dataclass(frozen=True)
class Row:
    """What a run has measured: the drive's account, and flushes and transactions a second of its clock."""

    amplification: float
    erases: int
    flushes: dict[str, float]
    transactions: dict[str, float]


def transactions() -> tuple[str, str]:
    """Transactions that fill and change a table, and the rows that it has in the end, as SQLite prints them."""
    draw = random.Random(1)
    text = []
    for number in range(1, TRANSACTIONS + 1):
        content = f"{draw.getrandbits(1600):x}"
        changed = f"UPDATE rows SET content = content || '+' WHERE number = {draw.randint(1, number)};"
        text.append(f"BEGIN; INSERT INTO rows VALUES ({number}, '{content}'); {changed} COMMIT;\n")
    with sqlite3.connect(":memory:") as database:
        database.executescript("CREATE TABLE rows (number INTEGER PRIMARY KEY, content TEXT);" + "".join(text))
        rows = database.execute("SELECT number, content FROM rows ORDER BY number").fetchall()
    return "".join(text), "".join(f"{number}|{content}\n" for number, content in rows)


def phases_of(recordings: list[Path]) -> dict[str, list[Request]]:
    """What the guest's driver was given, by phase, in order of time; `recordings` are of one device."""
    found = sorted((event for path in recordings for event in raw_events(path)), key=lambda event: (event[1], event[0]))
    phases: dict[str, list[Request]] = {}
    for _, _, sector, size, action, _, attached in found:
        if action & 0xFF == MESSAGE and action & NOTIFIES:
            # Behind the number of the writer's control group.
            phase = phases.setdefault(attached[8 if action & OF_GROUP else 0 :].decode().strip(), [])
        elif phases and action & 0xFF == ISSUED and not action & NOTIFIES:
            op = "D" if action & DISCARDS else "W" if action & WRITES else "R" if size else "F"
            phase.append(Request(op, sector, size // 512, bool(action & FUA)))
    phases.pop(BEGIN, None)
    return phases


def divided(seen: dict[str, list[Request]], served: list[Request]) -> dict[str, list[Request]]:
    """The drive's requests by phase of the guest.

    Each phase began when all before it had ended, so that numbers of requests tell where. Flushes at the end of a phase
    are as many as the guest has; more of them belong to the next phase, which may begin with flushes. The first phase
    begins with a write, and what was read before is QEMU's, or the guest's search for partitions.
    """
    phases = {}
    at = next((at for at, request in enumerate(served) if request.op != "R"), len(served))
    for name, requests in seen.items():
        begin, flushes = at, sum(request.op == "F" for request in requests)
        others = len(requests) - flushes
        while at < len(served) and (others > 0 or (served[at].op == "F" and flushes > 0)):
            others -= served[at].op != "F"
            flushes -= served[at].op == "F"
            at += 1
        phases[name] = served[begin:at]
    phases[PHASES[-1]] += served[at:]
    return phases


def coverage(requests: list[Request]) -> Counter:
    """By op and sector, how many requests more begin to cover it than cease to: equal for requests that cover the
    same sectors as often, however they are divided."""
    edges: Counter = Counter()
    for request in requests:
        if request.sectors:
            edges[request.op, request.sector] += 1
            edges[request.op, request.sector + request.sectors] -= 1
    return Counter({edge: count for edge, count in edges.items() if count})


def disagreement(name: str, seen: list[Request], served: list[Request]) -> list[str]:
    """What guest and drive say differently of a phase."""
    found = []
    ours, drives = coverage(seen), coverage(served)
    if ours != drives:
        op, sector = min(edge for edge in ours | drives if ours[edge] != drives[edge])
        found.append(f"{name}: from sector {sector} on guest and drive have different requests of kind {op}")
    ours, drives = (sum(request.fua for request in requests) for requests in (seen, served))
    if ours != drives:
        found.append(f"{name}: the guest has issued {ours} FUA writes, and the drive has seen {drives}")
    ours, drives = (sum(request.op == "F" for request in requests) for requests in (seen, served))
    # QEMU makes one of several flushes at once, and has its own when it ends.
    if drives > ours + (OWN_FLUSHES if name == PHASES[-1] else 0) or (ours and not drives):
        found.append(f"{name}: the guest has issued {ours} flushes, and the drive has seen {drives}")
    return found


def rate(count: int, requests: list[Request]) -> float:
    """So many in the time of the drive's clock that requests took together, per second."""
    return count * 1e9 / (max(request.end_ns for request in requests) - requests[0].arrival_ns)


def judge(run: Run, seen: dict[str, list[Request]], account: Account) -> Row:
    """The row of a run whose script has succeeded; raises if guest and drive disagree."""
    served = account.requests[:-1]  # The last is the drive's own flush at the end.
    if tuple(seen) != PHASES:
        raise LabFailure(f"{run.name}: the recording has the phases {', '.join(seen)}")
    phases = divided(seen, served)
    found = [problem for name in PHASES for problem in disagreement(name, seen[name], phases[name])]
    durable = phases["durable"]
    kept = sum(request.fua or after.op == "F" for request, after in zip(durable, durable[1:]) if request.op == "W")
    if kept < 32:
        found.append(f"durable: {kept} writes of 32 are FUA or have a flush behind them")
    host, ftl = account.result["host"], account.result["ftl"]
    trims = sum(request.op == "D" for request in phases["trim"])
    if not trims or host["discards"] != trims or not ftl["trimmed_pages"]:
        counted = f"{host['discards']} and {ftl['trimmed_pages']} pages"
        found.append(f"trim: {trims} trims were served, and the drive counts {counted}")
    logged = sum(request.fua for request in served)
    if host["fua_writes"] != logged:
        found.append(f"the drive counts {host['fua_writes']} FUA writes, and its log has {logged}")
    if found:
        raise LabFailure("\n".join(f"{run.name}: {problem}" for problem in found))
    flushes, committed = {}, {}
    for mode in ("delete", "wal"):
        flushes[mode] = rate(sum(request.op == "F" or request.fua for request in phases[mode]), phases[mode])
        committed[mode] = rate(TRANSACTIONS, phases[mode])
    return Row(ftl["waf"], ftl["block_erases"], flushes, committed)


def table(target: Kernel, rows: dict[Run, Row]) -> str:
    """The measurements in Markdown."""
    lines = [
        f"Linux {target.release}", "",
        "| file system | mapping | scheduler | write amplification | erases | flushes/s, delete | flushes/s, WAL "
        "| transactions/s, delete | transactions/s, WAL |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for run, row in rows.items():
        figures = [*row.flushes.values(), *row.transactions.values()]
        lines.append(
            f"| {run.file_system} | {run.mapping} | {run.scheduler} | {row.amplification:.2f} | {row.erases} "
            f"| {' | '.join(f'{figure:.0f}' for figure in figures)} |"
        )
    return "\n".join(lines)


@dataclass
class Served(Guest):
    """A guest with a served drive for each run; each boot gets new ones."""

    flashloom: Path = Path()
    runs: tuple[Run, ...] = ()
    # What the drives of the last boot say.
    accounts: list[Account] = field(default_factory=list)

    def console_of_a_boot(self, directory: Path) -> str:
        """Boots once, with the drives served meanwhile."""
        shutil.rmtree(directory / "drives", ignore_errors=True)
        with ExitStack() as stack:
            services = []
            for run in self.runs:
                port = free_port() if run.path == "nbd" else None
                service = Service(self.flashloom, run.mapping, directory / "drives" / run.name, port)
                stack.callback(service.stop)
                services.append(service)
            for service in services:
                service.wait_until_ready()
            self.attach(services)
            text = super().console_of_a_boot(directory)
            self.accounts = [service.end() for service in services]
            return text

    def attach(self, services: list[Service]) -> None:
        """Gives the guest the drives as devices, and says which is whose."""
        lines, devices = [], []
        if any(run.path == "nbd" for run in self.runs):
            devices += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"]
        for number, (run, service) in enumerate(zip(self.runs, services)):
            name = f"live{number}"
            if run.path != "nbd":
                source = f"driver=nbd,server.type=unix,server.path={service.socket},discard=unmap"
                devices += ["-blockdev", f"node-name={name},{source}"]
                # Requests of the guest are those of the drive.
                own = {
                    "virtio": f"virtio-blk-pci,serial={name},request-merging=off,write-zeroes=off",
                    "nvme": f"nvme,serial={name},max_ioqpairs=2",
                }
                # Behind the lab's own disks, whose names the scripts know.
                devices += ["-device", f"{own[run.path]},drive={name},addr={FIRST_SLOT + number:#x}"]
            lines.append(f"{run.name} {run.path} {service.port or name} {run.file_system} {run.scheduler}\n")
        self.devices = tuple(devices)
        self.files["lab/runs"] = "".join(lines).encode()


def boot(target: Kernel, flashloom: Path, runs: tuple[Run, ...]) -> dict[Run, Row]:
    """Runs in one guest, one after the other."""
    told, rows = transactions()
    guest = Served(
        target, build_module(target), "live", "live",
        files={"lab/transactions": told.encode(), "lab/rows": rows.encode()},
        memory_mib=1536, output_mib=256, timeout_s=120 + 120 * len(runs),
        programs={find(name).lstrip("/"): Path(find(name)) for name in PROGRAMS},
        modules=(*MODULES, "btrfs", "nbd", "virtio_net", "xfs"), flashloom=flashloom, runs=runs,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        console = guest.boot(Path(directory))
        found = {}
        for run, account in zip(runs, guest.accounts):
            if f"ok: {run.name} (" not in console:
                raise guest.failure(f"{run.name} has not run")
            found[run] = judge(run, phases_of(sorted(Path(directory).glob(f"{run.name}.blktrace.*"))), account)
    return found


def live(target: Kernel, runs: list[Run]) -> str:
    """The table of runs, a few of them in a guest; raises if a check fails."""
    rows = {}
    flashloom = program()
    for number in range(0, len(runs), PER_GUEST):
        some = tuple(runs[number : number + PER_GUEST])
        rows |= boot(target, flashloom, some)
        print(f"lab: Linux {target.release}: {', '.join(run.name for run in some)}: as their drives say", flush=True)
    return table(target, rows)


def require_live() -> None:
    """Installs what the lab, the guest and the server need, if that is allowed."""
    require()
    install(sorted({package for command, package in PROGRAMS.items() if not find(command)}))
    require_server()
