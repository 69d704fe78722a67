# SPDX-License-Identifier: GPL-2.0
"""A guest: boots it, watches it, keeps its console and checks it for errors."""

import re
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .host import LabFailure, alone, cache, find, run
from .initramfs import initramfs
from .kernels import Kernel

MIB = 1024 * 1024

# Patterns that fail a guest, whatever its script returned: the kernel's reports about itself, checkers that turned
# themselves off, and errors of devices except those that a test makes fail (the null_blk device bad, scsi_debug disks).
DEVICE_ERRORS = r"I/O error(,| on) dev (?!bad\b|sd)"
KERNEL_REPORTS = (
    r"WARNING: |BUG: |Call Trace:|Oops: |Kernel panic|KASAN: |UBSAN: |KCSAN: |general protection fault"
    r"|INFO: (task .* blocked|possible|rcu|suspicious)|possible recursive locking|inconsistent lock"
    r"|unreferenced object|suspected memory leak"
    r"|Kernel memory leak detector disabled|Memory pool empty|lockdep is turned off|turning off the locking correctness"
    r"|EXT4-fs (error|warning)|BTRFS (error|critical)|XFS \(\w+\): .*([Cc]orruption|error)"
    r"|Out of memory: Killed process"
)
BEGIN = "flashloom-lab: begin"
# A breakpoint trap that nobody set, outside the module's code.
TRAPPED = re.compile(r"^.*WARNING: .*exc_debug_kernel\+(?:(?!RIP: .*\[pardispatcher\]).*\n)*?.*</#DB>", re.M)
LATE = "flashloom-lab: did not end within"
END = re.compile(r"^flashloom-lab: end with status (\d+)", re.M)


