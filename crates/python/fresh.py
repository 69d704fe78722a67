"""Installs a wheel into a fresh environment, and compares a run there with the program's: its figures, and its time.

`python fresh.py WHEEL PROGRAM`; the interpreter is that of the environment. Runs alternate, and medians of their
processor time count, which depends less than the clock on what else a machine does; one thread runs. Fails if a figure
differs or the package takes a second longer.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

QUICKSTART = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
RUNS = 5
# Both age the drive.
UNCACHED = {**os.environ, "FLASHLOOM_CACHE": ""}

SCRIPT = f"""
import flashloom
import json
experiment = flashloom.Experiment({str(QUICKSTART)!r})
result = experiment.run()
print(json.dumps(result.to_dict()))
"""


def output(*command: object) -> tuple[dict[str, object], float]:
    """What a command prints as JSON, and the seconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, env=UNCACHED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures(result: dict[str, object]) -> dict[str, object]:
    """A result without what one run cost and where it came from."""
    return {name: value for name, value in result.items() if name not in ("run", "provenance")}


def main(wheel: str, program: str) -> None:
    """Compares, and prints what was found."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
        program_s, package_s = [], []
        for _ in range(RUNS):
            ours, seconds = output(program, "run", QUICKSTART, "--quiet", "--json", "-")
            program_s.append(seconds)
            theirs, seconds = output(python, "-c", SCRIPT)
            package_s.append(seconds)
            if figures(ours) != figures(theirs):
                sys.exit(f"fresh.py: {program} and {wheel} differ")
    median = statistics.median(program_s), statistics.median(package_s)
    print(f"fresh.py: equal figures; the program takes {median[0]:.2f} s, the package {median[1]:.2f} s")
    if median[1] - median[0] >= 1:
        sys.exit("fresh.py: the package takes a second longer than the program")


if __name__ == "__main__":
    main(*sys.argv[1:])
