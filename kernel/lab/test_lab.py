# SPDX-License-Identifier: GPL-2.0
"""Tests of the lab's evaluation of results; nothing is booted."""

import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from flashloom_lab import (
    __main__, blktests, built_kernel, compare, floods, guest, kernels, live, order, queue_order, record, served, tests,
    waits, write_back,
)  # fmt: skip
from flashloom_lab.guest import Guest, boot_all
from flashloom_lab.host import LabError, LabFailure, LabUnsupported
from flashloom_lab.kernels import Kernel

KERNEL = Kernel("6.1", "6.1.0", Path("6.1.0_1"))
END = "flashloom-lab: end with status 0\n"


class InCache(unittest.TestCase):
    """A test with a cache of its own."""

    def setUp(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.directory = Path(directory)
        self.enterContext(patch.dict(os.environ, {"XDG_CACHE_HOME": directory}))


class INSTALL_no(InCache):
    def setUp(self):
        super().setUp()
        self.enterContext(patch.dict(os.environ, {"INSTALL": "no"}))

    def test_forbids_downloads(self):
        forbidden = self.assertRaisesRegex(LabError, "INSTALL=no.*linux-source-6.1=6.1-1")
        with patch.object(kernels, "run") as ran, forbidden:
            kernels.fetch({"linux-source-6.1": "6.1-1"})
        ran.assert_not_called()

    def test_forbids_new_lists_of_packages(self):
        unknown = subprocess.CompletedProcess([], 0, stdout="")
        with patch.object(kernels, "run") as ran, patch.object(subprocess, "run", return_value=unknown):
            self.assertRaises(LabError, kernels.newest, "6.1")
        ran.assert_not_called()

    def test_forbids_fetching_the_sources_of_policies(self):
        said = subprocess.run(
            [kernels.KERNEL_DIR / "policies/fetch", self.directory], capture_output=True, text=True, check=False
        )
        self.assertEqual(said.returncode, 1)
        self.assertIn("INSTALL=no forbids apt-get download linux-source-6.1", said.stderr)
        self.assertEqual(list(self.directory.iterdir()), [])


class ABoot(InCache):
    def test_that_could_not_begin_is_no_success(self):
        for problem in (OSError("no space left on device"), LabError("a program is missing")):
            with patch.object(Guest, "boot", side_effect=problem), self.assertRaises(type(problem)):
                boot_all([Guest(KERNEL, Path("module"), "test", "test")])

    def test_that_stopped_before_the_first_process_is_repeated_once(self):
        died = "Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n"
        begun = "flashloom-lab: begin\n"
        booted = Guest(KERNEL, Path("module"), "test", "test")
        for consoles, outcome in (
            ([died, begun + END], None),
            ([died, died], LabFailure),
            ([begun + died + END, begun + END], LabFailure),
        ):
            with (
                patch.object(Guest, "console_of_a_boot", side_effect=consoles),
                contextlib.redirect_stdout(io.StringIO()),
                self.assertRaises(outcome) if outcome else contextlib.nullcontext(),
            ):
                booted.boot()

    def test_that_was_trapped_without_a_breakpoint_is_repeated_once_unless_the_module_ran(self):
        def trapped(rip):
            return (
                "flashloom-lab: begin\nWARNING: CPU: 1 PID: 155 at arch/x86/kernel/traps.c:1120 "
                "exc_debug_kernel+0xca/0x160\nRIP: 0010:exc_debug_kernel+0xca/0x160\n"
                f" <#DB>\nRIP: 0010:{rip}\n </#DB>\n"
            )

        kernel, module = trapped("kmem_cache_alloc_noprof+0x6f/0x2f0"), trapped("pd_insert+0x6f/0x2f0 [pardispatcher]")
        warned = "flashloom-lab: begin\nWARNING: CPU: 1 PID: 155 at block/blk-mq.c:1 pd_insert+0x1/0x2\n"
        late = f"{guest.LATE} 170 s\n"
        good = "flashloom-lab: begin\n" + END
        booted = Guest(KERNEL, Path("module"), "test", "test")
        for consoles, failure in (
            ([kernel + late, good], None),
            ([kernel, kernel], "the kernel reports"),
            ([module, good], "the kernel reports"),
            ([warned, good], "the kernel reports"),
            (["flashloom-lab: begin\n" + late, good], "did not end within 170 s"),
        ):
            with (
                self.subTest(consoles=consoles),
                patch.object(Guest, "console_of_a_boot", side_effect=consoles),
                contextlib.redirect_stdout(io.StringIO()),
                self.assertRaisesRegex(LabFailure, failure) if failure else contextlib.nullcontext(),
            ):
                booted.boot()

    def test_that_failed_leaves_the_others_their_consoles(self):
        failure = LabFailure("the script ended with status 1")
        with patch.object(Guest, "boot", side_effect=[failure, END]):
            self.assertEqual(boot_all([Guest(KERNEL, Path("module"), "test", "test")] * 2), [failure, END])

    def test_that_ran_fewer_tests_than_named_fails(self):
        with patch.object(tests, "build_module"), patch.object(Guest, "boot", return_value="ok: one (1 s)\n" + END):
            with contextlib.redirect_stdout(io.StringIO()):
                tests.run_tests([KERNEL], ["one"], seconds=1, timeout_s=1)
                with self.assertRaisesRegex(LabFailure, "1 tests of 2 have run"):
                    tests.run_tests([KERNEL], ["one", "two"], seconds=1, timeout_s=1)

    def test_keeps_what_comes_out_to_itself(self):
        booted = Guest(KERNEL, Path("module"), "test", "test")
        locked = []

        def unpack(arguments):
            with open(self.directory / "flashloom/lab/locks/6.1.0-test") as lock:
                locked.append(subprocess.run(["flock", "-n", str(lock.fileno())], pass_fds=[lock.fileno()]).returncode)

        with patch.object(Guest, "boot_alone", return_value=END), patch.object(guest, "run", unpack):
            booted.boot(self.directory)
        self.assertEqual(locked, [1])


class AConsole(InCache):
    def judge(self, text, **options):
        return Guest(KERNEL, Path("module"), "test", "test", **options).judge(text + END)

    def test_with_a_report_of_the_kernel_fails(self):
        for line in (
            "WARNING: CPU: 0 PID: 1 at block/elevator.c:1",
            "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
            "INFO: task fio:99 blocked for more than 120 seconds.",
            "kmemleak: Kernel memory leak detector disabled",
            "kmemleak: Memory pool empty, consider increasing CONFIG_DEBUG_KMEMLEAK_MEM_POOL_SIZE",
            "INFO: lockdep is turned off.",
            "turning off the locking correctness validator.",
            "I/O error, dev vda, sector 8 op 0x1:(WRITE) flags 0x8800 phys_seg 1 prio class 2",
            "Buffer I/O error on dev vda, logical block 1, async page read",
            "BTRFS error (device vdc): bad tree block start, mirror 1 want 30408704 have 0",
            "XFS (vdc): Metadata corruption detected at xfs_agf_read_verify",
            "EXT4-fs error (device vda): ext4_lookup:1855: inode #2: comm ls: iget: checksum invalid",
            "Out of memory: Killed process 99 (fio) total-vm:1kB",
        ):
            with self.subTest(line), self.assertRaisesRegex(LabFailure, "the kernel reports, in line 2"):
                self.judge(f"first\n[   1.000000] {line}\n")

    def test_may_have_errors_of_devices_that_are_to_fail(self):
        self.judge("I/O error, dev bad, sector 4096 op 0x0\nBuffer I/O error on dev sda, logical block 582\n")

    def test_may_have_errors_of_any_device_where_a_suite_makes_them_but_no_report_of_the_kernel(self):
        self.judge("I/O error, dev nullb0, sector 8 op 0x1:(WRITE)\n", devices_fail=True)
        with self.assertRaisesRegex(LabFailure, "the kernel reports"):
            self.judge("WARNING: CPU: 0 PID: 1 at block/elevator.c:1\n", devices_fail=True)

    def test_has_to_hold_what_was_to_be_announced(self):
        self.judge("kasan: initialized\n", announced=("kasan: init",))
        with self.assertRaisesRegex(LabFailure, "does not say: kasan"):
            self.judge("", announced=("kasan: init",))

    def test_without_the_end_of_the_script_fails(self):
        with self.assertRaisesRegex(LabFailure, "stopped before the script's end"):
            Guest(KERNEL, Path("module"), "test", "test").judge("ok: one (1 s)\n")


class TheShortForm(unittest.TestCase):
    def status(self, user, problem):
        outcomes = set()
        for command, requirement in (("test", "require"), ("live", "require_live")):
            with (
                patch.object(__main__, requirement, side_effect=problem),
                patch.object(os, "geteuid", return_value=user),
                patch("sys.argv", ["flashloom-lab", command, "--short"]),
                contextlib.redirect_stderr(io.StringIO()) as said,
            ):
                outcomes.add((__main__.main(), "SKIPPED" in said.getvalue()))
        (outcome,) = outcomes
        return outcome

    def test_is_skipped_for_an_ordinary_user_who_lacks_packages(self):
        self.assertEqual(self.status(1000, LabError("packages are missing")), (0, True))

    def test_is_an_error_for_root_whose_packages_do_not_come(self):
        self.assertEqual(self.status(0, LabError("apt-get ended with status 100")), (2, False))

    def test_is_skipped_for_all_on_a_machine_that_it_is_not_for(self):
        self.assertEqual(self.status(0, LabUnsupported("this machine is aarch64")), (0, True))

    def test_is_skipped_for_an_ordinary_user_without_lists_of_packages(self):
        with patch.object(__main__, "kernel", side_effect=LabError("apt knows no package of Linux 6.1")):
            self.assertEqual(self.status(1000, None), (0, True))


class APackage(InCache):
    def version(self, package, known):
        with patch.object(kernels, "versions", return_value=known):
            return kernels.version_beside(package, "6.1.192-2")

    def test_has_the_version_of_its_kernel(self):
        for package in ("linux-image-6.1.0-56-cloud-amd64", "linux-headers-6.1.0-56-common", "linux-kbuild-6.1"):
            self.assertEqual(self.version(package, ["6.1.192-3", "6.1.192-2", "6.1.176-1"]), "6.1.192-2")

    def test_of_the_tools_is_the_newest_where_that_of_the_kernel_is_no_more(self):
        known = ["6.1.192-3", "6.1.176-1"]
        self.assertEqual(self.version("linux-kbuild-6.1", known), "6.1.192-3")
        self.assertEqual(self.version("linux-headers-6.1.0-56-common", known), "6.1.192-2", "it is needed exactly")
        self.assertEqual(self.version("linux-kbuild-6.1", []), "6.1.192-2", "apt then says what it lacks")

    def test_is_downloaded_once_in_its_version(self):
        downloaded = []

        def download(command, cwd):
            for wanted in command[2:]:
                package, _, version = wanted.partition("=")
                downloaded.append(wanted)
                (Path(cwd) / f"{package}_{version.replace(':', '%3a')}_amd64.deb").touch()

        with patch.object(kernels, "run", side_effect=download), contextlib.redirect_stdout(io.StringIO()):
            for packages in ({"a": "1:2", "b": "3"}, {"a": "1:2", "b": "4"}):
                names = [path.name for path in kernels.fetch(packages)]
                self.assertEqual(names, ["a_1%3a2_amd64.deb", f"b_{packages['b']}_amd64.deb"])
        self.assertEqual(downloaded, ["a=1:2", "b=3", "b=4"])


class ABuild(InCache):
    def test_has_a_directory_for_exactly_its_sources_and_its_kernel(self):
        other = Kernel("6.1", "6.1.0", Path("6.1.0_2"))
        directories = {
            kernels.build_directory(target, sources)
            for target in (KERNEL, other)
            for sources in ({"a.c": b"1"}, {"a.c": b"2"}, {"a.c": b"1", "b.c": b""}, {"b.c": b"1"})
        }
        self.assertEqual(len(directories), 8)

    def test_has_the_sources_of_its_checkout_whatever_their_dates(self):
        built = []
        with (
            patch.object(kernels, "KERNEL_DIR", self.directory),
            patch.object(kernels, "run"),
            patch.object(kernels, "refused", return_value=""),
        ):
            for content in ("first", "other", "first"):
                source = self.directory / "pardispatch.c"
                source.write_text(content)
                os.utime(source, (1, 1))
                module = kernels.build_module(Kernel("6.1", "6.1.0", Path("6.1.0_1"), headers_path=self.directory))
                built.append((module.parent / "pardispatch.c").read_text())
        self.assertEqual(built, ["first", "other", "first"])


    def test_goes_beyond_what_users_may_build_for_where_debian_is_ahead(self):
        for reason, expected in (("", False), ("6.1.193 is newer", True)):
            with (
                patch.object(kernels, "run") as made,
                patch.object(kernels, "refused", return_value=reason),
                contextlib.redirect_stdout(io.StringIO()) as said,
            ):
                kernels.build_module(Kernel("6.1", "6.1.0", Path("6.1.0_1"), headers_path=self.directory))
            self.assertEqual("UNTESTED=1" in made.call_args.args[0], expected)
            self.assertIn(reason, said.getvalue())


class TheKernels(InCache):
    """The kernels that build-module and the compiler accept."""

    FIRST_AND_LAST = {"6.1": (176, 192), "6.12": (107, 117), "6.18": (0, 35)}

    def headers(self, version):
        """Kernel headers that contain only the version."""
        header = self.directory / version / "include/generated/uapi/linux/version.h"
        header.parent.mkdir(parents=True, exist_ok=True)
        numbers = zip(("MAJOR", "PATCHLEVEL", "SUBLEVEL"), version.split("."))
        header.write_text("".join(f"#define LINUX_VERSION_{name} {number}\n" for name, number in numbers))
        return self.directory / version

    def source(self, version):
        """A kernel's source that contains only what is looked at."""
        source = self.directory / f"source-{version}"
        (source / "block").mkdir(parents=True, exist_ok=True)
        (source / "block/elevator.h").touch()
        names = zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), version.split("."))
        (source / "Makefile").write_text("".join(f"{name} = {number}\n" for name, number in names))
        return str(source)

    def check(self, version, **environment):
        """The output and exit status of build-module for a kernel."""
        command = [kernels.KERNEL_DIR / "build-module", "--check", "a-release", self.headers(version)]
        environment = {"PATH": os.environ["PATH"], "SOURCE": self.source(version), **environment}
        said = subprocess.run(command, capture_output=True, text=True, env=environment)
        return said.returncode, said.stderr

    def cases(self):
        """Both ends of each range and the version just outside each, and whether it is refused."""
        for series, (first, last) in self.FIRST_AND_LAST.items():
            for point, why in ((first, ""), (last, ""), (first - 1, "is older"), (last + 1, "is newer")):
                if point >= 0:
                    yield f"{series}.{point}", why

    def test_are_those_tested_and_others_are_refused_with_a_reason(self):
        for version, why in self.cases():
            with self.subTest(version):
                status, said = self.check(version)
                self.assertEqual(status, 2 if why else 0)
                self.assertIn(why, said)
                self.assertEqual(self.check(version, UNTESTED="1"), (0, ""))
        for version in ("6.0.19", "6.2.0", "6.11.11", "6.13.0", "5.12.107"):
            with self.subTest(version):
                status, said = self.check(version, UNTESTED="1")
                self.assertEqual(status, 2)
                self.assertIn("6.1, 6.12 and 6.18 alone", said)

    def test_whose_source_is_missing_or_of_another_point_release_are_refused(self):
        for source, why in (
            (self.source("6.12.116"), "the source is of Linux 6.12.116, and the headers of a-release are of 6.12.117"),
            (self.source("6.18.117"), "the source is of Linux 6.18.117, and the headers of a-release are of 6.12.117"),
            (str(self.directory / "none"), "none/block/elevator.h is missing"),
        ):
            with self.subTest(source):
                status, said = self.check("6.12.117", SOURCE=source)
                self.assertEqual(status, 2)
                self.assertIn(why, said)

    def test_without_headers_are_refused(self):
        command = [kernels.KERNEL_DIR / "build-module", "--check", "a-release", self.directory / "none"]
        said = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(said.returncode, 2)
        self.assertIn("apt-get install linux-headers-a-release", said.stderr)

    def test_that_are_refused_are_passed_over_by_dkms(self):
        script = f'. {kernels.KERNEL_DIR}/dkms.conf; [[ "$kernelver" =~ $BUILD_EXCLUSIVE_KERNEL ]]'
        for version, why in (*self.cases(), ("6.6.30", "alone")):
            settings = {"kernelver": f"{version}-amd64", "kernel_source_dir": str(self.headers(version))}
            with self.subTest(version):
                environment = {"PATH": os.environ["PATH"], "SOURCE": self.source(version), **settings}
                read = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
                self.assertEqual(read.returncode, 1 if why else 0)
                self.assertIn(why, read.stderr)

    def compiled(self, version, *options):
        """The output and exit status of the compiler for a kernel."""
        code = f"-DLINUX_VERSION_CODE=KERNEL_VERSION({version.replace('.', ',')})"
        source = kernels.KERNEL_DIR / "tested_kernels.h"
        command = ["cc", "-fsyntax-only", f"-I{kernels.KERNEL_DIR}/userspace", code, *options, source]
        said = subprocess.run(command, capture_output=True, text=True)
        return said.returncode, said.stderr

    def test_are_the_same_for_the_compiler(self):
        for version, why in self.cases():
            with self.subTest(version):
                status, said = self.compiled(version)
                self.assertEqual(status, 1 if why else 0)
                self.assertIn("not tested on this point release" if why else "", said)
                self.assertEqual(self.compiled(version, "-DPD_UNTESTED"), (0, ""))
        for version in ("6.0.19", "6.2.0", "6.11.11", "6.13.0"):
            with self.subTest(version):
                self.assertIn("6.1, 6.12 and 6.18 alone", self.compiled(version, "-DPD_UNTESTED")[1])

    def test_are_the_same_for_the_reader(self):
        readme = (kernels.KERNEL_DIR / "README.md").read_text()
        for series, (first, last) in self.FIRST_AND_LAST.items():
            said = f"{series}.{first} to {series}.{last}" in readme
            self.assertTrue(said, f"README.md has another range of {series}")


