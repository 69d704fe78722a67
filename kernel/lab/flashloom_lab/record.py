# SPDX-License-Identifier: GPL-2.0
"""Recordings by blktrace, made in a guest, in files that `flashloom run` takes."""

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .guest import Guest
from .host import LabError
from .kernels import Kernel, build_module


@dataclass(frozen=True)
class Recording:
    """The parameters of a recording."""

    job: Path
    scheduler: str
    # Attributes of null_blk as ATTRIBUTE=VALUE; empty for another disk.
    null_blk: tuple[str, ...] = ()
    # Parameters of scsi_debug likewise; empty, and no null_blk, for the virtio disk.
    scsi_debug: tuple[str, ...] = ()
    # Whether the guest counts instructions instead of time, so that a busy host changes nothing.
    exact: bool = False
    # So many processors of the guest that take turns; 0: two at the same time.
    in_turn: int = 0


def check_job(job: Path) -> bytes:
    """The job's content; raises if it is not a fio job or a script."""
    if job.suffix not in (".fio", ".sh"):
        raise LabError(f"{job}: is neither a fio job (.fio) nor a script (.sh)")
    try:
        return job.read_bytes()
    except OSError as error:
        raise LabError(f"{job}: {error.strerror}") from None


def check_settings(option: str, settings: list[str]) -> tuple[str, ...]:
    """The settings of a driver; raises if one is malformed."""
    for setting in settings:
        if not re.fullmatch(r"\w+=(\d+|0x[0-9a-f]+)", setting):
            raise LabError(f"{option} {setting}: is not ATTRIBUTE=NUMBER")
    return tuple(settings)


def record(target: Kernel, recording: Recording, out: Path) -> list[Path]:
    """Makes a recording OUT.blktrace.0 and so on, one file per processor of the guest; returns the files."""
    content = check_job(recording.job)
    if not out.parent.is_dir():
        raise LabError(f"{out.parent}: is not a directory")
    inside = f"lab/job{recording.job.suffix}"
    drivers = {"null_blk": recording.null_blk, "scsi_debug": recording.scsi_debug}
    driver = [word for name, settings in drivers.items() if settings for word in (name, *settings)]
    arguments = [recording.scheduler, "recording", f"/{inside}", *driver]
    guest = Guest(
        target, build_module(target), f"record-{recording.scheduler}", "record", arguments, {inside: content},
        exact=recording.exact, in_turn=recording.in_turn, memory_mib=2048, disk_mib=1024, output_mib=1024,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        guest.boot(Path(directory))
        return bring_out(Path(directory), out)


def bring_out(made: Path, out: Path) -> list[Path]:
    """Moves the files of a recording to the requested place, replacing all files of an earlier one."""
    earlier = re.compile(re.escape(out.name) + r"\.blktrace\.\d+")
    for path in out.parent.iterdir():
        if earlier.fullmatch(path.name):
            path.unlink()
    files = []
    for path in sorted(made.iterdir()):
        files.append(out.with_name(out.name + path.name.removeprefix("recording")))
        shutil.copyfile(path, files[-1])
    return files
