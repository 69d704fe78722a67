"""Runs for the tests of policies in Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from flashloom import Experiment
from flashloom.policy import Policy

EXAMPLES = Path(__file__).parents[3] / "examples" / "python"

SMALL: dict[str, object] = {
    "device.preset": "mlc-16g",
    "device.blocks": 64,
    "device.pages": 32,
    "workload.queue_depth": 48,
    "workload.synthetic.requests": 600,
    "workload.synthetic.read_share": 0.5,
    "workload.synthetic.footprint_size": "8MiB",
    "host.queue_depth": 4,
    "buffer.capacity": "256KiB",
}
"""A small drive with a buffer that is full at once, and requests that have to queue."""


def example(name: str) -> ModuleType:
    """A module of examples/python."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def experiment(policies: Sequence[type[Policy]], **keys: object) -> Experiment:
    """The small drive with other keys: `host__scheduler` is `host.scheduler`; None leaves a key out."""
    others = {key.replace("__", "."): value for key, value in keys.items()}
    values = {key: value for key, value in {**SMALL, **others}.items() if value is not None}
    return Experiment.from_dict(values, policies=policies)


def run(policies: Sequence[type[Policy]], **keys: object) -> dict[str, Any]:
    """The result of a verified run of the small drive with other keys."""
    return experiment(policies, **keys).run(verify=True).to_dict()


NAMES = ("policy",)


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """Every figure of a result but the configuration, the cost of the run and the names of policies."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items() if not (key in NAMES and isinstance(item, str))}
        return [strip(item) for item in value] if isinstance(value, list) else value

    kept = {key: value for key, value in result.items() if key not in ("config", "run", "provenance")}
    return strip(kept)  # type: ignore[no-any-return]
