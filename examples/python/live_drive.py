"""A drive with a policy in Python, served over NBD by nbdkit and its plugin for scripts in Python::

    nbdkit --foreground --unix drive.sock python examples/python/live_drive.py \\
        experiment=experiments/quickstart.toml result=result.json

``log=FILE.csv`` writes a line for every request. What is particular to the policy are its import and ``drive_of``.
The package has to be where nbdkit's interpreter looks for it: PYTHONPATH names the folder that it is installed in.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbdkit
from flashloom import DriveError, EngineError, Experiment, LiveDrive

sys.path.insert(0, str(Path(__file__).parent))
from greedy import Greedy

API_VERSION = 2
OPTIONS = ("experiment", "result", "log")
# The largest request that is taken, in bytes.
MAX_BLOCK_BYTES = 32 << 20

options: dict[str, str] = {}
drives: list[LiveDrive] = []


def drive_of(path: str) -> LiveDrive:
    """The drive of an experiment, with the policy."""
    experiment = Experiment(path, set={"ftl.gc": Greedy.name}, policies=[Greedy])
    return LiveDrive(experiment, log=options.get("log"))


@contextmanager
def answered() -> Iterator[None]:
    """Gives a request that the drive fails its number in the protocol; what else is raised is an I/O error."""
    try:
        yield
    except EngineError:
        nbdkit.set_error(errno.EINVAL)
        raise
    except DriveError as error:
        nbdkit.set_error(errno.EROFS if error.status == "read_only" else errno.EIO)
        raise


# What nbdkit calls, by nbdkit-python-plugin(3): once.


def thread_model() -> int:
    """Several requests may be inside: the drive sees the queue of its clients."""
    return int(nbdkit.THREAD_MODEL_PARALLEL)


def config(key: str, value: str) -> None:
    if key not in OPTIONS:
        raise ValueError(f"unknown option {key}: expected one of {', '.join(OPTIONS)}")
    # In the background nbdkit works in the folder /.
    options[key] = str(Path(value).absolute())


def config_complete() -> None:
    if "experiment" not in options:
        raise ValueError("no experiment: expected experiment=FILE.toml")


def get_ready() -> None:
    """Ages the drive, before nbdkit listens."""
    drives.append(drive_of(options["experiment"]))


def cleanup() -> None:
    """Ends the service, once all clients have gone."""
    for drive in drives:
        result = drive.end()
        if "result" in options:
            Path(options["result"]).write_text(result.to_json())
        else:
            print(result, file=sys.stderr)


# For each connection.


def open(readonly: bool) -> LiveDrive:
    return drives[0]


def get_size(drive: LiveDrive) -> int:
    return drive.size


def block_size(drive: LiveDrive) -> tuple[int, int, int]:
    return 512, drive.page_bytes, MAX_BLOCK_BYTES


def can_multi_conn(drive: LiveDrive) -> bool:
    return True


def can_fua(drive: LiveDrive) -> int:
    return int(nbdkit.FUA_NATIVE)


# For each request.


def pread(drive: LiveDrive, buf: bytearray, offset: int, flags: int) -> None:
    with answered():
        drive.read_into(offset, buf)


def pwrite(drive: LiveDrive, buf: bytearray, offset: int, flags: int) -> None:
    with answered():
        drive.write(offset, buf, fua=bool(flags & nbdkit.FLAG_FUA))


def flush(drive: LiveDrive, flags: int) -> None:
    with answered():
        drive.flush()


def trim(drive: LiveDrive, count: int, offset: int, flags: int) -> None:
    with answered():
        drive.discard(offset, count, fua=bool(flags & nbdkit.FLAG_FUA))


def zero(drive: LiveDrive, count: int, offset: int, flags: int) -> None:
    with answered():
        may_discard = bool(flags & nbdkit.FLAG_MAY_TRIM)
        drive.write_zeros(offset, count, may_discard=may_discard, fua=bool(flags & nbdkit.FLAG_FUA))
