# SPDX-License-Identifier: GPL-2.0
"""The guest's only file system: busybox, programs with their libraries, modules, and the scripts of guest/."""

import gzip
import lzma
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from .host import LAB, LabError, find, run
from .kernels import Kernel

PROGRAMS = ("fio", "blktrace", "mkfs.ext4", "e2fsck", "addpart")

# The kernel modules that the scripts may load; modules that these depend on are added.
MODULES = (
    "bfq", "ext4", "kyber-iosched", "loop", "mq-deadline", "null_blk", "scsi_debug", "sd_mod", "virtio_blk",
    "virtio_pci",
)  # fmt: skip


def newc(root: Path) -> bytes:
    """A directory as a cpio archive in the "newc" format, which the kernel unpacks; owned by root, in a fixed order."""
    entries = sorted(path.relative_to(root) for path in root.rglob("*"))
    archive = bytearray()

    def add(name: str, mode: int, content: bytes) -> None:
        number = len(archive) + 1  # any number that no other entry has
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        archive.extend(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0")
        archive.extend(b"\0" * (-len(archive) % 4) + content)
        archive.extend(b"\0" * (-len(archive) % 4))

    for entry in entries:
        path = root / entry
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            add(str(entry), status.st_mode, os.readlink(path).encode())
        elif stat.S_ISDIR(status.st_mode):
            add(str(entry), status.st_mode, b"")
        else:
            add(str(entry), status.st_mode, path.read_bytes())
    add("TRAILER!!!", 0, b"")
    return bytes(archive)


def copy_program(root: Path, path: Path, place: str) -> None:
    """Copies a program to a place in the guest, with the libraries that the loader finds for it."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    target = root / place
    target.parent.mkdir(parents=True, exist_ok=True)
    # Instead of a link to busybox, wherever that stands.
    for folder in (target.parent, root / "bin", root / "sbin"):
        (folder / target.name).unlink(missing_ok=True)
    shutil.copy2(path, target)
    for library in re.findall(r"(/\S+) \(0x", listed):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(library, target)


def copy_modules(root: Path, kernel: Kernel, module: Path, names: tuple[str, ...]) -> None:
    """Copies the modules that the scripts load, their dependencies, and pardispatcher."""
    tree = kernel.modules
    if not (tree / "modules.dep").exists():
        run([find("depmod"), "-b", tree.parent.parent.parent, kernel.release])
    dependencies = dict(line.split(":", 1) for line in (tree / "modules.dep").read_text().splitlines())
    by_name = {re.sub(r"\.ko.*", "", Path(path).name).replace("-", "_"): path for path in dependencies}
    builtin = {Path(line).stem.replace("-", "_") for line in (tree / "modules.builtin").read_text().split()}
    target = root / "lib" / "modules" / kernel.release
    for name in (name.replace("-", "_") for name in names):
        if name in builtin:
            continue
        if name not in by_name:
            raise LabError(f"Linux {kernel.release} has no module {name}")
        for path in [by_name[name], *dependencies[by_name[name]].split()]:
            to = target / re.sub(r"\.xz$", "", path)
            to.parent.mkdir(parents=True, exist_ok=True)
            packed = (tree / path).read_bytes()
            to.write_bytes(lzma.decompress(packed) if path.endswith(".xz") else packed)
    (target / "extra").mkdir(parents=True)
    shutil.copy2(module, target / "extra")
    for name in ("modules.builtin", "modules.order"):
        shutil.copy2(tree / name, target)
    run([find("depmod"), "-b", root, kernel.release])


def initramfs(
    kernel: Kernel, module: Path, directory: Path, extra: dict[str, bytes], programs: dict[str, Path],
    modules: tuple[str, ...],
) -> Path:
    """Builds the file system for a kernel in a directory; `extra` maps paths in the guest to files.

    `programs` are further programs by their paths in the guest; `modules` replace the lab's own list if there are any.
    """
    root = directory / "root"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "dev", "proc", "sbin", "sys", "tmp", "mnt", "etc", "lab"):
        (root / name).mkdir(parents=True)
    # Libraries keep their paths on the host; the guest's /usr is merged, as Debian's is.
    (root / "usr").mkdir()
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).mkdir(exist_ok=True)
        (root / "usr" / name).symlink_to(f"../{name}")
    busybox = root / "bin" / "busybox"
    shutil.copy2(find("busybox"), busybox)
    for applet in run([busybox, "--list-full"]).stdout.split():
        link = root / "bin" / Path(applet).name
        if not link.exists():
            link.symlink_to("busybox")
    # The kernel runs this path to load a scheduler's module when the scheduler is selected.
    (root / "sbin" / "modprobe").symlink_to("../bin/busybox")
    for program in PROGRAMS:
        copy_program(root, Path(find(program)), find(program).lstrip("/"))
    for place, path in programs.items():
        copy_program(root, path, place)
    copy_modules(root, kernel, module, modules or MODULES)
    for script in (LAB / "guest").iterdir():
        shutil.copy2(script, root / "lab")
    (root / "init").symlink_to("lab/init")
    for name, content in extra.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if content.startswith((b"#!", b"\x7fELF")):
            path.chmod(0o755)
    packed = directory / "initramfs"
    packed.write_bytes(gzip.compress(newc(root), compresslevel=1))
    return packed