class ATree(InCache):
    """What is given as the source of a kernel."""

    def test_tells_its_series_and_what_is_none_is_refused(self):
        self.assertRaisesRegex(LabError, "is not the source of a kernel", built_kernel.series_of, self.directory)
        (self.directory / "Makefile").write_text("# a comment\nVERSION = 6\nPATCHLEVEL = 18\nSUBLEVEL = 35\n")
        self.assertRaisesRegex(LabError, "is not the source of a kernel", built_kernel.series_of, self.directory)
        (self.directory / "block").mkdir()
        (self.directory / "block/elevator.h").touch()
        self.assertEqual(built_kernel.series_of(self.directory), "6.18")


    def test_is_built_until_it_changes_or_other_options_are_wanted(self):
        tree, build, marker = (self.directory / name for name in ("tree", "build", "release"))
        tree.mkdir()
        build.mkdir()
        self.assertFalse(built_kernel.is_built(tree, marker, build, "wishes"))
        (build / built_kernel.WISHES).write_text("wishes")
        marker.write_text("6.18.35")
        self.assertTrue(built_kernel.is_built(tree, marker, build, "wishes"))
        self.assertFalse(built_kernel.is_built(tree, marker, build, "others"))
        later = marker.stat().st_mtime + 1
        (tree / "Makefile").touch()
        os.utime(tree / "Makefile", (later, later))
        self.assertFalse(built_kernel.is_built(tree, marker, build, "wishes"))


