# SPDX-License-Identifier: GPL-2.0
"""blktests, the test suite of Linux's block layer, under pardispatcher and under mq-deadline.

The suite is in a directory that the user names, and is built there. Its virtual devices get the scheduler by a rule of
udev when they appear, zoned ones too, which pardispatcher refuses. A test that passes with mq-deadline and fails with
pardispatcher is run again, since the guests have no clock that a busy host leaves alone; it fails if it fails again.
"""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .guest import Guest
from .host import LabError, LabFailure, find, install, run
from .kernels import Kernel, build_module

REFERENCE, JUDGED = "mq-deadline", "pardispatcher"
GROUPS = ("block", "throtl", "loop", "nbd", "dm", "scsi", "zbd")
# What each test may take that can be bounded.
SECONDS = 5
AGAIN = 2
# throtl/006 makes a file system of 250 GB in a device whose data is in memory.
MEMORY_MIB = 12288

# Packages whose programs the suite uses, and a program by which each is known.
PACKAGES = {
    "bash": "bash", "dash": "dash", "coreutils": "install", "gawk": "gawk", "grep": "grep", "sed": "sed",
    "findutils": "find", "diffutils": "diff", "util-linux": "getopt", "mount": "losetup", "bsdextrautils": "column",
    "kmod": "modprobe",
    "udev": "udevadm", "procps": "pgrep", "dmsetup": "dmsetup", "nbd-client": "nbd-client", "nbd-server": "nbd-server",
    "parted": "parted", "bc": "bc", "e2fsprogs": "mkfs.ext4", "xfsprogs": "xfs_io", "sg3-utils": "sg_inq",
    "fio": "fio", "gzip": "zgrep", "blktrace": "blktrace", "hostname": "hostname", "libc-bin": "getconf",
}  # fmt: skip
MODULES = (
    "bfq", "brd", "configfs", "dm-crypt", "dm-delay", "dm-flakey", "dm-mod", "dm-multipath", "dm-snapshot", "dm-zero",
    "ext4", "kyber-iosched", "loop", "mq-deadline", "nbd", "null_blk", "scsi_debug", "sd_mod", "sg", "sr_mod",
    "virtio_blk", "virtio_pci", "xfs",
)  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """The results of a run: by test pass, fail or not run; and the schedulers that the devices got."""

    results: dict[str, str]
    # Devices with and without zones, and whether they got the scheduler.
    plain: tuple[int, int]
    zoned: tuple[int, int]


def build(suite: Path) -> None:
    """Builds the suite's programs in its directory."""
    if not (suite / "check").is_file() or not (suite / "tests" / "block").is_dir():
        raise LabError(f"{suite}: is not a directory of blktests (no file check, or no tests/block)")
    missing = [package for package, command in PACKAGES.items() if not find(command)]
    if not find("g++"):
        missing.append("g++")
    install(missing)
    run(["make", "-s", "-C", suite / "src"])


def programs() -> dict[str, Path]:
    """The programs of the packages and what udev needs, by their paths in the guest."""
    found = {}
    for package in PACKAGES:
        for line in run(["dpkg", "-L", package]).stdout.splitlines():
            path = Path(line)
            inside = re.sub(r"^/usr/(?=s?bin/|lib/)", "/", line)
            if re.match(r"/s?bin/[^/]+$|/lib/udev/|/lib/systemd/systemd-udevd$", inside) and path.is_file():
                found[inside.lstrip("/")] = path
    # The scheduler that Debian's rules choose is not wanted.
    found = {name: path for name, path in found.items() if not name.startswith("lib/udev/rules.d/6")}
    # The suite's scripts want these; busybox's shell would prefer its own applets.
    found |= {"bin/awk": Path(find("gawk")), "bin/sh": Path(find("dash"))}
    return found


def files(suite: Path) -> dict[str, bytes]:
    """The suite as it is in the guest, and the names that its servers and clients look up."""
    names = {
        "etc/hosts": b"127.0.0.1 localhost\n",
        "etc/passwd": b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
        "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
        "etc/nsswitch.conf": b"hosts: files\npasswd: files\ngroup: files\n",
    }
    return names | {
        f"blktests/{path.relative_to(suite)}": path.read_bytes()
        for path in sorted(suite.rglob("*"))
        if path.is_file() and not {".git", "results"} & set(path.relative_to(suite).parts)
    }


def results(directory: Path, scheduler: str) -> Suite:
    """Reads what a guest with a scheduler has taken out."""
    found = {}
    for path in sorted((directory / "blktests").rglob("*")):
        if path.is_file() and re.fullmatch(r"\d{3}", path.name):
            status = re.search(r"^status\t(.*)$", path.read_text(errors="replace"), re.M)
            if status:
                found["/".join(path.relative_to(directory / "blktests").parts[1:])] = status[1]
    counts = {True: [0, 0], False: [0, 0]}
    for line in (directory / "schedulers").read_text().splitlines():
        _, *zoned_and_schedulers = line.split()
        if not zoned_and_schedulers:
            continue  # A test took the device away before it could be looked at.
        zoned, *schedulers = zoned_and_schedulers
        counts[zoned != "none"][0] += 1
        # Linux 6.1 gives mq-deadline to zoned devices by itself.
        counts[zoned != "none"][1] += f"[{scheduler}]" in schedulers
    return Suite(found, tuple(counts[False]), tuple(counts[True]))


