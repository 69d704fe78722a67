#!/usr/bin/env python3
"""Measures the live drive beside nbdkit's own plugin `memory`, on a machine that does nothing else.

Both servers have one processor, and fio, the client, has another; they take turns, so that a change of the machine's
speed meets both. docs/live-drive.md has what it printed. All of it takes 40 minutes.
"""

import argparse
import csv
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SERVER, CLIENT = "0", "1"
SIZE = 1 << 30
PAIRS = 5


class Server:
    """A server on a processor of its own, with its socket in a folder that goes with it."""

    def __init__(self, command):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = Path(self.folder.name, "socket")
        command = [part.format(folder=self.folder.name) for part in command]
        self.process = subprocess.Popen(
            ["taskset", "-c", SERVER, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __enter__(self):
        while not self.socket.exists():
            if self.process.poll() is not None:
                raise SystemExit(f"{self.process.args} has ended with {self.process.returncode}")
            time.sleep(0.05)
        # Memory for data has been written to before anything is measured; at pace real this is not waited for long.
        self.fio("--rw=write", "--bs=1m", f"--io_size={3 * SIZE}", "--runtime=5")
        return self

    def __exit__(self, *_):
        self.end()
        self.folder.cleanup()

    def end(self):
        """Ends the server, which then has written its log."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def status(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(Path(self.folder.name, "control")))
            lines = control.makefile("rw")
            lines.write('{"do": "status"}\n')
            lines.flush()
            return json.loads(lines.readline())["status"]

    def fio(self, *options):
        """What fio reports of its one job, over the first GiB."""
        output = Path(self.folder.name, "fio.json")
        command = f"""taskset -c {CLIENT} fio --name=m --ioengine=nbd --uri=nbd+unix:///?socket={self.socket}
            --size={SIZE} --output-format=json --output={output}"""
        subprocess.run([*command.split(), *options], stdout=subprocess.DEVNULL, check=True)
        return json.loads(output.read_text())["jobs"][0]

    def random(self, kind, depth, seconds, *options):
        """Requests a second of random requests of 4 KiB."""
        text = f"--rw={kind} --bs=4k --iodepth={depth} --time_based --runtime={seconds} --norandommap --randrepeat=0"
        return self.fio(*text.split(), *options)["write" if kind == "randwrite" else "read"]["iops"]

    def one_by_one(self, kind, seconds):
        """Latency in nanoseconds and address in bytes of each of random requests at depth 1, in order."""
        self.random(kind, 1, seconds, f"--write_lat_log={self.folder.name}/each", "--log_offset=1")
        lines = Path(self.folder.name, "each_clat.1.log").read_text().splitlines()
        return [(int(latency), int(offset)) for _, latency, _, _, offset, *_ in (line.split(",") for line in lines)]

    def logged(self):
        """Latency by the model and address in bytes of each request of a server that has ended, in order."""
        with Path(self.folder.name, "log.csv").open() as log:
            requests = [line for line in csv.DictReader(log) if line["op"] in "RW"]
        return [(int(request["latency_ns"]), 512 * int(request["lba"])) for request in requests]


def served(program, *options):
    """The command of a served drive: 2 GiB in pages of 4 KiB, in steady state, all of whose data fits into memory."""
    command = [program, "serve", "experiments/quickstart.toml", "--unix", "{folder}/socket", "--no-hints"]
    command += ["--set", "device.page_size=4KiB", "--set", "device.blocks=64"]
    return [*command, "--control", "{folder}/control", *options]


MEMORY = ["nbdkit", "-f", "-U", "{folder}/socket", "memory", str(SIZE)]


def fast(program, seconds, *options):
    """Requests a second at pace fast, in shares of what `nbdkit memory` does in the half minute before."""
    for kind in ("randread", "randwrite"):
        shares, rates = [], []
        for _ in range(PAIRS):
            with Server(MEMORY) as server:
                reference = server.random(kind, 16, seconds / 2)
            with Server(served(program, *options)) as server:
                rate = server.random(kind, 16, seconds / 2)
            shares.append(rate / reference)
            rates.append((rate, reference))
        name = " ".join(["fast", *options])
        print(f"{name}, {kind}, depth 16: {statistics.median(shares):.2f} of nbdkit memory")
        print("  " + ", ".join(f"{rate:.0f} of {reference:.0f}" for rate, reference in rates), flush=True)


def gather(program, seconds):
    fast(program, seconds, "--gather")


def real(program, seconds):
    """What a request takes at pace real beyond its latency by the model and the round trip of `nbdkit memory`.

    Each request is held against its own line of the log, because latencies have two humps: of writes some find room in
    the drive's buffer and others wait for it.
    """
    for kind in ("randread", "randwrite"):
        rows = []
        for _ in range(PAIRS):
            with Server(MEMORY) as server:
                round_trip = statistics.median(latency for latency, _ in server.one_by_one(kind, seconds / 2))
            with Server(served(program, "--pace", "real", "--log", "{folder}/log.csv")) as server:
                seen = server.one_by_one(kind, seconds / 2)
                server.end()
                model = server.logged()[-len(seen):]
            if [offset for _, offset in seen] != [offset for _, offset in model]:
                raise SystemExit("the log of the drive has other requests than fio")
            more = [ours - theirs for (ours, _), (theirs, _) in zip(seen, model, strict=True)]
            halves = [statistics.median(latency for latency, _ in each) for each in (seen, model)]
            rows.append((statistics.median(more) - round_trip, round_trip, *halves))
        print(f"real, {kind}, depth 1: {statistics.median(row[0] for row in rows) / 1e3:.1f} us beyond both, at p50")
        for row in rows:
            beyond, round_trip, seen, model = (nanoseconds / 1e3 for nanoseconds in row)
            parts = f"{beyond:.1f} us beyond a round trip of {round_trip:.1f}; p50 {seen:.1f}, of the model {model:.1f}"
            print(f"  {parts}", flush=True)


def drift(program, seconds):
    """How far the model's clock is from the wall's after ten turns of reads and writes."""
    with Server(served(program, "--pace", "real")) as server:
        server.random("randrw", 4, 2)
        wall, model = time.monotonic_ns(), server.status()["model_ns"]
        server.random("randrw", 4, 10 * seconds)
        wall, model = time.monotonic_ns() - wall, server.status()["model_ns"] - model
        status = server.status()
    print(f"drift over {wall / 1e9:.0f} s: the model's clock is {(model - wall) / 1e3:+.0f} us from the wall's; "
          f"the latest end of a request was {status['pace']['latest_ns'] / 1e3:.0f} us late", flush=True)


MEASURES = {measure.__name__: measure for measure in (fast, gather, real, drift)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=MEASURES, help="one of them, or several; otherwise all")
    parser.add_argument("--program", default="target/release/flashloom", help="the plugin lies beside it")
    parser.add_argument("--seconds", type=float, default=60, help="of each turn (60)")
    arguments = parser.parse_args()
    print(f"load of the machine before: {os.getloadavg()[0]:.2f}", flush=True)
    for name in arguments.only or MEASURES:
        MEASURES[name](arguments.program, arguments.seconds)


if __name__ == "__main__":
    main()