class WriteBack(unittest.TestCase):
    def test_is_let_in_as_long_as_the_simulator_has_as_many_at_a_time(self):
        self.assertTrue(write_back.is_let_in("| a load | 8 | 7.9 | 8 | 7.8 |"))
        self.assertFalse(write_back.is_let_in("| a load | 9 | 1.0 | 8 | 7.8 |"))

    def test_is_compared_while_fio_runs(self):
        end = write_back.SECONDS * 1_000_000_000
        found = [(time_ns, 0, "D", "W", 0, 8, 0) for time_ns in (7, 6 + end, 7 + end)]
        self.assertEqual(write_back.while_it_runs(found), found[:2])


class AFlood(unittest.TestCase):
    def test_breaks_a_promise_where_too_many_go_before_the_small_write_or_the_flood_loses(self):
        reference = floods.Figures(
            served=800, mean_ms=8.0, max_ms=60.0, tag_ms=0.1, before=9000, allowed=510, flood_mb_s=100.0
        )
        for change, number in (
            ({"mean_ms": 24.0, "before": 510, "flood_mb_s": 97.0}, 0),
            # The wait for a tag is the block layer's; no rule of a scheduler bounds it.
            ({"max_ms": 389.0, "tag_ms": 130.0, "before": 500}, 0),
            ({"mean_ms": 24.1, "before": 1}, 1),
            ({"before": 511}, 1),
            ({"before": 1, "flood_mb_s": 96.9}, 1),
            ({"mean_ms": 4356.0, "before": 9700, "flood_mb_s": 90.0}, 3),
        ):
            with self.subTest(change):
                self.assertEqual(len(floods.broken("job", replace(reference, **change), reference)), number)

    def test_has_as_many_go_before_as_two_sweeps_hold(self):
        self.assertEqual([floods.most_before(depth) for depth in (1, 8, 256)], [0, 14, 510])

    def test_whose_recording_lacks_a_small_write_is_no_flood(self):
        jobs = [{"jobname": "victim", "write": {"total_ios": 1}}, {"jobname": "flood", "write": {}}]
        result = json.dumps({"jobs": jobs})
        with self.assertRaisesRegex(LabFailure, "1 small writes, and the recording has 0"):
            floods.figures(result, b"", 8)


