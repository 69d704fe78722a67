"""A run in another process or on another machine: what is sent there, and what comes back."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import _flashloom
from ._code import code_of
from ._jobs import wait
from .errors import Error
from .experiment import Experiment, _whole
from .inputs import INPUT_KEYS, Input, cache_folder, input_of, located
from .result import Result
from .spaces import Point
from .tables import library

__all__ = ["Failure", "Outcome", "Task", "WorkerError", "count", "run", "task_of"]

_SEED = "run.seed"


class WorkerError(Error):
    """A worker that cannot run anything: it lacks a module or an input, or has another one."""


@dataclass(frozen=True)
class Failure:
    """Why a run has no result."""

    type: str
    """Name of the exception's class."""
    message: str
    """The exception as text: for a configuration, what the program prints."""
    traceback: str
    """Where it was raised."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """An exception as it is kept."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


@dataclass(frozen=True)
class Outcome:
    """What came of a run: what was measured, or why there is nothing."""

    measured: Any = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Task:
    """A run that is known by what its result depends on."""

    id: str
    """Hash of the effective configuration with the contents of its inputs, of policies in Python, and of the version:
    the same on every machine, at any time, in any order."""
    seed: int
    """`run.seed`."""
    values: Mapping[str, Any]
    """The varied keys, as the effective configuration has them."""
    config: str
    """The effective configuration as JSON; inputs by their hashes."""
    experiment: Experiment | None
    """What is run; `None` if its values cannot work together."""
    inputs: Mapping[str, Input]
    """The input of each key that names one."""
    verify: bool
    """True if every flash command and every sector is checked."""
    failure: Failure | None = None
    """Why it cannot be run."""

    def packed(self, measure: Callable[[Result], Any], *functions: object) -> bytes:
        """The run as bytes for `run`; policies, and functions that `measure` calls, travel with their code."""
        assert self.experiment is not None, "only what can be run is packed"
        with _by_value([*self.experiment._policies, *functions]) as dumps:
            packed: bytes = dumps((self.experiment, dict(self.inputs), self.verify, measure))
        return packed

    def drive(self) -> str | None:
        """File of the cache that its aged drive is kept in; `None` for a drive that is aged as fast, or no cache."""
        folder = _cache()
        if folder is None or self.experiment is None:
            return None
        return self.experiment._load().aged_drive(self.verify, folder)


def task_of(experiment: Experiment, point: Point, *, verify: bool) -> Task:
    """The run of an experiment with some values.

    Raises `ConfigError` for a key or value that is wrong alone, `InputError` for an input that cannot be had.
    """
    variant = experiment.copy()
    for path, value in point.items():
        variant._set(path, value)
    try:
        config = variant.to_dict()
    except Error as error:
        values = {path: _plain(value) for path, value in point.items()}
        named: dict[str, Any] = {"text": variant._source[1], "set": sorted(variant._sets.values())}
        seed = values.get(_SEED, _of(_effective(experiment), _SEED))
        id = _id(named, variant._policies, verify)
        return Task(id, seed, values, json.dumps(named), None, {}, verify, Failure.of(error))
    inputs = dict(_inputs(variant, config))
    for path, found in inputs.items():
        section, _, name = path.partition(".")
        config[section][name] = found.name
    values = {path: _of(config, path) for path in point}
    text = json.dumps(config, sort_keys=True)
    return Task(_id(config, variant._policies, verify), config["run"]["seed"], values, text, variant, inputs, verify)


def count(name: str, value: object, most: int) -> int:
    """A whole number from 1. Raises `TypeError` or `ValueError` of anything else."""
    number = _whole(name, value, 1, most)
    if number is None:
        raise TypeError(f"{name} is an int, not None")
    return number


def run(packed: bytes) -> Outcome:
    """Runs what was packed. Raises `WorkerError` if this machine cannot run anything of the kind."""
    try:
        experiment, inputs, verify, measure = pickle.loads(packed)
        for path, wanted in inputs.items():
            experiment._set(path, located(wanted))
    except Exception as error:
        raise WorkerError(f"a worker is not fit for these runs: {type(error).__name__}: {error}") from error
    try:
        return Outcome(measure(Result(*wait(experiment._load().run(verify, _cache())))))
    except (Exception, SystemExit) as error:  # A policy that gives up is a run that failed, not the worker's end.
        return Outcome(failure=Failure.of(error))


def _inputs(variant: Experiment, config: Mapping[str, Any]) -> Iterator[tuple[str, Input]]:
    """The inputs that a configuration names. A path starts from the experiment's folder, or if it was set from the
    working directory."""
    for path in INPUT_KEYS:
        if (written := _of(config, path)) is not None:
            yield path, input_of(written, "" if path in variant._sets else variant._source[2])


def _effective(experiment: Experiment) -> Mapping[str, Any]:
    try:
        return experiment.to_dict()
    except Error:
        return {}


def _of(config: Any, path: str) -> Any:
    for name in path.split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return config


def _plain(value: object) -> Any:
    """A value of a point without the types of NumPy and of paths."""
    return value.item() if hasattr(value, "item") else value if isinstance(value, (bool, int, float)) else str(value)


def _id(config: Mapping[str, Any], policies: Sequence[type], verify: bool) -> str:
    known = {
        "config": config,
        "verify": verify,
        "policies": sorted(code_of(policy) for policy in policies),
        "version": _flashloom.__version__,
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:32]


@contextmanager
def _by_value(things: Sequence[Any]) -> Iterator[Callable[[Any], bytes]]:
    """What packs objects, the code of their modules with them, unless they are installed: workers need not have it."""
    cloudpickle = library("cloudpickle", "sweep")
    known = cloudpickle.list_registry_pickle_by_value()
    names = {str(getattr(thing, "__module__", "")) for thing in things} - {"__main__", *known}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules and not _is_installed(name)]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle.dumps
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(name: str) -> bool:
    head = name.partition(".")[0]
    file = getattr(sys.modules[name], "__file__", None) or ""
    return head == __package__ or head in sys.stdlib_module_names or "-packages" in file


def _cache() -> tuple[str, str] | None:
    """The folder of aged drives, and the hash of the compiled part, on whose code ageing depends."""
    folder = cache_folder()
    return None if folder is None else (str(folder), _library_hash())


@cache
def _library_hash() -> str:
    assert _flashloom.__file__ is not None, "the compiled part is a file"
    with open(_flashloom.__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
