# SPDX-License-Identifier: GPL-2.0
"""Debian's kernels: fetches and unpacks them, and builds the module for them. None of this needs root."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .host import KERNEL_DIR, LabError, alone, cache, is_forbidden, run

SERIES = ("6.1", "6.12")

# The metapackage of the newest cloud kernel, the flavour with the fewest drivers, which boots fastest.
NEWEST = {"6.1": "linux-image-cloud-amd64", "6.12": "linux-image-6.12-cloud-amd64"}


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel."""

    series: str
    release: str
    directory: Path
    # The build tree of a kernel that is not from Debian's packages.
    headers_path: Path | None = None

    @property
    def image(self) -> Path:
        """The image that QEMU boots."""
        return self.directory / "image" / "boot" / f"vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        """The directory of the kernel's modules."""
        return self.directory / "image" / "lib" / "modules" / self.release

    @property
    def headers(self) -> Path:
        """The directory that modules are built against."""
        return self.headers_path or self.directory / "headers" / "usr" / "src" / f"linux-headers-{self.release}"

    @property
    def block(self) -> Path:
        """The private headers of its block layer."""
        return self.directory / "source" / "block"


def depends(package: str) -> list[str]:
    """The dependencies of a package."""
    return re.findall(r"Depends: (\S+)", run(["apt-cache", "depends", package]).stdout)


def oldest(series: str) -> tuple[str, str]:
    """The release and the package version of the oldest kernel of a series of which apt has every package."""
    newest(series)  # fetches the lists of packages if there are none
    pattern = rf"^linux-headers-{re.escape(series)}\..*cloud-amd64$"
    names = run(["apt-cache", "search", "--names-only", pattern]).stdout.split()
    releases = {
        version: name.removeprefix("linux-headers-")
        for name in names
        if re.match(pattern, name)
        for version in versions(name)
    }
    whole = [
        version
        for version in versions(f"linux-source-{series}")
        if version in releases and all(version in versions(name) for name in beside(releases[version]))
    ]
    return releases[whole[-1]], whole[-1]


def beside(release: str) -> list[str]:
    """The packages that the headers of a kernel need."""
    names = depends(f"linux-headers-{release}")
    return [name for name in names if name.startswith(("linux-headers-", "linux-kbuild-"))]


def versions(package: str) -> list[str]:
    """The versions of a package that apt has, newest first."""
    return [line.split("|")[1].strip() for line in run(["apt-cache", "madison", package]).stdout.splitlines()]


def newest(series: str) -> tuple[str, str]:
    """The release and the package version of the newest kernel of a series."""
    pattern = re.compile(rf"linux-image-({re.escape(series)}\.\S*cloud-amd64)$")
    releases = []
    for update in (False, True):
        # A machine may come without lists of packages.
        if update and os.geteuid() == 0 and not is_forbidden():
            run(["apt-get", "update"])
        known = subprocess.run(["apt-cache", "depends", NEWEST[series]], capture_output=True, text=True, check=False)
        releases = [match[1] for name in known.stdout.split() if (match := pattern.match(name))]
        if releases:
            break
    if not releases:
        raise LabError(
            f"apt knows no package of Linux {series} for the cloud (by {NEWEST[series]}): "
            "Debian 12 with its security updates has both kernels; apt-get update fetches the lists"
        )
    shown = run(["apt-cache", "show", "--no-all-versions", f"linux-headers-{releases[0]}"]).stdout
    return releases[0], re.search(r"^Version: (\S+)", shown, re.M)[1]


def version_beside(package: str, version: str) -> str:
    """The version of a package for a kernel's version: the same, but of kbuild, of which the headers need that or a
    newer one, the newest where apt no longer has the same. Debian publishes a kernel's tools before its signed image.
    """
    known = versions(package) if package.startswith("linux-kbuild-") else []
    return version if version in known else next(iter(known), version)


def fetch(packages: dict[str, str]) -> list[Path]:
    """Downloads packages, each of its version, unless they are already there; raises if that is forbidden."""
    debs = cache() / "debs"
    debs.mkdir(exist_ok=True)

    def found(package: str) -> list[Path]:
        # The colon of an epoch is written as %3a in file names.
        return list(debs.glob(f"{package}_{packages[package].replace(':', '%3a')}_*.deb"))

    with alone("debs"):
        wanted = [f"{package}={version}" for package, version in packages.items() if not found(package)]
        if wanted and is_forbidden():
            raise LabError(f"packages are missing, and INSTALL=no forbids it: apt-get download {' '.join(wanted)}")
        if wanted:
            print(f"lab: downloads {' '.join(wanted)}", flush=True)
            # In another directory until all are complete, so that an interruption leaves no partial download.
            with tempfile.TemporaryDirectory(dir=cache()) as partial:
                run(["apt-get", "download", *wanted], cwd=partial)
                for path in Path(partial).iterdir():
                    path.rename(debs / path.name)
    return [found(package)[0] for package in packages]


