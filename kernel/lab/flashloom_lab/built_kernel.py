# SPDX-License-Identifier: GPL-2.0
"""Small kernels that the lab builds: of a tree that the user has, or with checks that Debian's kernel lacks.

A build takes some five to ten minutes on two processors, and is kept.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path

from .host import LabError, alone, cache, find, install, run
from .kernels import Kernel, newest, partial_of, source_archive

PACKAGES = {"flex": "flex", "bison": "bison", "bc": "bc"}

# A fixed version, whatever the default gcc is; modules for this kernel are built with it as well.
COMPILER = ["CC=gcc-12", "HOSTCC=gcc-12"]

# The file in the build that records the options that it was configured with.
WISHES = "flashloom.config"

# On top of the smallest configuration: what the guest needs.
CONFIG = """
64BIT SMP PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE BINFMT_ELF BINFMT_SCRIPT BLK_DEV_INITRD RD_GZIP MODULES
MODULE_UNLOAD PROC_FS SYSFS TMPFS DEVTMPFS CONFIGFS_FS DEBUG_FS MULTIUSER POSIX_TIMERS HIGH_RES_TIMERS NO_HZ_IDLE
FUTEX EPOLL EVENTFD SIGNALFD TIMERFD AIO FILE_LOCKING ADVISE_SYSCALLS MEMBARRIER SHMEM SYSVIPC POSIX_MQUEUE
PCI ACPI BLOCK BLK_DEV BLK_DEBUG_FS FTRACE BLK_DEV_IO_TRACE VIRTIO_MENU VIRTIO_PCI VIRTIO_BLK BLK_DEV_NVME NET UNIX INET
BLK_DEV_NULL_BLK=m BLK_DEV_LOOP=m SCSI=m BLK_DEV_SD=m SCSI_LOWLEVEL SCSI_DEBUG=m BLK_DEV_ZONED EXT4_FS
MQ_IOSCHED_DEADLINE=m MQ_IOSCHED_KYBER=m IOSCHED_BFQ=m BLK_WBT BLK_WBT_MQ
"""

# KASAN, lockdep, kmemleak, fault injection in null_blk.
CHECKS = """
SLUB SLUB_TINY=n SLUB_DEBUG DEBUG_KERNEL DEBUG_LIST KASAN KASAN_GENERIC KASAN_INLINE PROVE_LOCKING DEBUG_ATOMIC_SLEEP
DEBUG_KMEMLEAK FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAULT_INJECTION_CONFIGFS
BLK_DEV_NULL_BLK_FAULT_INJECTION FRAME_POINTER UNWINDER_FRAME_POINTER STACKTRACE DETECT_HUNG_TASK PANIC_ON_OOPS
"""


def setting(word: str) -> str:
    """An option as a line of a configuration."""
    name, _, value = word.partition("=")
    return f"# CONFIG_{name} is not set\n" if value == "n" else f"CONFIG_{name}={value or 'y'}\n"


def require_tools() -> None:
    """Installs the packages that only this build needs; raises with a list of them if it may not."""
    missing = [package for command, package in PACKAGES.items() if not find(command)]
    if not os.path.exists("/usr/include/gelf.h"):
        missing.append("libelf-dev")
    install(missing)


def debian_tree(series: str) -> Path:
    """The source of Debian's newest kernel of a series, unpacked."""
    _, version = newest(series)
    tree = cache() / "trees" / version.replace(":", "%3a")
    with alone(tree.name):
        if not tree.exists():
            partial = partial_of(tree)
            run(["tar", "-C", partial, "--strip-components=1", "-xf", source_archive(series)])
            partial.rename(tree)
    return tree


def series_of(tree: Path) -> str:
    """The version of a kernel's source without its point release."""
    makefile = tree / "Makefile"
    text = makefile.read_text() if makefile.is_file() else ""
    parts = dict(re.findall(r"^(VERSION|PATCHLEVEL) = (\d+)$", text, re.M))
    if len(parts) != 2 or not (tree / "block" / "elevator.h").is_file():
        raise LabError(f"{tree}: is not the source of a kernel")
    return f"{parts['VERSION']}.{parts['PATCHLEVEL']}"


def built_kernel(tree: Path, checked: bool) -> Kernel:
    """The kernel of a tree, which stays as it is; with the checks on request. Built again if the tree has changed."""
    series, tree = series_of(tree), tree.resolve()
    digest = hashlib.sha256(str(tree).encode()).hexdigest()[:8]
    directory = cache() / "kernels" / f"built-{series}-{digest}{'-debug' if checked else ''}"
    build, marker = directory / "build", directory / "release"
    wishes = "".join(map(setting, (CONFIG + (CHECKS if checked else "")).split()))
    with alone(directory.name):
        if not is_built(tree, marker, build, wishes):
            require_tools()
            with_checks = " with KASAN and lockdep" if checked else ""
            print(f"lab: builds Linux {series}{with_checks}; this takes some ten minutes, once", flush=True)
            build.mkdir(parents=True, exist_ok=True)
            (directory / "source").unlink(missing_ok=True)
            (directory / "source").symlink_to(tree)
            make = ["make", "-s", "-C", tree, f"O={build}", *COMPILER]
            configure(make, tree, build, wishes)
            run(["nice", "-n", "19", *make, f"-j{os.cpu_count()}", "bzImage", "modules"])
            marker.write_text(install_image(make, build, directory / "image"))
    return Kernel(series, marker.read_text(), directory, headers_path=build)


def is_built(tree: Path, marker: Path, build: Path, wishes: str) -> bool:
    """Whether a build has ended since the tree changed, with these options."""
    if not marker.is_file() or (build / WISHES).read_text() != wishes:
        return False
    return not run(["find", tree, "-newer", marker, "-print", "-quit"]).stdout


def configure(make: list, tree: Path, build: Path, wishes: str) -> None:
    """Configures a build that was not, or otherwise; a requested option that is not granted is an error."""
    if (build / WISHES).is_file() and (build / WISHES).read_text() == wishes:
        # The tree may have options now that nobody was asked for.
        run([*make, "olddefconfig"])
        return
    run([*make, "tinyconfig"])
    # Under another name until it is granted.
    (build / "wishes").write_text(wishes)
    run([tree / "scripts/kconfig/merge_config.sh", "-m", ".config", "wishes"], cwd=build)
    run([*make, "olddefconfig"])
    granted = (build / ".config").read_text().splitlines()
    # An option that is off may also be absent, if another one excludes it.
    refused = [line for line in wishes.splitlines() if line not in granted and not line.startswith("#")]
    if refused:
        raise LabError(f"the configuration of Linux does not grant {' '.join(refused)}")
    (build / "wishes").rename(build / WISHES)


def install_image(make: list, build: Path, image: Path) -> str:
    """Copies the build to the paths that a kernel's packages use; returns the release."""
    release = (build / "include/config/kernel.release").read_text().strip()
    shutil.rmtree(image, ignore_errors=True)
    run([*make, "modules_install", f"INSTALL_MOD_PATH={image}"])
    (image / "boot").mkdir(parents=True, exist_ok=True)
    shutil.copy2(build / "arch/x86/boot/bzImage", image / "boot" / f"vmlinuz-{release}")
    return release
