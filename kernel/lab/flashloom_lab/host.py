# SPDX-License-Identifier: GPL-2.0
"""This machine: what the lab needs of it, what it can install, and where it keeps things."""

import contextlib
import ctypes.util
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
KERNEL_DIR = LAB.parent

# A command that the lab runs, or that goes into the guest, and the Debian package that has it.
COMMANDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "fio": "fio",
    "blktrace": "blktrace",
    "mkfs.ext4": "e2fsprogs",
    "addpart": "util-linux",
    "depmod": "kmod",
    "xz": "xz-utils",
    "gcc-12": "gcc-12",
    "make": "make",
}


class LabError(Exception):
    """Something that the user can mend; nothing was run."""


class LabUnsupported(LabError):
    """This machine cannot run the lab, whoever asks."""


class LabFailure(Exception):
    """A check in a guest failed."""


def cache() -> Path:
    """The directory for packages, kernels and builds; it can be deleted at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "flashloom" / "lab"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextlib.contextmanager
def alone(name: str):
    """Keeps other labs that share the cache out of a part of it until the end of the block; waits for them."""
    locks = cache() / "locks"
    locks.mkdir(exist_ok=True)
    with open(locks / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(command: str) -> str | None:
    """The path of a command, also where an ordinary user has no administrators' directories in the PATH."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return shutil.which(command, path=path)


def run(arguments, **options) -> subprocess.CompletedProcess:
    """Runs a command; what it says is part of the error if it fails."""
    result = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, **options)
    if result.returncode:
        said = (result.stdout + result.stderr).strip()
        raise LabError(f"{' '.join(map(str, arguments))} ended with status {result.returncode}:\n{said}")
    return result


def is_static(busybox: str) -> bool:
    """Whether that busybox runs without libraries, as the first program of a guest must."""
    return subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode != 0


def missing_packages() -> list[str]:
    """The packages of which this machine lacks the command."""
    missing = {package for command, package in COMMANDS.items() if not find(command)}
    busybox = find("busybox")
    if busybox and not is_static(busybox):
        missing.add("busybox-static")
    # What the kernel's build runs comes out of packages that are only unpacked, without what they depend on.
    if not ctypes.util.find_library("elf"):
        missing.add("libelf1")
    return sorted(missing)


def require() -> None:
    """Installs what is missing if that is allowed, or says what is."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise LabUnsupported(f"the lab builds and boots amd64 kernels, and this machine is {machine}")
    if not shutil.which("apt-get"):
        raise LabUnsupported("the lab takes its kernels from Debian's packages, and apt-get is missing")
    install(missing_packages())


def install(missing: list[str]) -> None:
    """Installs packages; an ordinary user, and one who forbids it, is told which."""
    if missing and (os.geteuid() != 0 or os.environ.get("INSTALL") == "no"):
        why = "INSTALL=no forbids it" if os.environ.get("INSTALL") == "no" else "only root can install them"
        raise LabError(f"packages are missing, and {why}: sudo apt-get install {' '.join(missing)}")
    if missing:
        print(f"lab: apt-get installs {' '.join(missing)}, which it runs; INSTALL=no forbids it", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update"])
        run(["apt-get", "install", "-y", "--no-install-recommends", *missing], env=environment)