class TheSuite(InCache):
    def suite(self, **status):
        return blktests.Suite({f"block/{name[1:]}": what for name, what in status.items()}, (20, 20), (3, 0))

    def test_is_read_from_what_a_guest_has_taken_out(self):
        for name, content in (
            ("blktests/nodev/block/001", "status\tpass\nruntime\t1s\n"),
            ("blktests/nodev/block/001.full", "status\tfail\n"),
            ("blktests/nodev/zbd/002", "status\tfail\n"),
            ("blktests/nodev/loop/003", "status\tnot run\n"),
            ("schedulers", "a none none [pardispatcher] kyber\nb host-managed [none] mq\nc none [none]\ngone\n"
             "d host-managed [mq-deadline] none\n"),
        ):
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        found = {"block/001": "pass", "loop/003": "not run", "zbd/002": "fail"}
        read = blktests.results(self.directory, "pardispatcher")
        self.assertEqual(read, blktests.Suite(found, plain=(2, 1), zoned=(2, 0)))

    def test_is_worse_by_what_passed_before_and_does_not_now(self):
        reference = self.suite(_001="pass", _002="fail", _003="not run", _004="pass", _005="pass")
        judged = self.suite(_001="pass", _002="fail", _003="fail", _004="fail")
        self.assertEqual(blktests.worse(judged, reference), ["block/004", "block/005"])

    def run_with(self, *suites):
        with (
            patch.object(blktests, "build"),
            patch.object(blktests, "suite_under", side_effect=suites) as runs,
        ):
            return blktests.blktests(KERNEL, self.directory, ["block"], []), runs.call_count

    def test_runs_again_what_failed_and_fails_if_that_fails_thrice(self):
        good, bad = self.suite(_001="pass"), self.suite(_001="fail")
        self.assertEqual(self.run_with(good, good)[1], 2)
        text, runs = self.run_with(good, bad, bad, good)
        self.assertEqual((runs, text.count("run again: block/001")), (4, 2))
        with self.assertRaisesRegex(LabFailure, "with pardispatcher they fail: block/001"):
            self.run_with(good, bad, bad, bad)

    def test_is_no_test_of_a_scheduler_that_no_device_had_or_that_a_zoned_one_had(self):
        for suite, why in (
            (replace(self.suite(), plain=(20, 3)), "3 devices of 20"),
            (replace(self.suite(), zoned=(3, 1)), "1 zoned devices have had"),
        ):
            with self.assertRaisesRegex(LabFailure, why):
                self.run_with(self.suite(), suite)

    def test_is_refused_where_there_is_none(self):
        with self.assertRaisesRegex(LabError, "is not a directory of blktests"):
            blktests.build(self.directory)


