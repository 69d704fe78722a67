"""The end of Python while runs go on: whatever a policy is at, the process ends as it would without it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from conftest import SMALL

SCRIPT = """
import signal, sys, threading, time
from flashloom import Experiment
from flashloom.policy import Scheduler

class Slow(Scheduler):
    name = "slow"

    def dispatch(self, now, queue):
        {act}
        return next(iter(queue)).id

experiment = Experiment.from_dict({values!r}, policies=[Slow])
experiment.host.scheduler = "slow"
experiment.workload.synthetic.requests = 1_000_000_000
print("ready", flush=True)
"""
WAYS = {
    "a run": "experiment.run()",
    "a comparison": "experiment.compare(vary={'host.queue_depth': [1, 2, 3]}, jobs=3)",
    "a stream": "experiment.log().read_all()",
}
ACTS = {"returns": "pass", "never returns": "while True: pass", "sleeps": "time.sleep(0.3)"}


def started(act: str, script: str) -> subprocess.Popen[str]:
    text = SCRIPT.format(act=act, values=SMALL) + script
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", text], stdout=pipe, stderr=pipe, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("act", ACTS)
def test_ctrl_c_ends_the_process_whatever_a_policy_does(way: str, act: str) -> None:
    process = started(ACTS[act], f"threading.Timer(0.3, signal.raise_signal, [2]).start()\n{WAYS[way]}")
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 130), errors
    assert errors.rstrip().endswith("KeyboardInterrupt") and "Fatal" not in errors


@pytest.mark.parametrize("act", ["returns", "never returns"])
def test_python_ends_under_runs_of_other_threads(act: str) -> None:
    begin = [f"threading.Thread(target=lambda: {way}, daemon=True).start()" for way in WAYS.values()]
    begin.append("""
def step():
    engine = experiment.engine()
    while True:
        engine.submit("read", 0, 8)
        engine.drain()

threading.Thread(target=step, daemon=True).start()""")
    stream = "stream = experiment.log(batch_rows=1); threading.Thread(target=next, args=[stream], daemon=True).start()"
    process = started(ACTS[act], "\n".join([*begin, stream, "time.sleep(0.3)"]))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and "Fatal" not in errors, errors


def test_a_policy_that_does_not_return_is_ended_with_its_run() -> None:
    script = """
try:
    threading.Timer(0.2, signal.raise_signal, [2]).start()
    experiment.run()
except KeyboardInterrupt:
    time.sleep(0.2)
    before = time.process_time()
    time.sleep(0.3)
    print(time.process_time() - before)
"""
    process = started(ACTS["never returns"], script)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and float(printed) < 0.1, errors


def test_a_forked_process_does_not_wait_for_the_runs_of_its_parent() -> None:
    script = """
import os
stream = experiment.log(batch_rows=1)
next(stream)
child = os.fork()
if child:
    print(os.waitpid(child, 0)[1])
"""
    process = started(ACTS["returns"], script)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and printed == "0\n", errors
