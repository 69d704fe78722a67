"""A live drive: a simulated drive with data in it."""

from __future__ import annotations

import os

from . import _flashloom
from ._jobs import file_name, wait
from .experiment import Experiment, ProgressOption, _whole
from .result import Result

__all__ = ["LiveDrive"]


class LiveDrive:
    """The drive of an experiment with data in it: what is read is what was written. It is `flashloom serve` without a
    server, and takes policies in Python.

    >>> with flashloom.LiveDrive(experiment) as drive:  # doctest: +SKIP
    ...     drive.write(0, bytes(4096))
    ...     drive.read(0, 512) == bytes(512)
    ...     drive.end().ftl.waf

    Addresses and lengths are bytes, in whole sectors of 512. A call returns when the drive has ended the command, in
    simulated time; time stands still between the calls. Any number of threads may use a drive: commands that are
    inside together are submitted at one time.

    The drive begins as `run.precondition` has it, and every page that nobody wrote holds zeros. `[workload]` is not
    used, nor `[host]` but for `queue_depth` and `nr_requests`. `memory`: bytes for data, or a size such as `"2GiB"`;
    what is beyond lies in a file without a name in the folder for temporary files. `log`: a CSV file that `end` writes,
    with every request and its latency, which replays to the same result. `image`: a file that `end` keeps drive and
    data in, and that the drive goes on from if it is there. `age_anew`: put the data of the image, which may be of
    another drive or build, on a newly aged drive. `progress` as of a run.

    Raises `ConfigError`, `InputError` (a saved drive, an image) and `CheckError` (a drive that never becomes steady).
    What a policy raises comes out of the call that it is raised in, and closes the drive: `KeyboardInterrupt` too, when
    Ctrl-C comes while a policy is called.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        memory: int | str = "2GiB",
        log: str | os.PathLike[str] | None = None,
        image: str | os.PathLike[str] | None = None,
        age_anew: bool = False,
        progress: ProgressOption = None,
    ) -> None:
        if not isinstance(experiment, Experiment):
            raise TypeError(f"a live drive is one of an Experiment, not of {type(experiment).__name__}")
        if memory is None:
            raise TypeError("memory is an int or a str, not NoneType")
        size = memory if isinstance(memory, str) else f"{_whole('memory', memory, 1, (1 << 63) - 1)}B"
        options = [("memory", size)]
        options += [(name, file_name(path)) for name, path in (("log", log), ("image", image)) if path is not None]
        if age_anew:
            options.append(("age-anew", "true"))
        served = experiment.copy()
        for option in _flashloom.SERVED_HOST:
            served._sets[option.partition("=")[0]] = option
        self._inner: _flashloom.LiveDrive = wait(served._load().live(options), progress)

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self._inner.size

    @property
    def page_bytes(self) -> int:
        """Bytes in a page of the drive: parts of pages cost more to write."""
        return self._inner.page_bytes

    @property
    def now_ns(self) -> int:
        """The drive's clock, in nanoseconds of simulated time. The difference over a call is its latency."""
        return self._inner.now_ns()

    def read(self, offset: int, count: int) -> bytes:
        """Reads `count` bytes from byte `offset` on.

        Like every command raises `EngineError` for what is not within the drive or no whole number of sectors,
        `DriveError` if the drive fails it, `ClosedError` after `end` and `close`, and `OverflowError` for a negative
        number.
        """
        return self._inner.read(offset, count)

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> None:
        """Reads into all of a buffer, from byte `offset` on."""
        view = memoryview(buffer).cast("B")
        view[:] = self._inner.read(offset, len(view))

    def write(self, offset: int, data: bytes | bytearray | memoryview, *, fua: bool = False) -> None:
        """Writes data from byte `offset` on; with `fua` it is in flash when the call returns."""
        self._inner.write(offset, data if isinstance(data, bytes) else memoryview(data).tobytes(), fua)

    def flush(self) -> None:
        """Returns when all writes that have returned are in flash."""
        self._inner.flush()

    def discard(self, offset: int, count: int, *, fua: bool = False) -> None:
        """Discards the whole pages among these bytes, which then hold zeros; parts of pages keep their data. With
        `fua` that is in flash when the call returns."""
        self._inner.discard(offset, count, fua)

    def write_zeros(self, offset: int, count: int, *, may_discard: bool = True, fua: bool = False) -> None:
        """Makes these bytes zero: whole pages are discarded, and the parts at both ends written. Without `may_discard`
        all of it is written."""
        self._inner.write_zeros(offset, count, may_discard, fua)

    def result(self) -> Result:
        """Result so far, of a drive that goes on: pages in its buffer are not programmed. After `end`, what that
        returned."""
        return Result(self._inner.result())

    def end(self) -> Result:
        """Ends the service: flushes, lets the drive finish its work, writes log and image; returns the result.

        Raises `CheckError` if the accounts do not add up, and `Error` if log or image cannot be written; `result` then
        has the result all the same.
        """
        return Result(self._inner.end())

    def close(self) -> None:
        """Frees the drive, without a log or an image if it was not ended; later calls raise `ClosedError`."""
        self._inner.close()

    def __enter__(self) -> LiveDrive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
