"""Results of runs and comparisons."""

from __future__ import annotations

import difflib
import html
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _flashloom
from .errors import ConfigError
from .histogram import Histogram
from .tables import Table, table_of

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Comparison", "Means", "Record", "Result", "Run"]

# Parts of a result that are no figures: its configuration, origin and cost.
_NO_FIGURES = ("schema", "config", "provenance", "run", "hints")

# What a figure over several seeds has beside its mean.
_PARTS_OF_MEANS = ("half_width", "difference", "difference_half_width")

# A part of a text: as the program prints it and, if it is a table, its headings, the number of columns of names, and
# its rows.
_Part = tuple[str, tuple[list[str], int, list[list[str]]] | None]

# Colours of the page are kept, so that it is readable on a light and on a dark one.
_STYLE = "border-collapse:collapse;color:inherit;background:transparent;font-variant-numeric:tabular-nums"
_CELL = "padding:.15em .8em;border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent);text-align:"


class Record(Mapping[str, Any]):
    """An object of a result: its fields as attributes and as items, `record.host.iops` or `record["host"]["iops"]`.

    A path works too: `record["host.latency_ns.all.p99"]`. Fields that do not apply are absent. Raises `AttributeError`
    or `KeyError`, with the nearest name.
    """

    def __init__(self, fields: dict[str, Any], path: str = "result") -> None:
        self._fields, self._path = fields, path

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"a field of a result is named by a str, not {type(name).__name__}")
        if name in self._fields:
            return self._wrapped(name, self._fields[name])
        head, _, rest = name.partition(".")
        if rest and isinstance(self._fields.get(head), dict):
            return self[head][rest]
        raise KeyError(self._missing(name))

    def _wrapped(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return Record(value, f"{self._path}.{name}")
        if isinstance(value, list):
            return [self._wrapped(name, item) for item in value]
        return value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._fields:
            raise AttributeError(self._missing(name))
        return self._wrapped(name, self._fields[name])

    def _missing(self, name: str) -> str:
        moved = _flashloom.moved(f"{self._path}.{name}".removeprefix("result."))
        if moved is not None:
            return f"`{self._path}` has no field `{name}` any more: `{moved}` has taken its place"
        near = difflib.get_close_matches(name, self._fields, n=1)
        suggestion = f": did you mean `{near[0]}`?" if near else ""
        return f"`{self._path}` has no field `{name}`{suggestion}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self._fields if name.isidentifier())})

    def __eq__(self, other: object) -> bool:
        """True for a record or a dictionary of the same fields."""
        return self._fields == (other._fields if isinstance(other, Record) else other)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """A copy of all fields, as dictionaries and lists."""
        fields: dict[str, Any] = json.loads(json.dumps(self._fields))
        return fields

    def flat(self) -> dict[str, object]:
        """Every number, text and flag by its path, such as `host.latency_ns.all.p99`; lists are left out."""
        return dict(_flat("", self._fields))

    def __repr__(self) -> str:
        return f"<{self._path}: {', '.join(self._fields)}>"


def _flat(path: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(f"{path}{name}.", value)
        elif not isinstance(value, list):
            yield path + name, value


def _figures(fields: Mapping[str, Any]) -> dict[str, object]:
    """Every figure of a result by its path."""
    return dict(_flat("", {name: value for name, value in fields.items() if name not in _NO_FIGURES}))


class _Rows(ABC):
    """What is a table of a row for each run."""

    @abstractmethod
    def _rows(self) -> list[Mapping[str, object]]:
        """The rows, each with its fields by path."""

    def to_table(self) -> Table:
        """A row for each run: varied keys, then every figure by its path; no value where one does not apply."""
        return table_of(self._rows())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of `to_table` as a `pandas.DataFrame`. Raises `MissingLibraryError` without pandas."""
        return self.to_table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows of `to_table` as a `polars.DataFrame`. Raises `MissingLibraryError` without polars."""
        return self.to_table().to_polars()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.to_table().__arrow_c_schema__()


class Result(Record, _Rows):
    """Result of a run; every field that the program writes with `--json`. `explain("result.host.iops")` describes one.

    >>> result.host.iops, result["host"]["latency_ns"]["all"]["p99"]  # doctest: +SKIP
    """

    fio: dict[str, Any] | None
    """The result in fio's own format, if the workload is a fio job file."""

    def __init__(
        self,
        text: str,
        histograms: list[tuple[str, tuple[list[bytes], int, float, float, int, int]]] | None = None,
        fio: str | None = None,
    ) -> None:
        super().__init__(json.loads(text))
        self._text = text
        self._histograms = {name: Histogram(*parts) for name, parts in histograms or ()}
        self.fio = None if fio is None else json.loads(fio)

    def histogram(self, of: str = "all") -> Histogram:
        """Whole distribution of latency from arrival to completion of `all` requests, of `read`s, `write`s, `flush`es
        or `discard`s; of writes that are durable (`fua_write`) or come behind a flush (`preflush_write`); or of all
        requests from dispatch to completion (`device`), the part that the drive adds.

        Raises `KeyError` for another name, or for a result that was read from JSON and has none.
        """
        if of not in self._histograms:
            names = ", ".join(self._histograms) or "none"
            raise KeyError(f"this result has no histogram `{of}`: there is {names}")
        return self._histograms[of]

    @classmethod
    def from_json(cls, text: str) -> Result:
        """A result that the program wrote; without histograms. Raises `ValueError` for another text."""
        text = _flashloom.of_today(text)
        fields = json.loads(text)
        schema = fields.get("schema") if isinstance(fields, dict) else None
        if schema != _flashloom.RESULT_SCHEMA:
            found = _flashloom.visible(ascii(schema))
            raise ValueError(f"`schema` is {found}: a result of a run has {_flashloom.RESULT_SCHEMA!r}")
        return cls(text)

    def to_json(self) -> str:
        """The text that `flashloom run --json` writes."""
        return self._text

    def _rows(self) -> list[Mapping[str, object]]:
        return [_figures(self._fields)]

    def __repr__(self) -> str:
        """What `flashloom run` prints, hints included, but for what it cost; for another version's, names of fields."""
        try:
            return _text(_flashloom.summary(self._text))
        except ConfigError:
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        try:
            return _html(_flashloom.summary(self._text))
        except ConfigError:
            return None


class Run(Record):
    """A run of a comparison: the values that vary in `vary`, and the fields of its result."""


class Means(_Rows):
    """A row for each combination of several seeds: the varied keys, how many `seeds`, and each figure by its path.

    The column of a path is the mean; `PATH.half_width` is half the width of its 95 % interval. `PATH.difference` is the
    mean difference to the first combination's run of the same seed, `PATH.difference_half_width` that of its interval.
    """

    def __init__(self, repeated: list[dict[str, Any]]) -> None:
        self._repeated = repeated

    def __len__(self) -> int:
        return len(self._repeated)

    def _rows(self) -> list[Mapping[str, object]]:
        return [
            {**one["vary"], "seeds": len(one["seeds"]), **self._columns(one["figures"])} for one in self._repeated
        ]

    @staticmethod
    def _columns(figures: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
        parts = (("", "mean"), *((f".{name}", name) for name in _PARTS_OF_MEANS))
        return {
            path + suffix: figure[name]
            for path, figure in figures.items()
            for suffix, name in parts
            if name in figure
        }


class Comparison(_Rows):
    """Results of a comparison, in the order of its combinations: `len`, iteration and `comparison[0]` give the runs.

    It prints as `flashloom compare` does: a row for each combination, with seeds means, their intervals and the
    differences to the first, then the hints; `table` prints other columns.
    """

    def __init__(self, text: str, columns: Sequence[str] = (), policies: tuple[type, ...] = ()) -> None:
        self._text = text
        self._columns, self._policies = tuple(columns), policies
        self._fields: dict[str, Any] = json.loads(text)

    @property
    def runs(self) -> list[Run]:
        """The runs, each with `vary` and the fields of its result."""
        return [
            Run({"vary": run["vary"], **run["result"]}, f"comparison[{at}]")
            for at, run in enumerate(self._fields["runs"])
        ]

    @property
    def repeated(self) -> list[Record]:
        """For each combination with several seeds, every figure's mean and half the width of its 95 % interval."""
        return [Record(one, "comparison.repeated") for one in self._fields.get("repeated", [])]

    @property
    def means(self) -> Means:
        """Means over the seeds with their intervals, as a table. Raises `ValueError` if there was one seed.

        >>> experiment.compare(vary={"ftl.gc": ["greedy", "fifo"]}, seeds=5).means.to_pandas()  # doctest: +SKIP
        """
        if not self._fields.get("repeated"):
            raise ValueError("each combination was run once: `compare(seeds=5)` has means")
        return Means(self._fields["repeated"])

    @property
    def left_out(self) -> list[Record]:
        """Combinations that were left out because their values cannot work together, with the problems."""
        return [Record(one, "comparison.left_out") for one in self._fields.get("left_out", [])]

    @property
    def expectations(self) -> list[Record]:
        """The expectations of the experiment: `claim`, `formula`, `value`, bounds, and whether it `holds`."""
        return [Record(one, "comparison.expectations") for one in self._fields.get("expectations", [])]

    def __len__(self) -> int:
        return len(self._fields["runs"])

    def __getitem__(self, at: int) -> Run:
        return self.runs[at]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comparison) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> str:
        """The text that `flashloom compare --json` writes."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """A copy of all fields, as dictionaries and lists."""
        fields: dict[str, Any] = json.loads(self._text)
        return fields

    def _rows(self) -> list[Mapping[str, object]]:
        return [{**run["vary"], **_figures(run["result"])} for run in self._fields["runs"]]

    def table(self, *columns: str) -> str:
        """The text that `flashloom compare --columns` prints: of these columns, else of those given to `compare`, else
        the usual ones. A column is the end of a field's path, such as `read.p99_9` or `waf`; `usual` stands for the
        usual ones. Raises `ConfigError` for one that is none.
        """
        return _text(self._parts(columns))

    def _parts(self, columns: Sequence[str] = ()) -> list[_Part]:
        catalog = _flashloom.Catalog(list(self._policies))
        return catalog.comparison(self._text, list(columns or self._columns))

    def __repr__(self) -> str:
        return _text(self._parts())

    def _repr_html_(self) -> str:
        return _html(self._parts())


def _text(parts: list[_Part]) -> str:
    return "".join(text for text, _ in parts).strip("\n")


def _html(parts: list[_Part]) -> str:
    """The parts of a text for a notebook: tables, and paragraphs between them."""
    return "".join(_table(*table) if table else _paragraphs(text) for text, table in parts)


def _table(header: list[str], names: int, rows: list[list[str]]) -> str:
    def cells(tag: str, row: list[str]) -> str:
        sides = (f"<{tag} style='{_CELL}{'left' if at < names else 'right'}'>" for at in range(len(row)))
        return "".join(f"{side}{html.escape(cell.strip())}</{tag}>" for side, cell in zip(sides, row))

    head = f"<thead><tr>{cells('th', header)}</tr></thead>" if any(header) else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table style='{_STYLE}'>{head}<tbody>{body}</tbody></table>"


def _paragraphs(text: str) -> str:
    blocks = (block for block in text.split("\n\n") if block.strip())
    return "".join(f"<p style='white-space:pre-line'>{html.escape(block.strip())}</p>" for block in blocks)
