"""Experiments: configurations as objects, and their runs."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from . import _flashloom
from ._jobs import Progress, file_name, wait
from .engine import Engine
from .errors import ConfigError, ExpectationError, UnknownKeyError, UnusedKeyWarning
from .result import Comparison, Result
from .tables import RunStream

__all__ = ["Experiment", "RunSection", "Section"]

#: Values of keys that vary, by key; those that vary together by a tuple of keys. `Any`, because the key of a mapping is
#: invariant: no union of both takes a dictionary of either.
VaryOption = Mapping[Any, object]

#: Between keys that vary together in an option.
_TOGETHER = "; "

_SECTIONS = ("workload", "host", "device", "buffer", "ftl", "run")

ProgressOption = bool | None | Callable[[Progress], object] | type | object
"""`None`: nothing is shown. `True`: a bar of tqdm if it is installed, else a line. A callable gets a `Progress`; a
tqdm, or its class, is used."""


class Section:
    """A section of a configuration, or the parameters of a policy in it: its keys as attributes.

    Reading gives the effective value; quantities are texts with a unit (`"5ms"`). Writing checks the value at once and
    raises `ConfigError`; what has to go together with other keys is checked by `Experiment.validate` and before a run.
    `del` goes back to what the text of the experiment says, or to the default.
    """

    _experiment: Experiment
    _path: str

    def __init__(self, experiment: Experiment, path: str) -> None:
        object.__setattr__(self, "_experiment", experiment)
        object.__setattr__(self, "_path", path)

    def _keys(self) -> list[str]:
        return [key[0] for key in self._experiment._catalog.keys(self._path)]

    def _tables(self) -> list[str]:
        tables = (path.partition(".") for path in self._experiment._catalog.tables())
        return [name for section, _, name in tables if name and section == self._path]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._keys():
            return self._experiment._value(f"{self._path}.{name}")
        if name in self._tables():
            return Section(self._experiment, f"{self._path}.{name}")
        raise self._unknown(name)

    def _unknown(self, name: str) -> AttributeError:
        try:
            self._experiment._catalog.check(f"{self._path}.{name}=")
        except ConfigError as error:
            return UnknownKeyError(str(error), [_parts(problem) for problem in error.problems])
        return AttributeError(f"`{self._path}` has no key `{name}`")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._keys():
            raise self._unknown(name)
        self._experiment._set(f"{self._path}.{name}", value)

    def __delattr__(self, name: str) -> None:
        if name not in self._keys():
            raise self._unknown(name)
        self._experiment._sets.pop(f"{self._path}.{name}", None)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self._keys(), *self._tables()])

    def _ipython_key_completions_(self) -> list[str]:
        return self._keys() + self._tables()

    def __getitem__(self, name: str) -> Any:
        """The key or table of that name, which may be no name of Python's, or a path: `host["deadline.batch"]`."""
        table, key = self._place(_key(name))
        return getattr(table, key)

    def __setitem__(self, name: str, value: object) -> None:
        table, key = self._place(_key(name))
        setattr(table, key, value)

    def _place(self, path: str) -> tuple[Section, str]:
        """The table of a path from here, and the name in it."""
        head, _, rest = path.partition(".")
        if not rest:
            return self, path
        if head not in self._tables():
            raise self._unknown(path)
        return Section(self._experiment, f"{self._path}.{head}")._place(rest)

    def to_dict(self) -> dict[str, Any]:
        """Every key with its effective value; absent ones left out. Raises `ConfigError` of one that is wrong."""
        values = {name: self._experiment._value(f"{self._path}.{name}") for name in self._keys()}
        return {name: value for name, value in values.items() if value is not None}

    def __repr__(self) -> str:
        lines = [f"{name} = {value!r}" for name, value in self.to_dict().items()]
        return "\n".join([f"[{self._path}]", *lines])


class RunSection(Section):
    """The section `[run]`; called, it runs the experiment: `experiment.run(verify=True)`."""

    def __call__(self, *, verify: bool = False, progress: ProgressOption = None) -> Result:
        """Runs the experiment once; a `[vary]` section is ignored, as by `flashloom run`.

        `verify` checks every flash command and every sector. `progress`: `True` for a bar, or a callable that gets a
        `Progress`. Other threads go on meanwhile; Ctrl-C ends the run with `KeyboardInterrupt`.

        Raises `ConfigError`, `InputError` (a recording, a job file), `CheckError` (accounts that do not add up).

        >>> experiment.run(progress=True).host.iops  # doctest: +SKIP
        """
        return Result(*wait(self._experiment._to_run().run(bool(verify)), progress))


