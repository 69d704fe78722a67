# SPDX-License-Identifier: GPL-2.0
"""Comparison of the simulator's schedulers with the real ones on several hardware queues.

A process on every processor keeps requests outstanding on a slow device, which has a hardware queue for each processor
and takes one request of each at a time. The real schedulers give whichever queue is run the next request of all, or
those of that queue; the orders of each queue are compared.

What blktrace does not tell, the kernel's tracer of functions does, on the same clock: when a hardware queue is run,
when the scheduler gives a request, and when a tag is free again. QEMU's processors take turns, and one stops wherever
its turn ends, so that all of this may be later than the event of blktrace before it.
"""

import re
import tempfile
from pathlib import Path

from .kernels import Kernel
from .order import COUNT, JOB, LOADS, OUTSTANDING, SLOW, compared, events, lines, promised
from .record import Recording, record

QUEUES = 4
# Of all queues together as many requests are outstanding as elsewhere of one.
QUEUE_LOADS = {load: f"{options}\nnumjobs={QUEUES}" for load, options in LOADS.items() if "numjobs" not in options} | {
    "four streams of sequential writes": f"rw=write\nnumjobs={QUEUES}\noffset_increment=5g",
}
# Longer than on one queue, so that processors seldom stop one another.
SERVICE_NS = 5_000_000

RUN, FREE = "blk_mq_sched_dispatch_requests", "blk_mq_put_tag"
# The schedulers that serve several hardware queues, with the function that is asked for a request, and that which takes
# one out of the order of all under the scheduler's lock, if there is one.
GIVE = {
    "none": (),
    "mq-deadline": ("dd_dispatch_request", "elv_rb_del"),
    "kyber": ("kyber_dispatch_request",),
}
SCRIPT = """cat >/tmp/job.fio <<'END' || exit 1
{job}cpus_allowed=0-{last}
cpus_allowed_policy=split
END
cd /sys/kernel/debug/tracing && echo mono >trace_clock && echo {functions} >set_ftrace_filter &&
	echo function >current_tracer && /usr/bin/fio /tmp/job.fio && echo 0 >tracing_on &&
	cat trace >/tmp/recording/recording.calls
"""
# Of a line of the tracer: processor, seconds, their six decimals, and the function.
CALL = re.compile(r"\[(\d+)\] .* (\d+)\.(\d{6}): (\w+) <-")


def calls(text: str, give: tuple[str, ...]) -> list[tuple[int, int, str, int]]:
    """What the tracer has: time, number, `run`, `ask` or `free`, and processor.

    A request is given when it is taken out; what a merge takes out follows no question.
    """
    found, asked = [], set()
    for number, (processor, second, micro, function) in enumerate(CALL.findall(text)):
        kind = {RUN: "run", FREE: "free"}.get(function, "ask")
        if kind == "ask" and len(give) > 1:
            if function == give[0]:
                asked.add(processor)
                continue
            if processor not in asked:
                continue
            asked.discard(processor)
        found.append((int(second + micro) * 1000, number, kind, int(processor)))
    return found


def on_time(found: list[tuple], called: list[tuple[int, int, str, int]]) -> list[tuple]:
    """The events of one processor, `Q` at the time of the insertion or merge that it led to, `C` when the tag was free,
    with the beginnings of runs (`run`) and what the scheduler gave (`ask`).

    `none` inserts nothing. A request that was inserted after a merge has another size, and keeps its time.
    """
    freed = iter([(time_ns, number) for time_ns, number, kind, _ in called if kind == "free"])
    queued, moved = {}, []
    for time_ns, number, kind, *request in sorted(found):
        if kind == "Q":
            queued.setdefault(tuple(request), []).append(len(moved))
            moved.append((time_ns, number, kind, *request))
        elif kind in "IM":
            if waiting := queued.get(tuple(request)):
                moved[waiting.pop(0)] = (time_ns, number, "Q", *request)
        elif kind == "C":
            # The tracer has whole microseconds.
            free_ns, at = next((free for free in freed if free[0] > time_ns - 1000), (time_ns, number))
            moved.append((max(free_ns, time_ns), at, kind, *request))
        else:
            moved.append((time_ns, number, kind, *request))
    others = [call for call in called if call[2] != "free"]
    return moved + [(time_ns, number, kind, "R", 0, 0, processor) for time_ns, number, kind, processor in others]


def recorded(target: Kernel, scheduler: str, options: str) -> str:
    """Records a load under a scheduler; returns the events, one per line."""
    with tempfile.TemporaryDirectory() as directory:
        job = JOB.format(load=options, outstanding=OUTSTANDING // QUEUES, count=COUNT // QUEUES)
        script = Path(directory) / "job.sh"
        script.write_text(SCRIPT.format(job=job, last=QUEUES - 1, functions=" ".join((RUN, FREE, *GIVE[scheduler]))))
        device = (*SLOW, f"submit_queues={QUEUES}", f"completion_nsec={SERVICE_NS}")
        recording = Recording(script, scheduler, device, in_turn=QUEUES)
        *traces, called = record(target, recording, Path(directory) / "recording")
        found = calls(called.read_text(), GIVE[scheduler])
        return lines(
            event
            for processor, path in enumerate(traces)
            for event in on_time(events(path, "QMIDC"), [call for call in found if call[3] == processor])
        )


def order_of_queues(target: Kernel, scheduler: str) -> str:
    """The comparison of each hardware queue's order under every load, as a table in Markdown; raises if the orders
    differ by more than promised.
    """
    rows = []
    for load, options in QUEUE_LOADS.items():
        found = recorded(target, scheduler, options)
        rows.append(compared("queue-order", [scheduler, target.series, str(QUEUES)], load, found))
    text = "\n".join([
        f"Linux {target.release}: {scheduler} on {QUEUES} hardware queues, and the simulator's",
        "",
        "| load | issued | same order | lowest queue | share | asked alike |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ])  # fmt: skip
    return promised(text, rows)
