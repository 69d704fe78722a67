# SPDX-License-Identifier: GPL-2.0
"""A small kernel with checks that Debian's kernel lacks: KASAN, lockdep, kmemleak, fault injection in null_blk.

It is built once from Debian's source package, in some ten minutes on two processors, and then kept.
"""

import os
import shutil
from pathlib import Path

from .host import LabError, alone, cache, find, install, run
from .kernels import Kernel, newest, source_archive

PACKAGES = {"flex": "flex", "bison": "bison", "bc": "bc"}

# A fixed version, whatever the default gcc is; modules for this kernel are built with it as well.
COMPILER = ["CC=gcc-12", "HOSTCC=gcc-12"]

# The file beside the source that records the options that it was built with.
WISHES = "flashloom.config"

# On top of the smallest configuration: first what the guest needs, then the checks.
CONFIG = """
64BIT SMP PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE BINFMT_ELF BINFMT_SCRIPT BLK_DEV_INITRD RD_GZIP MODULES
MODULE_UNLOAD PROC_FS SYSFS TMPFS DEVTMPFS CONFIGFS_FS DEBUG_FS MULTIUSER POSIX_TIMERS HIGH_RES_TIMERS NO_HZ_IDLE
FUTEX EPOLL EVENTFD SIGNALFD TIMERFD AIO FILE_LOCKING ADVISE_SYSCALLS MEMBARRIER SHMEM SYSVIPC POSIX_MQUEUE
PCI ACPI BLOCK BLK_DEV BLK_DEBUG_FS FTRACE BLK_DEV_IO_TRACE VIRTIO_MENU VIRTIO_PCI VIRTIO_BLK BLK_DEV_NVME NET UNIX INET
BLK_DEV_NULL_BLK=m BLK_DEV_LOOP=m SCSI=m BLK_DEV_SD=m SCSI_LOWLEVEL SCSI_DEBUG=m BLK_DEV_ZONED EXT4_FS
MQ_IOSCHED_DEADLINE=m MQ_IOSCHED_KYBER=m IOSCHED_BFQ=m
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


def wishes() -> str:
    """All requested options as lines of a configuration."""
    return "".join(map(setting, CONFIG.split()))


def debug_kernel(series: str) -> Kernel:
    """The debug kernel of a series; built if there is none yet, or if its options have changed."""
    _, version = newest(series)
    directory = cache() / "kernels" / f"debug-{version.replace(':', '%3a')}"
    tree = directory / "source"
    marker = directory / "release"
    with alone(directory.name):
        if not marker.exists() or (tree / WISHES).read_text() != wishes():
            marker.unlink(missing_ok=True)
            require_tools()
            print(f"lab: builds Linux {version} with KASAN and lockdep; this takes some ten minutes, once", flush=True)
            if not tree.exists():
                shutil.rmtree(directory, ignore_errors=True)
                directory.mkdir(parents=True)
                run(["tar", "-C", directory, "-xf", source_archive(series)])
                next(directory.glob("linux-source-*")).rename(tree)
            build(tree)
            marker.write_text(install_image(tree, directory / "image"))
    return Kernel(series, marker.read_text(), directory, headers_path=tree)


def install_image(tree: Path, image: Path) -> str:
    """Moves the build to the paths that a kernel's packages use; returns the release."""
    release = (tree / "include/config/kernel.release").read_text().strip()
    run(["make", "-s", "-C", tree, *COMPILER, "modules_install", f"INSTALL_MOD_PATH={image}"])
    (image / "boot").mkdir(parents=True, exist_ok=True)
    shutil.copy2(tree / "arch/x86/boot/bzImage", image / "boot" / f"vmlinuz-{release}")
    return release


def build(tree: Path) -> None:
    """Configures and compiles; a requested option that the configuration drops is an error."""
    (tree / WISHES).write_text(wishes())
    make = ["make", "-s", "-C", tree, *COMPILER]
    run([*make, "tinyconfig"])
    run([tree / "scripts/kconfig/merge_config.sh", "-m", ".config", WISHES], cwd=tree)
    run([*make, "olddefconfig"])
    granted = (tree / ".config").read_text()
    # An option that is off may also be absent, if another one excludes it.
    refused = [word for word in CONFIG.split() if not word.endswith("=n") and setting(word) not in granted]
    if refused:
        raise LabError(f"the configuration of Linux does not grant {' '.join(refused)}")
    run(["nice", "-n", "19", *make, f"-j{os.cpu_count()}", "bzImage", "modules"])
