"""Makes the data set of the tests anew, with the package `flashloom`: `python make.py`, in this folder."""

from pathlib import Path

import flashloom

EXPERIMENT = flashloom.Experiment.from_dict(
    {
        "workload.synthetic": {"requests": 4_000, "read_share": 0.4, "pattern": "zipf", "footprint": "90%"},
        "device": {"channels": 2, "ways": 1, "planes": 1, "blocks": 64, "pages": 32},
        "buffer": {"capacity": "512KiB"},
        "run": {"precondition": "steady"},
    }
)
# One percent is too little: those runs fail.
SPACE = {
    "device.over_provisioning": ["1%", "20%", "30%", "40%"],
    "ftl.gc": ["greedy", "fifo"],
    "host.queue_depth": [2, 8, 32],
}

if __name__ == "__main__":
    out = Path(__file__).parent
    (out / "data.parquet").unlink(missing_ok=True)
    print(flashloom.sweep(EXPERIMENT, SPACE, seeds=3, out=out, verify=True))
    (out / ".lock").unlink()
