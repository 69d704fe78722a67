# SPDX-License-Identifier: GPL-2.0
"""The host: the commands that the lab needs, the packages that have them, and the lab's cache."""

import contextlib
import ctypes.util
import fcntl
import os
import shutil
import subprocess
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
KERNEL_DIR = LAB.parent

# Each command that the lab runs or copies into the guest, and its Debian package.
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
    """An error that the user can correct; nothing was run."""


class LabUnsupported(LabError):
    """This machine cannot run the lab, not even for root."""


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
    """Locks a part of the cache until the end of the block; waits for other labs that hold it."""
    locks = cache() / "locks"
    locks.mkdir(exist_ok=True)
    with open(locks / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find(command: str) -> str | None:
    """The path of a command; also searches the administrators' directories, which a user's PATH may lack."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return shutil.which(command, path=path)


def run(arguments, **options) -> subprocess.CompletedProcess:
    """Runs a command; if it fails, the error includes its output."""
    result = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, **options)
    if result.returncode:
        said = (result.stdout + result.stderr).strip()
        raise LabError(f"{' '.join(map(str, arguments))} ended with status {result.returncode}:\n{said}")
    return result


def is_static(busybox: str) -> bool:
    """Whether that busybox is statically linked, as the first program of a guest must be."""
    return subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode != 0


def missing_packages() -> list[str]:
    """The packages of the commands that this machine lacks."""
    missing = {package for command, package in COMMANDS.items() if not find(command)}
    busybox = find("busybox")
    if busybox and not is_static(busybox):
        missing.add("busybox-static")
    # The kernel's build tools come from packages that are unpacked but not installed, so without dependencies.
    if not ctypes.util.find_library("elf"):
        missing.add("libelf1")
    return sorted(missing)


def require() -> None:
    """Installs missing packages if that is allowed; raises with a list of them otherwise."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise LabUnsupported(f"the lab builds and boots amd64 kernels, and this machine is {machine}")
    if not shutil.which("apt-get"):
        raise LabUnsupported("the lab takes its kernels from Debian's packages, and apt-get is missing")
    install(missing_packages())


def is_forbidden() -> bool:
    """True if nothing may be installed, downloaded or updated by apt."""
    return os.environ.get("INSTALL") == "no"


def install(missing: list[str]) -> None:
    """Installs packages; raises with a list of them for an ordinary user, or if installing is forbidden."""
    if missing and (os.geteuid() != 0 or is_forbidden()):
        why = "INSTALL=no forbids it" if is_forbidden() else "only root can install them"
        raise LabError(f"packages are missing, and {why}: sudo apt-get install {' '.join(missing)}")
    if missing:
        print(f"lab: apt-get installs {' '.join(missing)}, which it runs; INSTALL=no forbids it", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update"])
        run(["apt-get", "install", "-y", "--no-install-recommends", *missing], env=environment)
