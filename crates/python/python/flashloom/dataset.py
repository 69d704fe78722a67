"""Data sets of sweeps: a folder of Parquet files with a row for each run.

```text
DIR/part-<hash>.parquet     rows as they come, one file a batch, written whole: under another name, synced, renamed
DIR/data.parquet            all rows of sweeps that have ended, by id, in place of the parts
DIR/.lock                   held by the process that writes
```

Columns: `id`, `status` (`ok` or `failed`), `error.type`, `error.message`, `error.traceback`, `version`, `seed`; the
varied keys by their paths; every figure of the result by its path, as in `Result.flat`; `config`, the effective
configuration as JSON. A killed sweep leaves whole files only. Should it be killed between the writing of `data.parquet`
and the removal of the parts, a row is in both, and read once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Error, InputError
from .tables import library

if TYPE_CHECKING:
    import pandas

__all__ = ["COST", "BusyError", "DataSet"]

COST = ("run.wall_seconds", "run.requests_per_second", "run.peak_rss_bytes", "run.filled")
"""Columns of what a run cost, and how it filled its drive, which differ from machine to machine and from time to time:
a drive that another run has filled is not filled again."""

_FIRST = ("id", "status", "error.type", "error.message", "error.traceback", "version", "seed")
_LAST = ("config",)
# Metadata of a file: the paths of the varied keys, as a list in JSON.
_VARIED = b"flashloom.varied"
_DATA = "data.parquet"
_LOCK = ".lock"
# Names of files that are not complete.
_PARTIAL = re.compile(r"\.(part-[0-9a-f]{16}|data)\.parquet\.partial")

Row = Mapping[str, Any]


class BusyError(Error):
    """A data set or a study that another process is writing."""


class DataSet:
    """Results of a sweep, by run: `DataSet("results").to_pandas()`.

    Anything that reads the Arrow PyCapsule interface takes one. While a sweep goes on, it has the rows that have come.
    Raises `InputError` for a folder that no sweep has written to, `MissingLibraryError` without pyarrow: the extra
    `flashloom[sweep]` has it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._open(folder)
        if not self.folder.is_dir():
            found = "a file" if self.folder.exists() else "no such folder"
            raise InputError(f"{self.folder}: is no data set: {found}; expected a folder that `sweep` has written")
        # A sweep that has begun holds its lock before there is a row.
        if not (self.folder / _LOCK).exists() and not self._files():
            raise InputError(f"{self.folder}: is no data set: it has no rows, and no sweep has written to it")

    @classmethod
    def to_write(cls, folder: str | os.PathLike[str]) -> DataSet:
        """A data set that may not be there yet."""
        data = cls.__new__(cls)
        data._open(folder)
        return data

    def _open(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        """The folder."""
        self._arrow = library("pyarrow", "sweep")
        self._parquet = library("pyarrow.parquet", "sweep")

    def to_arrow(self) -> Any:
        """All rows, sorted by id, as a `pyarrow.Table`."""
        return self._joined(self._tables())

    def to_pandas(self) -> pandas.DataFrame:
        """All rows, sorted by id, as a `pandas.DataFrame`."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """All rows, sorted by id, as dictionaries; fields that do not apply are `None`."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def failures(self) -> list[dict[str, Any]]:
        """Runs that failed: id, error, seed and varied keys."""
        named = [*_FIRST, *self.varied]
        return [{name: row.get(name) for name in named} for row in self.rows() if row["status"] == "failed"]

    @property
    def varied(self) -> list[str]:
        """Paths of the varied keys."""
        metadata = self.to_arrow().schema.metadata or {}
        return list(json.loads(metadata.get(_VARIED, b"[]")))

    def statuses(self) -> dict[str, str]:
        """`ok` or `failed` of each run, by its id."""
        found: dict[str, str] = {}
        for table in self._tables(["id", "status"]):
            found.update(zip(table["id"].to_pylist(), table["status"].to_pylist()))
        return found

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.statuses())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        statuses = list(self.statuses().values())
        return f"<flashloom.DataSet {self.folder}: {statuses.count('ok'):,} runs, {statuses.count('failed'):,} failed>"

    def _repr_html_(self) -> str:
        frame = self.to_pandas()
        shown = [name for name in [*self.varied, "seed", "status", "host.iops", "ftl.waf"] if name in frame]
        text: str = frame[shown].to_html(max_rows=20, index=False)
        return text

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the data set for one process. Raises `BusyError` if another has it, `InputError` if there is no room
        for a folder of its name."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be the folder of a data set: {error}") from error
        with only_process(self.folder / _LOCK, f"the data set {self.folder}"):
            for partial in self.folder.glob(".*.parquet.partial"):
                if _PARTIAL.fullmatch(partial.name):
                    partial.unlink()
            yield

    def append(self, rows: Sequence[Row], varied: Iterable[str]) -> None:
        """Adds rows in a file of their own, which is there as a whole or not at all."""
        ordered = sorted(rows, key=lambda row: str(row["id"]))
        columns = {name: self._array([row.get(name) for row in ordered]) for row in ordered for name in row}
        table = self._ordered(self._arrow.table(columns), set(varied))
        name = hashlib.sha256("".join(row["id"] for row in ordered).encode()).hexdigest()[:16]
        self._write(table, f"part-{name}.parquet")

    def compact(self, without: Iterable[str] = ()) -> None:
        """Writes all rows into one file, sorted by id; those of some ids are left out."""
        files = self._files()
        left_out = set(without)
        if not left_out and files in ([], [self.folder / _DATA]):
            return
        table = self.to_arrow()
        kept = [id not in left_out for id in table["id"].to_pylist()]
        self._write(table.filter(self._arrow.array(kept, self._arrow.bool_())), _DATA)
        for path in files:
            if path.name != _DATA:
                path.unlink()

    def _write(self, table: Any, name: str) -> None:
        path, partial = self.folder / name, self.folder / f".{name}.partial"
        # One that is there already is of a killed process, or a link that leads elsewhere.
        partial.unlink(missing_ok=True)
        with open(partial, "xb") as file:
            self._parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        if os.name == "posix":
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    # Reading.

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.parquet") if not path.name.startswith("."))

    def _tables(self, columns: list[str] | None = None) -> list[Any]:
        while True:
            files = self._files()
            try:
                return [self._read(path, columns) for path in files]
            except FileNotFoundError as error:
                # A sweep that ends puts one file in the place of all others; a link to nowhere stays.
                if self._files() == files:
                    raise InputError(f"{self.folder}: cannot be read: {error}") from error

    def _read(self, path: Path, columns: list[str] | None = None) -> Any:
        try:
            table = self._parquet.ParquetFile(path).read(columns=columns)
        except FileNotFoundError:
            raise
        except (self._arrow.ArrowException, OSError) as error:
            raise InputError(f"{path}: is no part of a data set: {error}") from error
        if "id" not in table.column_names or "status" not in table.column_names:
            raise InputError(f"{path}: is no part of a data set: it has no columns `id` and `status`")
        try:
            _varied(table)
        except ValueError as error:
            raise InputError(f"{path}: is no part of a data set: its metadata are no JSON: {error}") from error
        if not all(isinstance(id, str) for id in table["id"].to_pylist()):
            raise InputError(f"{path}: is no part of a data set: an `id` is no text")
        if odd := set(table["status"].to_pylist()) - {"ok", "failed"}:
            raise InputError(f"{path}: is no part of a data set: `status` is `ok` or `failed`, not {odd.pop()!r}")
        return table

    def _joined(self, tables: list[Any]) -> Any:
        """Tables one below the other, each id once, sorted by it; columns that one lacks are empty there."""
        varied = {name for table in tables for name in _varied(table)}
        types: dict[str, set[Any]] = {}
        for table in tables:
            for column in table.schema:
                types.setdefault(column.name, set()).add(column.type)
        schema = self._arrow.schema([(name, self._common(found)) for name, found in types.items()])
        cast = [self._as(table, schema) for table in tables]
        whole = self._arrow.concat_tables(cast) if cast else self._empty()
        first = {id: at for at, id in reversed(list(enumerate(whole["id"].to_pylist())))}
        return self._ordered(whole.take(self._arrow.array([first[id] for id in sorted(first)], "int64")), varied)

    def _empty(self) -> Any:
        return self._arrow.table({name: self._arrow.array([], "string") for name in _FIRST})

    def _common(self, types: set[Any]) -> Any:
        """The type of values of some types: numbers of whole ones and shares, else texts."""
        found = types - {self._arrow.null()}
        if len(found) < 2:
            return next(iter(found), self._arrow.null())
        number = found <= {self._arrow.int64(), self._arrow.uint64(), self._arrow.float64()}
        return self._arrow.float64() if number else self._arrow.string()

    def _as(self, table: Any, schema: Any) -> Any:
        present = set(table.column_names)
        columns = []
        for column in schema:
            if column.name in present:
                columns.append(table[column.name].cast(column.type))
            else:
                columns.append(self._arrow.nulls(len(table), column.type))
        return self._arrow.table(columns, schema=schema)

    def _array(self, values: list[Any]) -> Any:
        """Values of one kind; those of several as texts."""
        try:
            return self._arrow.array(values)
        except (self._arrow.ArrowInvalid, self._arrow.ArrowTypeError, OverflowError):
            return self._arrow.array([None if value is None else str(value) for value in values])

    def _ordered(self, table: Any, varied: set[str]) -> Any:
        """Columns in an order that does not depend on which runs ended first."""
        present = set(table.column_names)
        figures = sorted(present - {*_FIRST, *_LAST} - varied)
        names = [*_FIRST, *sorted(varied), *figures, *_LAST]
        columns = {name: table[name] for name in names if name in present}
        for name in ("error.type", "error.message", "error.traceback"):
            if name in columns:
                columns[name] = columns[name].cast(self._arrow.string())
        metadata = {_VARIED: json.dumps(sorted(varied)).encode()}
        return self._arrow.table(columns).replace_schema_metadata(metadata)


def _varied(table: Any) -> list[str]:
    return list(json.loads((table.schema.metadata or {}).get(_VARIED, b"[]")))


@contextmanager
def only_process(lock: Path, what: str) -> Iterator[None]:
    """Holds a file for this process; the lock of one that is killed goes with it.

    Raises `BusyError` if another process holds it. On Windows nothing is locked.
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    # A link at its name is not followed.
    with open(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BusyError(f"{what} is being written by another process") from error
        yield
