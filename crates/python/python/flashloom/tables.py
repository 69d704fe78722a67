"""Tables and streams of rows, in Arrow's columns."""

from __future__ import annotations

import array
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _flashloom
from .errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas
    import polars

    from .result import Result

__all__ = ["RunStream", "Stream", "Table"]


def library(name: str, extra: str | None = None) -> Any:
    """A library that is only needed here, and the extra of this package that installs it, if there is one."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        wanted = f"'flashloom[{extra}]'" if extra else name
        message = f"{name} is not installed, which this needs: pip install {wanted}"
        raise MissingLibraryError(message) from error


class Table:
    """Rows in memory, by column.

    Anything that reads the Arrow PyCapsule interface takes one without a copy: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, `duckdb.from_arrow(table)`.

    >>> table = experiment.timeline().read_all()  # doctest: +SKIP
    >>> table.column("iops")  # doctest: +SKIP
    """

    def __init__(self, inner: _flashloom.Table) -> None:
        self._inner = inner

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._inner)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._inner.column_names

    def column(self, name: str) -> array.array[int] | array.array[float] | list[Any]:
        """A column: an `array.array` of numbers without gaps, which NumPy takes without a copy; else a list.

        Raises `KeyError` if there is no such column.
        """
        code, values = self._inner.column(name)
        if code is None:
            assert isinstance(values, list)
            return values
        assert isinstance(values, bytes)
        numbers: array.array[int] | array.array[float] = array.array(code)
        numbers.frombytes(values)
        return numbers

    def to_pydict(self) -> dict[str, list[Any]]:
        """Every column as a list, by name."""
        return {name: list(self.column(name)) for name in self.column_names}

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a `pandas.DataFrame`. Raises `MissingLibraryError` without pandas."""
        frame: pandas.DataFrame = library("pandas").DataFrame({name: self.column(name) for name in self.column_names})
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The rows as a `polars.DataFrame`. Raises `MissingLibraryError` without polars."""
        frame: polars.DataFrame = library("polars").DataFrame(self)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<flashloom.Table of {len(self):,} rows: {', '.join(self.column_names)}>"


S = TypeVar("S", bound="Stream")


class Stream:
    """Rows that come in batches while they are read, each row once; memory does not grow with their number.

    Iterating gives a `Table` at a time. Whatever reads the Arrow PyCapsule interface takes one too:
    `pyarrow.RecordBatchReader.from_stream(stream)`. Raises `ClosedError` after `close`, and when two threads read at
    once.
    """

    def __init__(self, inner: _flashloom.Stream) -> None:
        self._inner = inner

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._inner.column_names

    def __iter__(self) -> Iterator[Table]:
        return self

    def __next__(self) -> Table:
        return Table(next(self._inner))

    def read_all(self) -> Table:
        """Reads what is left into one table."""
        return Table(self._inner.read_all())

    def to_pandas(self) -> pandas.DataFrame:
        """What is left as a `pandas.DataFrame`."""
        return self.read_all().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """What is left as a `polars.DataFrame`."""
        return self.read_all().to_polars()

    def close(self) -> None:
        """Ends what makes the rows."""
        self._inner.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()


class RunStream(Stream):
    """Rows of a run that goes on while they are read, at the pace of the reader."""

    def result(self) -> Result:
        """Result of the run, once the last row was read. Raises `ClosedError` before."""
        from .result import Result

        return Result(*self._inner.result())


def table_of(rows: list[Mapping[str, object]]) -> Table:
    """A table of rows that need not have the same fields."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(_flashloom.Table.of_columns([(name, _cells([row.get(name) for row in rows])) for name in names]))


def _cells(values: list[object]) -> list[Any]:
    """Values of one kind: mixed ones as text."""
    kinds = {bool if isinstance(value, bool) else type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int, float}:
        return values
    return [None if value is None else str(value) for value in values]
