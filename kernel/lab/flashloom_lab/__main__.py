# SPDX-License-Identifier: GPL-2.0
"""The command line of the lab."""

import argparse
import os
import sys
from pathlib import Path

from . import tests
from .blktests import GROUPS, blktests
from .compare import EXPERIMENT, SCHEDULERS, compare
from .cost import cost
from .floods import floods
from .host import LabError, LabFailure, LabUnsupported, require
from .kernels import SERIES, Kernel, kernel, newest, oldest
from .live import BELOW, FILE_SYSTEMS, MAPPINGS, PATHS, SHORT, Run, live, require_live
from .order import SIMULATED, order
from .queue_order import GIVE, QUEUES, order_of_queues
from .record import Recording, check_job, check_settings, record
from .write_back import write_back


def parser() -> argparse.ArgumentParser:
    """The commands of the lab and their arguments."""
    top = argparse.ArgumentParser(
        prog="flashloom-lab",
        description="Runs Debian's kernels with the ParDispatcher module in QEMU. Exit 0: every check held; "
        "1: a check failed; 2: it could not be run.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    test = commands.add_parser("test", help="build the module, boot the kernels, run the tests of the module")
    test.add_argument("--short", action="store_true", help="the short form; skipped, and said so, where it cannot run")
    test.add_argument("--debug", action="store_true", help="on a kernel with KASAN, lockdep and kmemleak, built first")
    test.add_argument("--source", type=Path, metavar="TREE", help="on a kernel of any version, built from its source")
    test.add_argument("--kernel", action="append", choices=SERIES, help="only this series (default: all)")
    test.add_argument("--oldest", action="store_true", help="on the oldest kernels that apt has, not on the newest")
    test.add_argument("names", nargs="*", metavar="TEST", help="only these tests; --list names them")
    test.add_argument("--list", action="store_true", help="name the tests")

    comparison = commands.add_parser("compare", help="real and simulated schedulers on one simulated drive")
    comparison.add_argument(
        "--experiment", type=Path, default=EXPERIMENT, metavar="FILE", help="the drive (default: %(default)s)"
    )
    comparison.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")
    comparison.add_argument(
        "--scheduler", action="append", choices=SCHEDULERS, help="only this scheduler (default: all)"
    )

    instructions = commands.add_parser("cost", help="schedulers side by side, exact to the instruction")
    instructions.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")
    instructions.add_argument(
        "--scheduler", action="append", choices=SCHEDULERS, help="only this scheduler (default: all)"
    )

    recording = commands.add_parser("record", help="run a fio job or a script in a guest, and record it with blktrace")
    recording.add_argument("job", type=Path, metavar="JOB", help="a fio job (.fio) or a script (.sh)")
    recording.add_argument("--scheduler", choices=SCHEDULERS, default="mq-deadline", help="default: %(default)s")
    recording.add_argument("--out", type=Path, required=True, metavar="NAME", help="makes NAME.blktrace.0, .1, ...")
    devices = recording.add_mutually_exclusive_group()
    devices.add_argument("--null-blk", nargs="+", default=[], metavar="ATTRIBUTE=NUMBER", help="on such a device")
    devices.add_argument("--scsi-debug", nargs="+", default=[], metavar="PARAMETER=NUMBER", help="on such a disk")
    recording.add_argument("--exact", action="store_true", help="on a clock that counts instructions")
    recording.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")

    suite = commands.add_parser("blktests", help="the suite of the block layer, beside mq-deadline")
    suite.add_argument("suite", type=Path, metavar="DIR", help="a directory of blktests; it is built there")
    suite.add_argument("names", nargs="*", metavar="TEST", help=f"groups or tests (default: {' '.join(GROUPS)})")
    suite.add_argument("--exclude", action="append", default=[], metavar="TEST", help="without this test")
    suite.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")

    flood = commands.add_parser("floods", help="small writes beside floods, pardispatcher held against mq-deadline")
    flood.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")

    throttling = commands.add_parser("write-back", help="hold the simulator's throttling against the real one")
    throttling.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")

    served = commands.add_parser("live", help="file systems and a database on simulated drives that are served live")
    served.add_argument(
        "--short", action="store_true", help="the short form; skipped, and said so, where it cannot run"
    )
    served.add_argument("--file-system", action="append", choices=FILE_SYSTEMS, help="only this one (default: all)")
    served.add_argument(
        "--mapping", action="append", metavar="NAME", help=f"a drive with this mapping (default: {' '.join(MAPPINGS)})"
    )
    served.add_argument("--scheduler", action="append", choices=BELOW, help="only this scheduler (default: all)")
    served.add_argument("--path", choices=PATHS, help="how it is attached (default: virtio)")
    served.add_argument("--kernel", choices=SERIES, help=f"the series (default: {SERIES[-1]})")

    sequence = commands.add_parser("order", help="hold a scheduler of the simulator against the real one")
    sequence.add_argument("scheduler", choices=SIMULATED, metavar="SCHEDULER", help=" or ".join(SIMULATED))
    sequence.add_argument("--queues", action="store_true", help=f"on {QUEUES} hardware queues, each one's order")
    sequence.add_argument("--kernel", choices=SERIES, default=SERIES[-1], help="the series (default: %(default)s)")
    return top


def run_test(options) -> None:
    """The command `test`."""
    known = tests.all_tests()
    if options.list:
        print("\n".join(known))
        return
    unknown = [name for name in options.names if name not in known]
    if unknown:
        raise LabError(f"there is no test {unknown[0]}; flashloom-lab test --list names all")
    if options.debug or options.source:
        if options.short or options.kernel or options.oldest:
            raise LabError("that kernel is built: give no --kernel, no --oldest and no --short")
        require()
        tests.built(options.source, options.debug, options.names)
        return
    if not options.short:
        require()
        tests.full(options.kernel or list(SERIES), options.names, oldest if options.oldest else newest)
        return
    if options.names or options.kernel or options.oldest:
        raise LabError("the short form has its own tests and kernels: give no TEST, no --kernel and no --oldest")
    if kernels := kernels_for_short(SERIES, require, "the module was neither built nor booted"):
        tests.short(kernels)


def kernels_for_short(series: tuple[str, ...], prepare, what: str) -> list[Kernel]:
    """The kernels of a short form; none, and said so, where it cannot run."""
    try:
        prepare()
        return [kernel(one) for one in series]
    except LabError as error:
        # For root a missing package is a failure, unless this machine cannot run the lab at all.
        if os.geteuid() == 0 and not isinstance(error, LabUnsupported):
            raise
        print(f"lab: SKIPPED, {what}: {error}", file=sys.stderr)
        return []


def run_compare(options) -> None:
    """The command `compare`."""
    if not options.experiment.is_file():
        raise LabError(f"{options.experiment}: is not a file")
    require()
    print(compare(kernel(options.kernel), options.scheduler or list(SCHEDULERS), options.experiment))


def run_cost(options) -> None:
    """The command `cost`."""
    require()
    print(cost(kernel(options.kernel), options.scheduler or list(SCHEDULERS)))


def run_record(options) -> None:
    """The command `record`."""
    check_job(options.job)
    null_blk = check_settings("--null-blk", options.null_blk)
    scsi_debug = check_settings("--scsi-debug", options.scsi_debug)
    recording = Recording(options.job, options.scheduler, null_blk, scsi_debug, options.exact)
    require()
    for path in record(kernel(options.kernel), recording, options.out):
        print(path)


def run_order(options) -> None:
    """The command `order`."""
    if options.queues and options.scheduler not in GIVE:
        raise LabError(f"the simulator's {options.scheduler} has one queue: give no --queues")
    require()
    print((order_of_queues if options.queues else order)(kernel(options.kernel), options.scheduler))


def run_blktests(options) -> None:
    """The command `blktests`."""
    require()
    print(blktests(kernel(options.kernel), options.suite, options.names or list(GROUPS), options.exclude))


def run_floods(options) -> None:
    """The command `floods`."""
    require()
    print(floods(kernel(options.kernel)))


def run_write_back(options) -> None:
    """The command `write-back`."""
    require()
    print(write_back(kernel(options.kernel)))


def run_live(options) -> None:
    """The command `live`."""
    if options.short:
        if options.file_system or options.mapping or options.scheduler or options.path or options.kernel:
            raise LabError("the short form has its own runs: give no other option")
        for target in kernels_for_short(SERIES[-1:], require_live, "no file system ran on a live drive"):
            print(live(target, list(SHORT)))
        return
    runs = [
        Run(file_system, mapping, scheduler, options.path or PATHS[0])
        for mapping in options.mapping or MAPPINGS
        for file_system in options.file_system or FILE_SYSTEMS
        for scheduler in options.scheduler or BELOW
    ]
    require_live()
    print(live(kernel(options.kernel or SERIES[-1]), runs))


COMMANDS = {
    "test": run_test,
    "compare": run_compare,
    "cost": run_cost,
    "record": run_record,
    "floods": run_floods,
    "live": run_live,
    "blktests": run_blktests,
    "order": run_order,
    "write-back": run_write_back,
}


def main() -> int:
    """Runs a command and returns its exit status."""
    options = parser().parse_args()
    try:
        COMMANDS[options.command](options)
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except LabFailure as failure:
        print(f"lab: FAILED\n{failure}", file=sys.stderr)
        return 1
    return 0