class AComparison(InCache):
    RESULT = {
        "host": {
            "read_bytes": 4096,
            "write_bytes": 12288,
            "duration_ns": 500_000_000,
            "scheduler": {"dispatched": 4},
        },
        "ftl": {"waf": 2.5, "page_copies": 7, "block_erases": 1},
    }

    def test_gives_the_drive_what_was_issued_and_the_scheduler_what_was_asked_for(self):
        real = compare.settings("r.blktrace", None, "6.1")
        self.assertEqual((real["workload.event"], real["workload.queue_depth"]), ("issue", "4"))
        self.assertEqual((real["host.scheduler"], real["host.linux"]), ("none", "6.1"))
        own = compare.settings("r.blktrace", "kyber", "6.1")
        self.assertEqual((own["workload.event"], own["workload.queue_depth"]), ("queue", "64"))
        self.assertEqual((own["host.scheduler"], own["host.queue_depth"]), ("kyber", real["host.queue_depth"]))
        # What the guest writes, and null_blk's largest request.
        guest = (compare.KERNEL_DIR / "lab/guest/record.sh").read_text()
        self.assertIn(f"echo {own['host.nr_requests']} >/sys/block/$device/queue/nr_requests", guest)
        self.assertIn("max_sectors=1024", compare.DEVICE)
        self.assertEqual(own["host.max_request"], "512KiB")
        self.assertEqual(compare.simulated_name("bfq", "6.1"), "linux-6-1-bfq")

    def test_reads_the_drives_account(self):
        of = compare.account(self.RESULT)
        self.assertEqual(of, compare.Account(4, 4.0, 8.0, 2.5, 7, 1))
        self.assertEqual(compare.row("bfq", "real", of), "| bfq | real | 4 | 4.0 | 8.0 | 2.50 | 7 | 1 |")

    def test_fails_if_the_drive_got_other_requests_than_were_issued(self):
        recording = self.directory / "r.blktrace.0"
        event = waits.EVENT.pack(waits.MAGIC, 0, 1, 8, 4096, waits.ISSUED, 0, 0, 0, 0, 0)
        recording.write_bytes(event * 4)
        compare.check("load", "bfq", recording, compare.account(self.RESULT))
        recording.write_bytes(event * 5)
        with self.assertRaisesRegex(LabFailure, "issued 5 requests, the drive got 4"):
            compare.check("load", "bfq", recording, compare.account(self.RESULT))