@dataclass
class Guest:
    """What to boot, and how."""

    kernel: Kernel
    module: Path
    name: str
    script: str
    arguments: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    # Counts instructions instead of time, on one processor: the same boot gives the same figures.
    exact: bool = False
    # So many processors that take turns; 0: two at the same time. (Linux 6.1 starts no second one that counts
    # instructions.)
    in_turn: int = 0
    memory_mib: int = 1024
    disk_mib: int = 256
    output_mib: int = 64
    # I/O operations per second of a slow NVMe drive that takes one request at a time; 0: no such drive.
    nvme_mib: int = 0
    timeout_s: int = 600
    # Whether errors of devices are part of the script's tests.
    devices_fail: bool = False
    # Programs beside the lab's own, by their paths in the guest, and modules instead of the lab's own.
    programs: dict[str, Path] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    # Further devices, as options of QEMU.
    devices: tuple[str, ...] = ()
    # Further text that the console must contain.
    announced: tuple[str, ...] = ()

    def directory(self) -> Path:
        """The directory of the guest's disks and console."""
        return cache() / "guests" / f"{self.kernel.release}-{self.name}"

    def command(self, root: Path) -> list[str]:
        """The command that boots the guest. Its first disk is for the script's use, its second one for output."""
        directory = self.directory()
        # The kernel's check of the timer fails on a busy host.
        words = ["console=ttyS0", "panic=-1", "loglevel=7", "mitigations=off", "no_timer_check"]
        words.append(f"lab.script={self.script}")
        if self.exact:
            words += ["nokaslr", "norandmaps"]
            pace = ["-accel", "tcg", "-icount", "shift=2,sleep=off", "-smp", "1", "-rtc", "base=2026-01-01,clock=vm"]
        elif self.in_turn:
            pace = ["-accel", "tcg,thread=single", "-smp", str(self.in_turn)]
        else:
            pace = ["-accel", "tcg,thread=multi", "-smp", "2"]
        disks = []
        for disk in ("scratch", "output"):
            disks += ["-drive", f"file={directory / disk},if=virtio,format=raw,cache=unsafe,discard=unmap"]
        if self.nvme_mib:
            words.append("nvme.io_queue_depth=2")
            slow = "format=raw,cache=unsafe,discard=unmap,throttling.iops-total=400"
            disks += ["-drive", f"file={directory / 'nvme'},if=none,id=nvme,{slow}"]
            disks += ["-device", "nvme,drive=nvme,serial=lab,max_ioqpairs=1"]
        return [
            find("qemu-system-x86_64"), *pace, "-cpu", "max", "-M", "q35", "-m", str(self.memory_mib),
            "-nodefaults", "-no-reboot", "-nographic", "-serial", "stdio", "-monitor", "none",
            "-kernel", str(self.kernel.image), "-initrd", str(root), "-append", " ".join(words), *disks, *self.devices,
        ]  # fmt: skip

    def boot(self, out: Path | None = None) -> str:
        """Boots, waits for the end, and returns the console; raises if anything in it is wrong.

        Unpacks the script's output from the second disk into the directory `out`.
        """
        directory = self.directory()
        directory.mkdir(parents=True, exist_ok=True)
        with alone(directory.name):
            console = self.boot_alone(directory)
            if out:
                run(["tar", "-C", out, "-xf", directory / "output"])
            return console

    def boot_alone(self, directory: Path) -> str:
        """Boots, with the directory to itself.

        Debian's kernel patches its own code, and QEMU's threads sometimes show one processor a patch that is half done.
        The kernel then dies before its first process, or later hits a breakpoint that nobody set. Such a guest is
        booted once more.
        """
        text = self.console_of_a_boot(directory)
        if BEGIN not in text or TRAPPED.search(text):
            why = "is trapped without a breakpoint" if BEGIN in text else "stopped before its first process"
            print(f"lab: Linux {self.kernel.release} {why}, and is booted again", flush=True)
            text = self.console_of_a_boot(directory)
        return self.judge(text)

    def console_of_a_boot(self, directory: Path) -> str:
        """Boots once and returns the console, with a line added by the lab if the guest does not end in time."""
        for disk, size in (("scratch", self.disk_mib), ("output", self.output_mib), ("nvme", self.nvme_mib)):
            with open(directory / disk, "wb") as file:
                file.truncate(size * MIB)
        arguments = "\n".join(self.arguments).encode()
        files = {**self.files, "lab/arguments": arguments}
        root = initramfs(self.kernel, self.module, directory, files, self.programs, self.modules)
        console = directory / "console"
        with open(console, "wb") as output:
            machine = subprocess.Popen(
                self.command(root), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
            try:
                machine.wait(self.timeout_s)
                late = ""
            except subprocess.TimeoutExpired:
                late = f"\n{LATE} {self.timeout_s} s\n"
            finally:
                machine.kill()
                machine.wait()
        return console.read_text(errors="replace").replace("\r", "") + late

    def failure(self, why: str) -> LabFailure:
        """An error that says where the console is."""
        return LabFailure(f"Linux {self.kernel.release}, {self.name}: {why}\n  console: {self.directory() / 'console'}")

    def judge(self, text: str) -> str:
        """Returns the console if the script ended well and the kernel reported nothing."""
        report = re.search(KERNEL_REPORTS if self.devices_fail else f"{KERNEL_REPORTS}|{DEVICE_ERRORS}", text)
        if report:
            line = text.count("\n", 0, report.start())
            context = "\n".join("  | " + line for line in text.split("\n")[line : line + 12])
            raise self.failure(f"the kernel reports, in line {line + 1} of the console:\n{context}")
        late = re.search(f"^{LATE} .*", text, re.M)
        if late:
            raise self.failure(late[0].removeprefix("flashloom-lab: "))
        end = END.search(text)
        if not end or end[1] != "0":
            last = "\n".join("  | " + line for line in text.rstrip().split("\n")[-15:])
            status = f"the script ended with status {end[1]}" if end else "the guest stopped before the script's end"
            raise self.failure(f"{status}:\n{last}")
        for words in self.announced:
            if words not in text:
                raise self.failure(f"the kernel does not say: {words}")
        return text


def boot_all(guests: list[Guest]) -> list[str | LabFailure]:
    """Boots guests in parallel; returns each one's console or failure, and raises if one could not be booted."""
    with ThreadPoolExecutor(len(guests)) as threads:
        boots = [threads.submit(guest.boot) for guest in guests]
    return [failure_or_console(boot) for boot in boots]


def failure_or_console(boot: Future) -> str | LabFailure:
    """The result of a boot that has ended."""
    try:
        return boot.result()
    except LabFailure as failure:
        return failure
