"""Recordings: summary, batches, conversion."""

from __future__ import annotations

from pathlib import Path

import pytest
from flashloom import InputError, Trace


def test_the_summary_counts_what_the_batches_have(recording: Path) -> None:
    trace = Trace.open(recording)
    info = trace.info()
    assert (info.requests, info.reads, info.writes, info.format) == (1000, 500, 500, "flashloom")
    batches = list(trace.batches(batch_rows=300))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    assert list(batches[0].column("lba"))[:3] == [0, 8, 16]
    assert trace.batches().read_all().column("op")[:2] == ["R", "W"]


def test_batches_go_to_polars_and_pyarrow(recording: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(Trace(recording).batches())
    assert frame.shape == (1000, 11) and frame["sectors"].sum() == 8000
    pyarrow = pytest.importorskip("pyarrow")
    schema = pyarrow.schema(Trace(recording).batches())
    assert schema.names[:4] == ["timestamp_ns", "op", "lba", "sectors"]


def test_a_recording_is_converted_and_read_again(recording: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv.gz"
    report = Trace(recording).convert(output)
    assert (report.requests, report["to"]) == (1000, "flashloom")
    assert Trace(output).batches().read_all().to_pydict() == Trace(recording).batches().read_all().to_pydict()


def test_one_device_of_several_is_read(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("timestamp_ns,op,lba,sectors,device\n0,R,0,8,3\n1000,W,8,8,5\n3000,W,16,8,5\n")
    counts = {device: Trace(path, device=device).info().requests for device in (None, 3, 5)}
    assert counts == {None: 3, 3: 1, 5: 2}
    one = Trace.open(path, device=5)
    batch = one.batches().read_all()
    assert list(batch.column("lba")) == [8, 16] and list(batch.column("timestamp_ns")) == [0, 2000]
    assert one.convert(tmp_path / "one.csv").requests == 2
    assert Trace(tmp_path / "one.csv").info().requests == 2
    devices = [(device.name, device.requests) for device in Trace(path).info().devices]
    assert devices == [("3", 1), ("5", 2)]
    assert list(Trace(path).batches().read_all().column("device")) == [3, 5, 5]
    assert Trace(path, device="5").info().requests == 2
    with pytest.raises(InputError, match="`3`, `5`"):
        Trace(path, device=4).info()
    for wrong in (True, 1.5, b"3"):
        with pytest.raises(TypeError, match="device is"):
            Trace(path, device=wrong)  # type: ignore[arg-type]


def test_columns_of_another_program_are_read_in_its_units(tmp_path: Path) -> None:
    path = tmp_path / "replay.txt"
    path.write_text("0.000000 0 1048576 4096 1\n0.125000 0 2097152 8192 0\n0.250000 0 1052672 4096 1\n")
    with pytest.raises(InputError, match="ambiguous"):
        Trace(path).info()
    info = Trace(path, size_unit="bytes", time_unit="s").info()
    assert (info.read_bytes, info.span_bytes, info.duration_ns) == (8192, 2105344, 250_000_000)
    assert Trace(path, "disksim").info().read_bytes == 8192 * 512


def test_a_bad_line_is_pointed_at_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("timestamp_ns,op,lba,sectors\n0,R,0,8\n1,X,8,8\n2,W,16,8\n")
    with pytest.raises(InputError) as refused:
        Trace(path).info()
    [problem] = refused.value.problems
    assert (problem.file, problem.line, problem.column) == (str(path), 3, 3)
    with pytest.raises(InputError):
        list(Trace(path).batches())
    assert Trace(path, skip_bad_lines=True).info().requests == 2