S = TypeVar("S", bound=Section)


class _Part(Generic[S]):
    """A section as an attribute of an experiment: read as a `Section`, set key by key or by a dictionary."""

    def __init__(self, made: Callable[[Experiment, str], S]) -> None:
        self._made = made

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, experiment: Experiment | None, owner: type) -> S:
        if experiment is None:
            return self  # type: ignore[return-value]
        return self._made(experiment, self._name)

    def __set__(self, experiment: Experiment, values: Mapping[str, object]) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"a section is set key by key, or by a dict: experiment.{self._name}.KEY = VALUE")
        before = dict(experiment._sets)
        try:
            for path, value in _flattened({self._name: values}):
                experiment._set(path, value)
        except BaseException:
            experiment.__dict__["_sets"] = before
            raise


class Experiment:
    """A configuration of the whole stack, as a file has it, with keys as attributes.

    `set` overrides keys (`{"ftl.gc": "greedy"}` or nested), `vary` gives keys several values for a comparison, `seeds`
    repeats each run with that many seeds (2 or more), `policies` adds classes of `flashloom.policy`.

    >>> experiment = Experiment("experiments/quickstart.toml")  # doctest: +SKIP
    >>> experiment.host.scheduler = "deadline"  # doctest: +SKIP
    >>> experiment.run().host.iops  # doctest: +SKIP

    Raises `ConfigError` with every problem: file, line, column, what was found and expected, the nearest valid name.
    """

    workload = _Part(Section)
    """The origin of the requests, and the times at which they arrive."""
    host = _Part(Section)
    """The host's block layer and its I/O scheduler."""
    device = _Part(Section)
    """The drive: its geometry, spare space, timing, link and failures."""
    buffer = _Part(Section)
    """The controller's write buffer."""
    ftl = _Part(Section)
    """The flash translation layer."""
    run = _Part(RunSection)
    """The simulation itself; called, it runs the experiment."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        set: Mapping[str, object] | None = None,
        vary: VaryOption | None = None,
        seeds: int | None = None,
        policies: Sequence[type] = (),
    ) -> None:
        path = file_name(path)
        text, folder = wait(_flashloom.read_source(path))
        self._begin((path, text, str(folder)), set, vary, seeds, policies)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        set: Mapping[str, object] | None = None,
        vary: VaryOption | None = None,
        seeds: int | None = None,
        policies: Sequence[type] = (),
    ) -> Experiment:
        """Reads a file in TOML; relative paths in it start from its folder. The same as `Experiment(path)`."""
        return cls(path, set=set, vary=vary, seeds=seeds, policies=policies)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        name: str = "<text>",
        set: Mapping[str, object] | None = None,
        vary: VaryOption | None = None,
        seeds: int | None = None,
        policies: Sequence[type] = (),
    ) -> Experiment:
        """Reads a text in TOML; relative paths in it start from the working directory."""
        if not isinstance(text, str):
            raise TypeError(f"the text of an experiment is a str, not {type(text).__name__}")
        experiment = cls.__new__(cls)
        experiment._begin((name, text, ""), set, vary, seeds, policies)
        return experiment

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, object],
        *,
        set: Mapping[str, object] | None = None,
        vary: VaryOption | None = None,
        seeds: int | None = None,
        policies: Sequence[type] = (),
    ) -> Experiment:
        """Takes sections and keys from a dictionary: `{"ftl": {"gc": "greedy"}}`, or paths: `{"ftl.gc": "greedy"}`.

        Problems point into the text that the dictionary stands for, named `<dict>`. Raises `TypeError` for values that
        no configuration has.
        """
        text = _toml(values)
        return cls.from_text(text, name="<dict>", set=set, vary=vary, seeds=seeds, policies=policies)

    def _begin(
        self,
        source: tuple[str, str, str],
        set: Mapping[str, object] | None,
        vary: VaryOption | None,
        seeds: int | None,
        policies: Sequence[type],
    ) -> None:
        self.__dict__["_source"] = source
        self.__dict__["_policies"] = _classes(policies)
        self.__dict__["_sets"] = {}
        self.__dict__["_vary"] = {}
        self.__dict__["_seeds"] = _checked_seeds(seeds)
        self.__dict__["_known"] = None
        self._attach()
        for path, value in _flattened(set or {}):
            self._set(path, value, check=False)
        self._vary.update(_checked_vary(self._catalog, vary))
        self.validate()

    def _attach(self) -> None:
        """Makes what is not copied or pickled."""
        self.__dict__["_catalog"] = _flashloom.Catalog(list(self._policies))

    def __setattr__(self, name: str, value: object) -> None:
        if name in _SECTIONS:
            super().__setattr__(name, value)
            return
        raise UnknownKeyError(f"`{name}` is no section: expected one of {', '.join(_SECTIONS)}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"`{name}` cannot be deleted")

    # Keys.

    def _set(self, path: str, value: object, check: bool = True) -> None:
        option = f"{path}={_literal(path, value)}"
        if check:
            self._catalog.check(option)
        self._sets[path] = option

    def _value(self, path: str) -> Any:
        if path in self._sets:
            _, text = self._catalog.check(self._sets[path])
            return None if text is None else json.loads(text)
        value = self._effective()
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            table, _, name = path.rpartition(".")
            default = next(key[1] for key in self._catalog.keys(table) if key[0] == name)
            return None if default is None else json.loads(default)
        return value

    def _effective(self) -> Any:
        state = tuple(self._sets.values())
        known = self._known
        if known is None or known[0] != state:
            known = (state, json.loads(self._load().config()))
            self.__dict__["_known"] = known
        return known[1]

    def _load(
        self,
        vary: Mapping[str, str] | None = None,
        seeds: int | None = None,
        skip_unfit: bool = False,
    ) -> _flashloom.Loaded:
        name, text, folder = self._source
        varies = None if vary is None else list(vary.values())
        varied = _paths(vary or ())
        sets = [option for path, option in self._sets.items() if path not in varied]
        return _flashloom.Loaded(name, text, folder, sets, varies, seeds, skip_unfit, list(self._policies))

    def _to_run(
        self,
        vary: Mapping[str, str] | None = None,
        seeds: int | None = None,
        skip_unfit: bool = False,
    ) -> _flashloom.Loaded:
        """Loads, and warns of keys without effect."""
        loaded = self._load(vary, seeds, skip_unfit)
        for note in loaded.notes():
            warnings.warn(note, UnusedKeyWarning, stacklevel=3)
        return loaded

    def validate(self) -> None:
        """Checks all keys, alone and together. Raises `ConfigError` with every problem."""
        self._load()
        if self._vary or self._seeds:
            self._load(self._vary, self._seeds)

    def explain(self, name: str) -> Page:
        """Help on a key, a value, a policy, a section or a field of a result. Raises `ConfigError` of another name."""
        return Page(self._catalog.explain(name))

    # Runs.

    def compare(
        self,
        *,
        vary: VaryOption | None = None,
        seeds: int | None = None,
        jobs: int | None = None,
        verify: bool = False,
        bounds: bool = False,
        skip_unfit: bool = False,
        columns: Sequence[str] = (),
        progress: ProgressOption = None,
    ) -> Comparison:
        """Runs every combination of the keys that vary: those given here or to the constructor, else `[vary]`.

        `vary`: `{"host.scheduler": ["noop", "cfq"], "host.queue_depth": "1..4"}`; a key that varies need not be unset
        before. Keys vary together as a tuple: `{("device.preset", "device.rated_cycles"): [("mlc-16g", 3000), ...]}`.
        `seeds`: runs of each combination, 2 or more.
        `jobs`: threads, as many as processors if `None`. `bounds`: how far each run is from the best possible.
        `skip_unfit`: leaves out combinations whose values cannot work together. `columns`: the figures that are
        printed, as `--columns` names them: `["read.p99_9", "waf"]`; the usual ones without. For the rest see `run`.

        >>> experiment.compare(vary={"ftl.gc": ["greedy", "fifo"]}, seeds=5).to_pandas()  # doctest: +SKIP
        """
        given = _checked_vary(self._catalog, vary)
        replaced = _paths(given)
        kept = {paths: option for paths, option in self._vary.items() if not replaced & _paths([paths])}
        chosen = {**kept, **given}
        loaded = self._to_run(chosen, _checked_seeds(seeds) or self._seeds, skip_unfit)
        threads = _whole("jobs", jobs, 1, 1024) or 0
        names = _names(columns)
        self._catalog.check_columns(names, list(json.loads(loaded.variants()[0])), bool(bounds))
        text = wait(loaded.compare(bool(verify), bool(bounds), threads, skip_unfit), progress)
        return Comparison(text, names, self._policies)

    def expect(self, **options: Any) -> Comparison:
        """Compares, and checks the expectations of the experiment (`[[expect]]`); options are those of `compare`.

        Raises `ExpectationError` if one does not hold, or there is none.
        """
        comparison = self.compare(**options)
        expectations = comparison.expectations
        if not expectations:
            raise ExpectationError("this experiment has no expectations: [[expect]] lists them", comparison)
        broken = [f"{one.claim}: {one.formula} is {one.get('value')}" for one in expectations if not one.holds]
        if broken:
            count = f"{len(broken)} of {len(expectations)} expectations do not hold"
            raise ExpectationError("\n".join([count, *broken]), comparison)
        return comparison

    def log(self, *, verify: bool = False, batch_rows: int = 65_536) -> RunStream:
        """Runs the experiment while a row for each request is read, in the order of completion: the columns that
        `flashloom run --log` writes, times in nanoseconds. The run waits for its reader.

        >>> with experiment.log() as log:  # doctest: +SKIP
        ...     slow = [batch.column("latency_ns") for batch in log]
        >>> log.result().host.iops  # doctest: +SKIP
        """
        rows = _whole("batch_rows", batch_rows, 1, 1 << 24) or 1
        return RunStream(self._to_run().log(bool(verify), rows))

    def timeline(self, *, verify: bool = False, batch_rows: int = 4_096) -> RunStream:
        """Runs the experiment while a row for each interval of its timeline is read (`run.timeline_interval`): the
        columns that `flashloom run --timeline` writes.

        >>> experiment.timeline().to_pandas().plot("time_ns", "iops")  # doctest: +SKIP
        """
        rows = _whole("batch_rows", batch_rows, 1, 1 << 24) or 1
        return RunStream(self._to_run().timeline(bool(verify), rows))

    def engine(self, *, verify: bool = False, bare: bool = False, progress: ProgressOption = None) -> Engine:
        """The engine of this configuration, its drive aged, to be stepped; `bare` for the drive without a host."""
        return Engine(wait(self._load().engine(bool(verify), bool(bare)), progress))

    # Texts, copies.

    def to_toml(self) -> str:
        """The effective configuration as a file that reads back to it; defaults that have no effect are comments."""
        return self._load().to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The effective configuration as a dictionary of sections, as `config` of a result."""
        values: dict[str, Any] = json.loads(self._load().config())
        return values

    def combinations(self) -> list[dict[str, Any]]:
        """The varied values of every run of `compare`, in its order. Raises `ConfigError` if nothing varies."""
        return [json.loads(one) for one in self._load(self._vary, self._seeds).variants()]

    def copy(self) -> Experiment:
        """An experiment of its own with the same values."""
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_source", "_policies", "_sets", "_vary", "_seeds")
        return {name: copy.copy(self.__dict__[name]) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _known=None)
        self._attach()

    def __eq__(self, other: object) -> bool:
        """True if both have the same effective configuration, and vary the same keys."""
        if not isinstance(other, Experiment):
            return NotImplemented
        mine, others = ((one.to_dict(), one._vary, one._seeds, one._policies) for one in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    def __repr__(self) -> str:
        changed = "".join(f", {option}" for option in self._sets.values())
        return f"<flashloom.Experiment {self._source[0]}{changed}>"

    _source: tuple[str, str, str]
    _policies: tuple[type, ...]
    _sets: dict[str, str]
    _vary: dict[str, str]
    _seeds: int | None
    _known: tuple[tuple[str, ...], Any] | None
    _catalog: _flashloom.Catalog


class Page(str):
    """A page of help, which a notebook or a prompt shows as it is."""

    def __repr__(self) -> str:
        return str(self)


def _parts(problem: Any) -> tuple[str, int | None, int | None, str, str, str | None, str]:
    return (
        problem.file,
        problem.line,
        problem.column,
        problem.found,
        problem.expected,
        problem.help,
        problem.text,
    )


def _whole(name: str, value: object, least: int, most: int) -> int | None:
    """A whole number within a range, or `None`."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    number = int(value.__index__())
    if not least <= number <= most:
        raise ValueError(f"{name} is from {least:,} to {most:,}, not {number:,}")
    return number


def _names(columns: Sequence[str]) -> list[str]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError("columns are a list of str, such as [\"read.p99_9\", \"waf\"]")
    return list(columns)


def _checked_seeds(seeds: int | None) -> int | None:
    """A number of seeds: one alone is `run.seed`, and says nothing of chance."""
    return _whole("seeds", seeds, 2, 100_000)


def _classes(policies: Sequence[type]) -> tuple[type, ...]:
    """Policies in Python, as a list of classes."""
    if isinstance(policies, type) or not isinstance(policies, Iterable):
        raise TypeError(f"policies are a list of classes, not {getattr(policies, '__name__', policies)!r}")
    return tuple(policies)


def _key(name: object) -> str:
    """A key or its path, of nothing but what keys are made of: it becomes a part of a text in TOML."""
    if not isinstance(name, str):
        raise TypeError(f"a key is a str, not {type(name).__name__}")
    if not re.fullmatch(r"[\w-]+(\.[\w-]+)*", name, re.ASCII):
        raise ConfigError(f"{name!r} is no key: expected letters, digits, `_` and `-`, with `.` between names")
    return name


def _flattened(values: Mapping[str, object], path: str = "") -> Iterable[tuple[str, object]]:
    """Keys by path, out of nested dictionaries."""
    if not isinstance(values, Mapping):
        raise TypeError(f"keys and values are a dict, not {type(values).__name__}")
    for name, value in values.items():
        _key(name)
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{path}{name}.")
        else:
            yield path + name, value


def _scalar(path: str, value: object) -> object:
    """A plain value, out of those of NumPy and of paths."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        plain: object = value.item()
        if isinstance(plain, (str, bool, int, float)):
            return plain
    raise TypeError(f"`{path}` takes a str, an int, a float or a bool, not {type(value).__name__}")


def _literal(path: str, value: object) -> str:
    """A value as a configuration has it."""
    value = _scalar(path, value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value.bit_length() > 128:
            raise ConfigError(f"`{path}` is a number of {value.bit_length()} bits, which no key takes")
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise ConfigError(f"`{path}` is {value!r}, which is no text in Unicode")
    return text


def _toml(values: Mapping[str, object]) -> str:
    """A dictionary as a text in TOML; `vary` and `expect` too."""
    lines = []
    for path, value in _flattened(values):
        head, _, rest = path.partition(".")
        if head == "expect" and isinstance(value, (list, tuple)):
            continue
        key = f'vary."{rest}"' if head == "vary" else path
        if isinstance(value, (list, tuple, range)):
            text = f"[{', '.join(_literal(path, item) for item in value)}]"
        else:
            text = _literal(path, value)
        lines.append(f"{key} = {text}")
    expectations = values.get("expect", ())
    for one in expectations if isinstance(expectations, (list, tuple)) else ():
        lines.append("[[expect]]")
        lines += [f"{path} = {_literal(path, value)}" for path, value in _flattened(one)]
    return "\n".join(lines) + "\n"


def _together(catalog: _flashloom.Catalog, paths: tuple[str, ...], rows: object) -> str:
    """The option that varies keys together; `rows` has a tuple of their values for each run."""
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise TypeError(f"{', '.join(paths)} vary over a list of tuples, not {type(rows).__name__}")
    rows = [row if isinstance(row, (tuple, list)) else (row,) for row in rows]
    for row in rows:
        if len(row) != len(paths):
            raise ValueError(f"{row!r} has {len(row)} values, of the {len(paths)} keys {', '.join(paths)}")
        for path, value in zip(paths, row):
            catalog.check(f"{path}={_literal(path, value)}")
    lists = (",".join(_literal(path, row[at]) for row in rows) for at, path in enumerate(paths))
    return _TOGETHER.join(f"{path}={values}" for path, values in zip(paths, lists))


def _paths(options: Iterable[str]) -> set[str]:
    """The keys of options that vary."""
    return {path for paths in options for path in paths.split(_TOGETHER)}


def _checked_vary(catalog: _flashloom.Catalog, vary: VaryOption | None) -> dict[str, str]:
    """Options that vary keys, by path."""
    options: dict[str, str] = {}
    vary = {} if vary is None else vary
    if not isinstance(vary, Mapping):
        raise TypeError(f"keys and values are a dict, not {type(vary).__name__}")
    for key, of in vary.items():
        if isinstance(key, tuple):
            options[_TOGETHER.join(key)] = _together(catalog, key, of)
        else:
            options.update(_checked_axes(catalog, {key: of}))
    return options


def _checked_axes(catalog: _flashloom.Catalog, vary: Mapping[str, object]) -> dict[str, str]:
    """Options of keys that each vary alone, by path."""
    options = {}
    for path, values in _flattened(vary):
        if isinstance(values, str):
            options[path] = f"{path}={values}"
            continue
        if not isinstance(values, Iterable) or isinstance(values, bytes):
            raise TypeError(f"`{path}` varies over a list, or a text such as \"1..4\", not {type(values).__name__}")
        listed = list(values)
        for value in listed:
            catalog.check(f"{path}={_literal(path, value)}")
        options[path] = f"{path}={','.join(_literal(path, value) for value in listed)}"
    return options
