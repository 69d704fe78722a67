"""Recordings of block I/O: their summary, their requests, their conversion."""

from __future__ import annotations

import json
import os
from typing import Literal

from . import _flashloom
from ._jobs import file_name, wait
from .result import Record
from .tables import Stream

__all__ = ["Trace"]


class Trace:
    """A recording in any of the formats that `flashloom list formats` names, plain or compressed by gzip or zstd.

    `format`: `None` tells it from the content. `event`: what counts as a request in a format of the kernel's events.
    `sort`: sorts by time, in memory. `skip_bad_lines`: leaves out and counts what cannot be read. `device`: of a
    recording of several, the one whose requests are read, by its name there, as `info().devices` lists them; `None`
    reads those of all, each at the addresses of its own device. `size_unit` (`"sectors"`, `"bytes"`) and `time_unit`
    (`"s"`, `"ms"`, `"us"`, `"ns"`): what the columns of DiskSim's and SSDsim's formats hold, where other programs wrote
    them.

    >>> trace = Trace.open("financial1.spc.gz")  # doctest: +SKIP
    >>> trace.info().read_bytes  # doctest: +SKIP
    >>> for batch in trace.batches():  # doctest: +SKIP
    ...     batch.column("lba")

    Raises `InputError` with file, line and column when a file is read that is wrong.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        event: Literal["queue", "issue"] = "queue",
        sort: bool = False,
        skip_bad_lines: bool = False,
        device: str | int | None = None,
        size_unit: Literal["sectors", "bytes"] | None = None,
        time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    ) -> None:
        self.path = file_name(path)
        """The file as it was named."""
        if isinstance(device, bool) or not isinstance(device, str | int | None):
            raise TypeError(f"device is {device!r}: expected its name or number in the recording")
        name = None if device is None else str(device)
        self._inner = _flashloom.Recording(
            self.path, format, event, sort, skip_bad_lines, name, size_unit, time_unit
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        event: Literal["queue", "issue"] = "queue",
        sort: bool = False,
        skip_bad_lines: bool = False,
        device: str | int | None = None,
        size_unit: Literal["sectors", "bytes"] | None = None,
        time_unit: Literal["s", "ms", "us", "ns"] | None = None,
    ) -> Trace:
        """The same as `Trace(path)`. Nothing is read yet."""
        return cls(
            path,
            format,
            event=event,
            sort=sort,
            skip_bad_lines=skip_bad_lines,
            device=device,
            size_unit=size_unit,
            time_unit=time_unit,
        )

    def info(self) -> Record:
        """Reads the recording to its end and summarises it: requests, bytes, footprint, duration, sequential share."""
        return Record(json.loads(wait(self._inner.info())), "trace")

    def batches(self, batch_rows: int = 65_536) -> Stream:
        """The requests in batches, from time zero on: `timestamp_ns`, `op` (`R`, `W`, `D`, `F`), `lba` and `sectors` in
        sectors of 512 bytes, `task`, `sync`, `flush`, `fua`, `ioprio` (`none`, or a class and level such as
        `be/4`), `latency_ns` (0 where none was recorded), `device` (its number, as in `info().devices`)."""
        if isinstance(batch_rows, bool) or batch_rows < 1:
            raise ValueError(f"a batch has at least one row, not {batch_rows}")
        return Stream(self._inner.read(batch_rows))

    def convert(
        self, output: str | os.PathLike[str], to: str | None = None, *, drop_unsupported: bool = False
    ) -> Record:
        """Writes the recording in another format, told from the name of the file unless `to` names it; compressed if
        the name ends in `.gz` or `.zst`. Returns what was written, and what the format could not hold.

        Raises `InputError` for content that the format cannot hold, unless it is to be dropped.
        """
        return Record(json.loads(wait(self._inner.convert(file_name(output), to, drop_unsupported))), "conversion")

    def __repr__(self) -> str:
        return f"<flashloom.Trace {self.path}>"
