"""Flashloom: a checked simulator of the whole flash storage stack, from the I/O scheduler to the NAND array.

>>> import flashloom
>>> experiment = flashloom.Experiment.from_dict({"workload.synthetic.requests": 2000, "device.blocks": 64})
>>> experiment.host.scheduler = "deadline"
>>> result = experiment.run()
>>> result.host.requests
2000

`flashloom.validate` holds a drive against measurements of a real one, `flashloom.fit` makes a drive of them.
`flashloom.sweep` runs an experiment with many values on many processes or machines, `flashloom.tune` searches for good
ones. `flashloom.explain("ftl.gc")` has help on every key, policy and field; `flashloom.list_policies()` the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import _flashloom
from ._flashloom import __version__
from ._jobs import Progress
from ._task import WorkerError
from .dataset import BusyError, DataSet
from .engine import Completion, Engine
from .errors import (
    CheckError,
    ClosedError,
    ConfigError,
    DriveError,
    EngineError,
    Error,
    ExpectationError,
    InputError,
    InterruptedRun,
    MissingLibraryError,
    Problem,
    ProblemError,
    UnknownKeyError,
    UnusedKeyWarning,
)
from .experiment import Experiment, Page, Section
from .histogram import Histogram
from .live import LiveDrive
from .measured import Fit, FitError, Validation, fit, validate
from .policy import PolicyError
from .result import Comparison, Means, Record, Result, Run
from .spaces import Choice, Range, sample
from .sweeps import SweepError, sweep
from .tables import RunStream, Stream, Table
from .trace import Trace
from .tuning import Objective, StudyError, tune

__all__ = [
    "BusyError",
    "CheckError",
    "Choice",
    "ClosedError",
    "Comparison",
    "Completion",
    "ConfigError",
    "DataSet",
    "DriveError",
    "Engine",
    "EngineError",
    "Error",
    "ExpectationError",
    "Experiment",
    "Fit",
    "FitError",
    "Histogram",
    "InputError",
    "InterruptedRun",
    "LiveDrive",
    "Means",
    "MissingLibraryError",
    "Objective",
    "Page",
    "PolicyError",
    "Problem",
    "ProblemError",
    "Progress",
    "Range",
    "Record",
    "Result",
    "Run",
    "RunStream",
    "Section",
    "Stream",
    "StudyError",
    "SweepError",
    "Table",
    "Trace",
    "UnknownKeyError",
    "Validation",
    "WorkerError",
    "UnusedKeyWarning",
    "__version__",
    "explain",
    "fit",
    "list_policies",
    "presets",
    "sample",
    "sweep",
    "tune",
    "validate",
]

_CATALOG = _flashloom.Catalog([])
_LISTS = {name: MappingProxyType(dict(members)) for name, _, members in _CATALOG.lists()}

presets: Mapping[str, str] = _LISTS.pop("devices")
"""Described drives, the values of `device.preset`, with a sentence each."""


def explain(name: str) -> Page:
    """Help on a key, a value, a policy, a section or a field of a result: `explain("ftl.gc")`.

    Raises `ConfigError` for a name that nothing has, with the nearest one.
    """
    return Page(_CATALOG.explain(name))


def list_policies(slot: str | None = None) -> Mapping[str, Mapping[str, str]] | Mapping[str, str]:
    """Policies of each slot with a sentence each, or those of one slot; trace formats are in the slot `formats`.

    Raises `KeyError` for a slot that there is not.
    """
    if slot is None:
        return MappingProxyType(_LISTS)
    if slot not in _LISTS:
        raise KeyError(f"no slot `{slot}`: there is {', '.join(_LISTS)}")
    return _LISTS[slot]
