# SPDX-License-Identifier: GPL-2.0
"""The tests of the module in guests, in their short and their long form."""

import re
from pathlib import Path

from .built_kernel import built_kernel, debian_tree
from .guest import Guest, boot_all
from .host import LAB, LabFailure
from .kernels import SERIES, Kernel, build_module, kernel, newest

# The console output by which a debug kernel shows that its checks are on.
CHECKERS = (
    "KernelAddressSanitizer initialized",
    "Lock dependency validator",
    "Kernel memory leak detector initialized",
)

# The tests of `make test`: loading, tunables, correct data and counters, unloading.
SHORT = (
    "selecting_it_loads_the_module",
    "tunables_take_what_is_in_range_and_refuse_the_rest",
    "tunables_change_under_load",
    "fio_verifies_null_blk_of_several_queues",
    "ext4_is_clean_afterwards",
    "zoned_devices_are_refused",
    "it_unloads_when_nobody_uses_it",
)


def all_tests() -> list[str]:
    """All tests of the guest's script, in order."""
    return re.findall(r"^test_(\w+)\(\)", (LAB / "guest" / "test.sh").read_text(), re.M)


def run_tests(kernels: list[Kernel], names: list[str], seconds: int, timeout_s: int, announced=()) -> None:
    """Runs tests on every kernel at the same time, and prints what passed."""
    arguments = [str(seconds), *names]
    guests = [
        Guest(
            target, build_module(target), "test", "test", arguments,
            memory_mib=2048, nvme_mib=128, timeout_s=timeout_s, announced=announced,
        )
        for target in kernels
    ]  # fmt: skip
    failures = []
    passed = skipped = 0
    for booted, console in zip(guests, boot_all(guests)):
        if isinstance(console, LabFailure):
            failures.append(console)
            continue
        ended = re.findall(r"^(ok|skipped): (\w+) \((.*)\)$", console, re.M)
        passed += sum(outcome == "ok" for outcome, _, _ in ended)
        skipped += sum(outcome == "skipped" for outcome, _, _ in ended)
        for outcome, name, remark in ended:
            told = name.replace("_", " ") if outcome == "ok" else f"SKIPPED {name.replace('_', ' ')}"
            print(f"  Linux {booted.kernel.release}: {told} ({remark})")
        if [name for _, name, _ in ended] != names:
            failures.append(booted.failure(f"{len(ended)} tests of {len(names)} have run"))
    if failures:
        raise LabFailure("\n".join(map(str, failures)))
    print(f"lab: {passed} tests passed and {skipped} were skipped")


def short(kernels: list[Kernel]) -> None:
    """The short form, within three minutes."""
    run_tests(kernels, list(SHORT), seconds=2, timeout_s=170)


def full(series: list[str], names: list[str], choose=newest) -> None:
    """All tests, or those named, on the kernels of those series."""
    run_tests([kernel(one, choose) for one in series], names or all_tests(), seconds=5, timeout_s=1200)


def built(tree: Path | None, checked: bool, names: list[str]) -> None:
    """All tests, or those named, on a kernel that is built from a tree, of Debian's newest one without a tree."""
    target = built_kernel(tree or debian_tree(SERIES[-1]), checked)
    announced = CHECKERS if checked else ()
    run_tests([target], names or all_tests(), seconds=5, timeout_s=3600 if checked else 1200, announced=announced)
