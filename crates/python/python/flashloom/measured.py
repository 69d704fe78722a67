"""Models beside measurements of real drives: `validate` says how far a model is from one, `fit` makes a model of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Literal

from . import _flashloom
from ._fits import Asked, FitError, load, run, run_on
from ._jobs import file_name, wait
from ._task import count
from .executors import checked
from .experiment import Experiment, ProgressOption, _flattened, _literal, _whole
from .result import Record, _html, _Part, _text

__all__ = ["Fit", "FitError", "Validation", "fit", "validate"]

File = str | os.PathLike[str]


class _Measured(Record):
    """A result with the text that the program writes, which prints as the program prints it."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self._text = text

    def to_json(self) -> str:
        """The text that the program writes with `--json`."""
        return self._text

    def _parts(self) -> list[_Part]:
        return _flashloom.measured(self._text)

    def __repr__(self) -> str:
        return _text(self._parts())

    def _repr_html_(self) -> str:
        return _html(self._parts())


class Validation(_Measured):
    """A drive beside measurements: `comparisons` has one for each, with recorded and simulated figures."""


class Fit(_Measured):
    """Parameters that repeat measurements best: `parameters`, `cells` and their errors, what is not determined.

    `preset` is the file of the drive; `Experiment.from_text(fit.preset)` is an experiment on it.
    """

    preset: str
    """The fitted drive as a file: what `device.preset = "./mydrive.toml"` takes."""

    def __init__(self, text: str, preset: str) -> None:
        super().__init__(text)
        self.preset = preset

    def write(self, path: File) -> None:
        """Writes the file of the drive."""
        Path(path).write_text(self.preset, encoding="utf-8")


def validate(
    experiment: Experiment | File,
    against: Sequence[File] | File = (),
    *,
    set: Mapping[str, object] | None = None,
    requests: int = 640_000,
    progress: ProgressOption = None,
) -> Validation:
    """Repeats measurements of a real drive on the drive of an experiment: `against`, recordings with latencies or the
    JSON of fio; without any, the recording that the experiment replays.

    `set` overrides keys; `requests`: how many to simulate at most of a load of which only figures were measured.

    >>> flashloom.validate("drive.toml", ["disk.blktrace.0", "randread.json"])  # doctest: +SKIP

    Raises `ConfigError`, and `InputError` for a measurement that cannot be that of a device.
    """
    source, sets, policies = _source(experiment, set)
    most = _whole("requests", requests, 1_000, 1 << 48) or 0
    job = _flashloom.validate(source, sets, list(policies), _files("against", against), most)
    return Validation(wait(job, progress))


def fit(
    inputs: Sequence[File] | File,
    start: Experiment | File,
    *,
    vary: Mapping[str, object] | None = None,
    set: Mapping[str, object] | None = None,
    hold_out: Literal["second", "each", "none"] = "second",
    requests: int = 20_000,
    slices: int = 8,
    restarts: int = 4,
    seed: int = 1,
    journal: File | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    in_flight: int = 256,
    progress: ProgressOption = None,
) -> Fit:
    """Looks for the parameters of a drive that repeat measurements best: the JSON of fio, recordings with latencies,
    curves of the rate over the bytes written.

    `start`: a preset, a file or an experiment. `vary`: a pair of ends for a quantity, a list of values for any other
    key; without it the section `[fit]` of the start, else the times, rates and ways of its drive. `hold_out`: cells
    that no search sees, `"second"`, `"each"` in turn or `"none"`. `requests` and `slices`: how much of a measurement
    is simulated. `journal`: a file that keeps every simulation, so that a fit that was interrupted goes on. `jobs`:
    threads, as many as processors if `None`. `executor`: makes the simulations in their place, `in_flight` at a time;
    the result is the same.

    >>> found = flashloom.fit("known.json", "mlc-16g", vary={"device.read_time": ("20us", "200us")})  # doctest: +SKIP
    >>> found.write("mydrive.toml")  # doctest: +SKIP

    Raises `ConfigError`, `InputError` for a measurement or a journal that is wrong, `FitError` if the executor breaks,
    `WorkerError` if a worker lacks an input, or has another build of this package.
    """
    if hold_out not in ("second", "each", "none"):
        raise ValueError(f'hold_out is "second", "each" or "none", not {hold_out!r}')
    checked(executor)
    if executor is not None and jobs is not None:
        raise ValueError("jobs are threads of this process: an executor has in_flight simulations at a time")
    threads, places = _whole("jobs", jobs, 1, 1024) or 0, count("in_flight", in_flight, 1024)
    experiment, name = None, ""
    sets = _options(set)
    if isinstance(start, Experiment):
        if start._policies:
            raise ValueError("a fit starts from an experiment without policies in Python")
        if start._vary:
            raise ValueError(f"a fit starts from one drive, and the experiment varies {', '.join(start._vary)}")
        experiment, sets = start._source, {**start._sets, **sets}
    else:
        name = file_name(start)
    rest = (
        _ranges(vary),
        hold_out,
        _whole("requests", requests, 1_000, 1 << 48) or 0,
        _whole("slices", slices, 1, 1_000) or 0,
        _whole("restarts", restarts, 1, 100) or 0,
        _whole("seed", seed, 0, (1 << 64) - 1) or 0,
    )
    asked = Asked(_files("inputs", inputs), name, experiment, sets, rest)
    kept = None if journal is None else file_name(journal)
    loaded = load(asked)
    if executor is None:
        return Fit(*run(loaded, kept, threads, progress))
    return Fit(*run_on(loaded, asked, executor, kept, places, progress))


_Source = tuple[str, str, str]


def _source(
    experiment: Experiment | File, set: Mapping[str, object] | None
) -> tuple[_Source, list[str], tuple[type, ...]]:
    """The text of an experiment, its options with these, and its policies."""
    if not isinstance(experiment, Experiment):
        experiment = Experiment(experiment)
    return experiment._source, list({**experiment._sets, **_options(set)}.values()), experiment._policies


def _options(set: Mapping[str, object] | None) -> dict[str, str]:
    """Options that set keys, by their keys."""
    return {path: f"{path}={_literal(path, value)}" for path, value in _flattened(set or {})}


def _files(name: str, files: Sequence[File] | File) -> list[str]:
    """The names of some files, or of one."""
    if isinstance(files, (str, os.PathLike)):
        return [file_name(files)]
    if not isinstance(files, Iterable):
        raise TypeError(f"{name} is a file or a list of files, not {type(files).__name__}")
    return [file_name(file) for file in files]


def _ranges(vary: Mapping[str, object] | None) -> list[str]:
    """Options of the parameters: a pair of ends, a list of values, or a text as the program takes it."""
    options = []
    for path, values in _flattened(vary or {}):
        if isinstance(values, str):
            options.append(f"{path}={values}")
        elif isinstance(values, tuple) and len(values) == 2:
            # The program takes ends without quotes.
            options.append(f"{path}={values[0]}..{values[1]}")
        elif isinstance(values, list):
            options.append(f"{path}={','.join(_literal(path, value) for value in values)}")
        else:
            raise TypeError(f"`{path}` varies between a pair of ends or over a list, not {type(values).__name__}")
    return options