class AnOrder(unittest.TestCase):
    def test_is_promised(self):
        for shares, promised in ((("100.00", "99.00"), True), (("100.00", "98.99"), False)):
            rows = [f"| load | 4000 | 1 | 2 | {share} % |" for share in shares]
            with (
                self.subTest(shares),
                patch.object(order, "LOADS", {"one": "numjobs=2", "two": "numjobs=2"}),
                patch.object(order, "recorded"),
                patch.object(order, "compared", side_effect=rows),
                contextlib.nullcontext() if promised else self.assertRaisesRegex(LabFailure, "less than 99 % in order"),
            ):
                order.order(KERNEL, "kyber")


class AnOrderOfQueues(unittest.TestCase):
    TRACE = """# tracer: function
     kworker/1:1H-48      [001] d..1.     7.000005: blk_mq_sched_dispatch_requests <-blk_mq_run_work_fn
     kworker/1:1H-48      [001] d..2.     7.000006: dd_dispatch_request <-__blk_mq_do_dispatch_sched
             fio-184      [000] d..2.     7.000006: elv_rb_del <-deadline_remove_request
     kworker/1:1H-48      [001] d..2.     7.000006: elv_rb_del <-deadline_remove_request
             fio-183      [001] d..2.     7.000007: elv_rb_del <-deadline_remove_request
          <idle>-0        [001] d.h1.     7.000030: blk_mq_put_tag <-__blk_mq_free_request
          <idle>-0        [001] d.h1.     7.000031: blk_mq_put_tag <-__blk_mq_free_request
"""

    def calls(self):
        return queue_order.calls(self.TRACE, queue_order.GIVE["mq-deadline"])

    def test_notes_runs_and_what_the_scheduler_gives_but_no_merges(self):
        found = [(time_ns, *rest) for time_ns, _, *rest in self.calls()]
        self.assertEqual(found[:2], [(7_000_005_000, "run", 1), (7_000_006_000, "ask", 1)])
        self.assertEqual(found[2:], [(7_000_030_000, "free", 1), (7_000_031_000, "free", 1)])

    def test_has_requests_when_they_were_inserted_and_tags_when_they_were_free(self):
        request = ("R", 800, 8, 1)
        seen = [(7_000_001_000, 1, "Q"), (7_000_002_500, 2, "I"), (7_000_010_000, 3, "D"), (7_000_020_000, 4, "C")]
        found = queue_order.on_time([(*event, *request) for event in seen], self.calls())
        self.assertEqual(
            order.lines(found),
            "7000002500 Q R 800 8 1\n7000005000 run R 0 0 1\n7000006000 ask R 0 0 1\n7000010000 D R 800 8 1\n"
            "7000030000 C R 800 8 1\n",
        )

    def test_is_promised_of_every_share(self):
        for shares, promised in ((("99.00", "100.00", "99.00"), True), (("98.99", "99.90", "100.00"), False)):
            row = f"| load | 4000 | 1 | {' | '.join(f'{share} %' for share in shares)} |"
            with (
                self.subTest(shares),
                patch.object(queue_order, "QUEUE_LOADS", {"one": ""}),
                patch.object(queue_order, "recorded"),
                patch.object(queue_order, "compared", return_value=row),
                contextlib.nullcontext() if promised else self.assertRaisesRegex(LabFailure, "less than 99 % in order"),
            ):
                queue_order.order_of_queues(KERNEL, "kyber")