def unpack_block(source: Path, to: Path) -> None:
    """Unpacks block/ and the makefile before it, which has the version, from a kernel's source; stops reading then."""
    with tarfile.open(source, mode="r|xz") as archive:
        found = False
        for member in archive:
            _, _, path = member.name.partition("/")
            is_block = path.startswith("block/") or path == "block"
            if member.isfile() and (is_block or path == "Makefile"):
                target = to / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
            if found and not is_block:
                return
            found = is_block


def kernel(series: str, choose=newest) -> Kernel:
    """A kernel of a series, the newest or the oldest, unpacked."""
    release, version = choose(series)
    directory = cache() / "kernels" / f"{release}_{version.replace(':', '%3a')}"
    found = Kernel(series, release, directory)
    with alone(directory.name):
        if not (found.block.parent / "Makefile").exists():
            shutil.rmtree(directory, ignore_errors=True)
            unpack(found, version)
    return found


def unpack(found: Kernel, version: str) -> None:
    """Fetches and unpacks the packages of a kernel, with the block layer's private headers."""
    series, release, directory = found.series, found.release, found.directory
    headers = f"linux-headers-{release}"
    packages = [f"linux-image-{release}", f"linux-source-{series}", headers, *beside(release)]
    image, source, *trees = fetch({package: version_beside(package, version) for package in packages})
    print(f"lab: unpacks Linux {release}", flush=True)
    partial = partial_of(directory)
    run(["dpkg", "-x", image, partial / "image"])
    for tree in trees:
        run(["dpkg", "-x", tree, partial / "headers"])
    run(["dpkg", "-x", source, partial / "source-package"])
    unpack_block(next((partial / "source-package" / "usr" / "src").glob("*.tar.xz")), partial / "source")
    shutil.rmtree(partial / "source-package")
    # The packages refer to each other by paths below /usr/src; here these are below this directory.
    makefile = partial / "headers" / "usr" / "src" / headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src", str(directory / "headers" / "usr" / "src")))
    partial.rename(directory)


def partial_of(directory: Path) -> Path:
    """An empty directory, to be renamed when it is complete, so that an interruption leaves no partial one."""
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    return partial


def source_archive(series: str) -> Path:
    """The source archive of the newest kernel of a series."""
    _, version = newest(series)
    (package,) = fetch({f"linux-source-{series}": version})
    directory = cache() / "sources" / package.stem
    with alone(directory.name):
        if not directory.exists():
            partial = partial_of(directory)
            run(["dpkg", "-x", package, partial])
            partial.rename(directory)
    return next((directory / "usr" / "src").glob("*.tar.xz"))


def module_sources(kernel_dir: Path) -> dict[str, bytes]:
    """The module's source files by name."""
    paths = [path for path in kernel_dir.iterdir() if path.suffix in (".c", ".h") or path.name == "Kbuild"]
    return {path.name: path.read_bytes() for path in sorted(paths)}


def build_directory(target: Kernel, sources: dict[str, bytes]) -> Path:
    """The build directory for these sources and this kernel, named by a hash of the two, not by the checkout."""
    digest = hashlib.sha256()
    for name, content in sources.items():
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return cache() / "build" / f"{target.directory.name}-{digest.hexdigest()[:16]}"


def refused(target: Kernel) -> str:
    """The reason why build-module refuses that kernel; empty if it does not."""
    command = [KERNEL_DIR / "build-module", "--check", target.release, target.headers]
    environment = os.environ | {"SOURCE": str(target.block.parent)}
    environment.pop("UNTESTED", None)
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stderr.strip()


def build_module(target: Kernel) -> Path:
    """Builds the module for a kernel, with every warning of the kernel's own build as an error.

    Untested kernels are allowed: the tests run on Debian's newest kernel to find out whether it works.
    """
    sources = module_sources(KERNEL_DIR)
    build = build_directory(target, sources)
    with alone(f"build-{build.name}"):
        build.mkdir(parents=True, exist_ok=True)
        for name, content in sources.items():
            path = build / name
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
        settings = [f"M={build}", f"BLOCK_HEADERS={target.block}", "KCFLAGS=-Werror", "W=1"]
        # Without the modules' type information (BTF): it needs a tool that header packages lack, and nothing uses it.
        settings.append("CONFIG_DEBUG_INFO_BTF_MODULES=")
        if reason := refused(target):
            print(f"lab: users may not build for this kernel yet:\n{reason}", flush=True)
            settings.append("UNTESTED=1")
        compiler = [] if (target.headers / ".kernelvariables").exists() else ["CC=gcc-12"]
        run(["make", "-s", "-C", target.headers, f"-j{os.cpu_count()}", *settings, *compiler, "modules"])
    return build / "pardispatcher.ko"
