"""Makes the data set of the tests anew, with the package `flashloom`: `python make.py`, in this folder.

Tracebacks of the runs that fail lead through folders of the machine: here they keep the names of the files alone.
"""

import re
from pathlib import Path

import flashloom
import pyarrow as arrow
import pyarrow.parquet as parquet

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

TRACEBACK = "error.traceback"


def without_folders(path: Path) -> None:
    """Leaves the names of the files in the tracebacks of a data set, and takes their folders out."""
    table = parquet.ParquetFile(path).read()
    texts = [text and re.sub(r'File "[^"]*/', 'File "', text) for text in table[TRACEBACK].to_pylist()]
    at = table.column_names.index(TRACEBACK)
    table = table.set_column(at, table.field(at), arrow.array(texts, arrow.string()))
    parquet.write_table(table, path, compression="zstd")


if __name__ == "__main__":
    out = Path(__file__).parent
    data = out / "data.parquet"
    data.unlink(missing_ok=True)
    print(flashloom.sweep(EXPERIMENT, SPACE, seeds=3, out=out, verify=True))
    (out / ".lock").unlink()
    without_folders(data)