class Waits(unittest.TestCase):
    Q, G, I, D, C = 1, 4, 12, 7, 8

    def recording(self, *seen):
        return b"".join(
            waits.EVENT.pack(waits.MAGIC, 0, time, sector, 4096, action, 0, 0, 0, 0, len(more)) + more
            for time, action, sector, more in seen
        )

    def test_are_for_a_tag_in_time_and_in_the_scheduler_in_requests(self):
        small, other = 1 << 21, 8
        recording = self.recording(
            (0, self.Q, small, b""),
            # An issue before its insertion; a message of the recording; then two issues before its own.
            (1_000_000, self.D, other, b"four"),
            (2_000_000, self.G, small, b""),
            (2_000_000, waits.NOTIFY | self.D, 0, b"message"),
            (2_000_000, self.I, small, b""),
            (3_000_000, self.D, other, b""),
            (4_000_000, self.D, other, b""),
            (5_000_000, self.D, small, b""),
            (6_000_000, self.C, small, b""),
        )
        self.assertEqual(waits.waits(recording, 1 << 30), [waits.Wait(tag_ms=2.0, overtaken=2)])

    def test_are_not_read_from_anything_else(self):
        with self.assertRaisesRegex(ValueError, "no event of blktrace"):
            waits.waits(bytes(waits.EVENT.size), 0)


class ARecording(InCache):
    def test_replaces_all_files_of_an_earlier_one_and_no_others(self):
        made = self.directory / "made"
        made.mkdir()
        (made / "recording.blktrace.0").write_text("new")
        for name in ("r.blktrace.0", "r.blktrace.1", "r.blktrace.toml", "rr.blktrace.1"):
            (self.directory / name).write_text("old")
        self.assertEqual(record.bring_out(made, self.directory / "r"), [self.directory / "r.blktrace.0"])
        left = {path.name: path.read_text() for path in self.directory.iterdir() if path.is_file()}
        self.assertEqual(left, {"r.blktrace.0": "new", "r.blktrace.toml": "old", "rr.blktrace.1": "old"})