def suite_under(target: Kernel, suite: Path, scheduler: str, names: list[str], excluded: list[str]) -> Suite:
    """Runs tests under a scheduler, those of a group in a guest of their own."""
    found = Suite({}, (0, 0), (0, 0))
    for group in sorted({name.split("/")[0] for name in names}):
        of_group = [name for name in names if name.split("/")[0] == group]
        part = group_under(target, suite, scheduler, of_group, excluded)
        plain = tuple(map(sum, zip(found.plain, part.plain)))
        zoned = tuple(map(sum, zip(found.zoned, part.zoned)))
        found = Suite(found.results | part.results, plain, zoned)
    return found


def group_under(target: Kernel, suite: Path, scheduler: str, names: list[str], excluded: list[str]) -> Suite:
    """Runs tests under a scheduler in one guest."""
    content = files(suite)
    config = next(target.directory.glob("image/boot/config-*"))
    content[f"boot/{config.name}"] = config.read_bytes()
    guest = Guest(
        target, build_module(target), f"blktests-{scheduler}", "blktests",
        [scheduler, str(SECONDS), *(f"--exclude={name}" for name in excluded), *names], content,
        memory_mib=MEMORY_MIB, output_mib=512, timeout_s=3600, devices_fail=True, programs=programs(), modules=MODULES,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        guest.boot(Path(directory))
        kept = guest.directory() / "results"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(directory, kept)
        return results(Path(directory), scheduler)


def worse(judged: Suite, reference: Suite) -> list[str]:
    """The tests that pass with the reference and do not with the other."""
    passed = [name for name, status in reference.results.items() if status == "pass"]
    return [name for name in passed if judged.results.get(name) != "pass"]


def check_devices(judged: Suite) -> None:
    """Raises if the devices did not have the scheduler, or if zoned ones had it."""
    if judged.plain[1] < 10:
        raise LabFailure(f"{judged.plain[1]} devices of {judged.plain[0]} have had {JUDGED}: that is no test of it")
    if judged.zoned[1]:
        raise LabFailure(f"{judged.zoned[1]} zoned devices have had {JUDGED}, which refuses them")


def table(target: Kernel, by_scheduler: dict[str, Suite]) -> str:
    """The results in Markdown: tests by group and outcome, under each scheduler."""
    lines = [
        f"Linux {target.release}", "",
        "| group | scheduler | passed | failed | not run |", "| --- | --- | ---: | ---: | ---: |",
    ]  # fmt: skip
    for group in sorted({name.split("/")[0] for suite in by_scheduler.values() for name in suite.results}):
        for scheduler, suite in by_scheduler.items():
            own = [status for name, status in suite.results.items() if name.startswith(f"{group}/")]
            counts = [own.count("pass"), own.count("fail"), sum(status not in ("pass", "fail") for status in own)]
            lines.append(f"| {group} | {scheduler} | {' | '.join(map(str, counts))} |")
    lines.append("")
    for scheduler, suite in by_scheduler.items():
        (plain, with_it), (zoned, zoned_with) = suite.plain, suite.zoned
        lines.append(f"- {scheduler}: on {with_it} of {plain} devices, and on {zoned_with} of {zoned} zoned ones")
        failed = [name for name, status in suite.results.items() if status == "fail"]
        if failed:
            lines.append(f"- {scheduler} fails {', '.join(failed)}")
    return "\n".join(lines)


def blktests(target: Kernel, suite: Path, names: list[str], excluded: list[str]) -> str:
    """Runs the suite under both schedulers; raises if a test fails only with pardispatcher."""
    build(suite)
    by_scheduler = {
        scheduler: suite_under(target, suite, scheduler, names, excluded) for scheduler in (REFERENCE, JUDGED)
    }
    check_devices(by_scheduler[JUDGED])
    text = table(target, by_scheduler)
    failed = worse(by_scheduler[JUDGED], by_scheduler[REFERENCE])
    for _ in range(AGAIN):
        if not failed:
            break
        text += f"\n- run again: {', '.join(failed)}"
        again = suite_under(target, suite, JUDGED, failed, [])
        failed = worse(again, suite_of(by_scheduler[REFERENCE], failed))
    if failed:
        raise LabFailure(f"{text}\n\nwith {REFERENCE} these pass, and with {JUDGED} they fail: {', '.join(failed)}")
    return text


def suite_of(suite: Suite, names: list[str]) -> Suite:
    """The same results, of some tests."""
    return Suite({name: suite.results[name] for name in names}, suite.plain, suite.zoned)
