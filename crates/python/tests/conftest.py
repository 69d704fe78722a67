"""What the tests share: small experiments, and the program to compare with."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import flashloom
import pytest

ROOT = Path(__file__).resolve().parents[3]
"""The repository."""

SMALL: dict[str, object] = {
    "workload.synthetic": {"requests": 2000, "read_share": 0.5},
    "device": {"blocks": 64, "pages": 32, "channels": 2, "ways": 1, "planes": 1},
}
"""A run of a few milliseconds."""


@pytest.fixture(autouse=True, scope="session")
def interrupted() -> Iterator[None]:
    """Processes that the tests start can be interrupted, also where the tests themselves cannot: in the background of
    a shell, or under nohup, the signal is ignored, which is handed down."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def small() -> flashloom.Experiment:
    return flashloom.Experiment.from_dict(SMALL)


@pytest.fixture
def endless() -> flashloom.Experiment:
    """A run that takes minutes."""
    return flashloom.Experiment.from_dict(SMALL, set={"workload.synthetic.requests": 1_000_000_000})


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of 1,000 requests in the program's own format."""
    path = tmp_path / "trace.csv"
    rows = (f"{at * 1000},{'RW'[at % 2]},{at * 8},8" for at in range(1000))
    path.write_text("\n".join(["timestamp_ns,op,lba,sectors", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def program() -> Path:
    """The program `flashloom`, if it was built: `FLASHLOOM_PROGRAM` names it."""
    path = Path(os.environ.get("FLASHLOOM_PROGRAM", ROOT / "target" / "release" / "flashloom"))
    if not path.exists():
        pytest.skip("the program is not built; FLASHLOOM_PROGRAM names it")
    return path