class ALiveDrive(InCache):
    """What is held against a drive that was served: here drive and guest have seen the same, but for one thing."""

    RUN = live.Run("ext4", "page", "none")
    R, W, D, F = "RWDF"

    def seen(self):
        """Requests of a guest, by phase."""
        phases = {name: [(self.W, 80, 8, False), (self.F, 0, 0, False)] for name in live.PHASES}
        phases["durable"] = [(self.W, 8, 8, False), (self.F, 0, 0, False)] * 32
        phases["files"] = [(self.R, 0, 256, False), (self.W, 800, 64, False), (self.W, 640, 8, True)]
        phases["after-wal"] = [(self.F, 0, 0, False), *phases["wal"]]
        phases["again"] = []
        phases["trim"] = [(self.D, 1024, 4096, False)]
        return {name: [live.Request(*request) for request in requests] for name, requests in phases.items()}

    def account(self, requests):
        """What the drive says of these: it has read its first sector before, and flushes twice and once more."""
        requests = [live.Request("R", 0, 1, False), *requests, *[live.Request("F", 0, 0, False)] * 3]
        times = [request._replace(arrival_ns=n * 1000, end_ns=n * 1000 + 500) for n, request in enumerate(requests)]
        host = {"discards": sum(r.op == "D" for r in requests), "fua_writes": sum(r.fua for r in requests)}
        ftl = {"waf": 2.5, "block_erases": 7, "trimmed_pages": 512}
        return served.Account({"host": host, "ftl": ftl}, times)

    def judge(self, change=lambda requests: requests, **figures):
        seen = self.seen()
        account = self.account(change([request for requests in seen.values() for request in requests]))
        account.result["host"] |= figures
        return live.judge(self.RUN, seen, account)

    def test_that_agrees_has_a_row(self):
        row = self.judge()
        self.assertEqual((row.amplification, row.erases), (2.5, 7))
        # A write and a flush: from the arrival of the one to the end of the other 1,500 ns.
        self.assertAlmostEqual(row.flushes["wal"], 1e9 / 1500)
        self.assertAlmostEqual(row.transactions["delete"], live.TRANSACTIONS * 1e9 / 1500)

    def test_may_get_requests_in_parts_and_in_another_order(self):
        def parted(requests):
            at = requests.index(live.Request("W", 800, 64, False))
            return requests[:at] + [requests[at + 1], requests[at]] + requests[at + 2 :]

        self.judge(parted)
        whole = [live.Request("D", 8, 64, False)]
        parts = [live.Request("D", 40, 32, False), live.Request("D", 8, 32, False)]
        self.assertEqual(live.coverage(whole), live.coverage(parts))
        self.assertNotEqual(live.coverage(whole), live.coverage(parts[:1]))
        self.assertNotEqual(live.coverage(whole), live.coverage(whole * 2))

    def test_that_says_something_else_fails(self):
        def without_fua(requests):
            return [request._replace(fua=False) for request in requests]

        def elsewhere(requests):
            return [request._replace(sector=648) if request.sector == 640 else request for request in requests]

        def without_flushes(requests):
            return [request for request in requests if request.op != "F"]

        def without_trims(requests):
            return [request for request in requests if request.op != "D"]

        for change, problem in (
            (without_fua, "files: the guest has issued 1 FUA writes, and the drive has seen 0"),
            (elsewhere, "files: from sector 640 on guest and drive have different requests of kind W"),
            (without_flushes, "durable: 0 writes of 32 are FUA or have a flush behind them"),
            (without_flushes, "wal: the guest has issued 1 flushes, and the drive has seen 0"),
            (without_trims, "trim: 0 trims were served"),
            (lambda requests: requests + requests[-2:], "after-trim: from sector 80 on"),
        ):
            with self.subTest(problem), self.assertRaisesRegex(LabFailure, problem):
                self.judge(change)
        for figures, problem in (
            ({"discards": 2}, "the drive counts 2 and"),
            ({"fua_writes": 0}, "the drive counts 0 FUA writes, and its log has 1"),
        ):
            with self.subTest(problem), self.assertRaisesRegex(LabFailure, problem):
                self.judge(**figures)

    def test_is_recorded_in_phases_by_messages(self):
        group = bytes(8)
        events = (
            (0, live.ISSUED | live.WRITES, 8, 4096, b""),
            (1, live.MESSAGE | live.NOTIFIES, 0, 0, b"begin\n"),
            (1, live.ISSUED | live.WRITES, 8, 4096, b""),
            (2, live.MESSAGE | live.OF_GROUP | live.NOTIFIES, 0, 0, group + b"durable\n"),
            (3, live.ISSUED | live.WRITES | live.FUA, 16, 4096, b""),
            (6, live.ISSUED | live.DISCARDS | live.WRITES, 0, 8192, b""),
            (7, 1 | live.WRITES, 24, 4096, b""),
        )
        others = (
            (4, live.ISSUED, 0, 512, b""),
            (5, live.MESSAGE | live.NOTIFIES, 0, 0, b"files"),
            (8, live.ISSUED | live.FLUSHES, 0, 0, b""),
        )
        paths = []
        for processor, part in enumerate((events, others)):
            paths.append(self.directory / f"r.blktrace.{processor}")
            paths[-1].write_bytes(
                b"".join(
                    order.EVENT.pack(order.MAGIC, 0, time, sector, size, action, 0, 0, 0, 0, len(more)) + more
                    for time, action, sector, size, more in part
                )
            )
        self.assertEqual(
            live.phases_of(paths),
            {
                "durable": [live.Request("W", 16, 8, True), live.Request("R", 0, 1, False)],
                "files": [live.Request("D", 0, 16, False), live.Request("F", 0, 0, False)],
            },
        )

    def test_has_the_rows_that_its_transactions_leave(self):
        told, rows = live.transactions()
        self.assertEqual(told.count("COMMIT"), live.TRANSACTIONS)
        self.assertEqual(len(rows.splitlines()), live.TRANSACTIONS)
        self.assertIn("+", rows)

    def test_has_a_log_that_says_when_requests_came_and_ended(self):
        log = self.directory / "log.csv"
        log.write_text("timestamp_ns,op,lba,sectors,sync,fua,latency_ns\n5,W,8,16,0,1,10\n")
        self.assertEqual(served.requests_of(log), [live.Request("W", 8, 16, True, 5, 15)])

    def test_that_does_not_come_up_is_told_with_what_it_says(self):
        program = self.directory / "flashloom"
        program.write_text("#!/bin/sh\necho no such mapping >&2\nexit 2\n")
        program.chmod(0o755)
        service = served.Service(program, "none", self.directory / "out")
        with self.assertRaisesRegex(LabError, "status 2:\nno such mapping"):
            service.wait_until_ready()

    def test_that_fails_while_it_is_served_is_a_failure(self):
        program = self.directory / "flashloom"
        program.write_text("#!/bin/sh\necho 'serving; Ctrl-C ends it, error: broken' >&2\nexit 1\n")
        program.chmod(0o755)
        service = served.Service(program, "none", self.directory / "out")
        service.wait_until_ready()
        service.process.wait()
        with self.assertRaisesRegex(LabFailure, "status 1:\n.*broken"):
            service.end()


if __name__ == "__main__":
    unittest.main()
