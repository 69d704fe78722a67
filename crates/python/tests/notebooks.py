"""The notebooks of docs/notebooks: executed in kernels of their own, and made into pages of the documents.

    python crates/python/tests/notebooks.py [NAME ..]

executes them and writes their outputs, pages and figures anew, as `make notebooks` does. A notebook is the source of
its page: code, text outputs and figures are those that it stores.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

FOLDER = Path(__file__).parents[3] / "docs" / "notebooks"
IMAGES = FOLDER / "images"
NAMES = ("first-steps", "which-scheduler", "spare-space", "own-policy", "tuning-the-tail", "live-drive")
# Programs that a notebook runs, beside Flashloom's own.
PROGRAMS = {"live-drive": ("nbdkit", "fio")}

# Figures have the same bytes each time, letters included, and can be read on a dark page.
STYLE = "svg.hashsalt: flashloom\nsvg.fonttype: path\nfigure.facecolor: white\nfigure.constrained_layout.use: True\n"


def path_of(name: str) -> Path:
    """The file of a notebook."""
    return FOLDER / f"{name}.ipynb"


def read(name: str) -> Any:
    """A notebook as it is stored."""
    return json.loads(path_of(name).read_text(encoding="utf-8"))


def executed(name: str) -> Any:
    """The notebook with the outputs of a fresh kernel, in an empty folder. Raises for a cell that fails."""
    nbformat, nbclient = (importlib.import_module(library) for library in ("nbformat", "nbclient"))
    with tempfile.TemporaryDirectory() as folder:
        style = Path(folder, "matplotlibrc")
        style.write_text(STYLE)
        own = {"MATPLOTLIBRC": str(style), "SOURCE_DATE_EPOCH": "0", "FLASHLOOM_CACHE": "", "IPYTHONDIR": folder}
        program = os.environ.get("FLASHLOOM_PROGRAM", Path(__file__).parents[3] / "target" / "release" / "flashloom")
        own["PATH"] = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
        own["PYTHONWARNINGS"] = "ignore:IProgress not found"  # ipywidgets, which nothing here needs
        work = Path(folder, "work")
        work.mkdir()
        with mock.patch.dict(os.environ, own):
            notebook = nbformat.read(path_of(name), as_version=4)
            nbclient.NotebookClient(
                notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(work)}}
            ).execute()
    return _bare(json.loads(nbformat.writes(notebook)))


def _bare(notebook: Any) -> Any:
    """A notebook without what differs from machine to machine."""
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook["cells"]:
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key == "alt"}
    return notebook


def text(lines: str | list[str]) -> str:
    """A text of a notebook, which is stored by lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def outputs(notebook: Any) -> Iterator[tuple[int, str, str]]:
    """Every output that is a text, by the number of its cell and its kind; a figure counts, but not its drawing."""
    for number, cell in enumerate(notebook["cells"]):
        for output in cell.get("outputs", ()):
            if output["output_type"] == "stream":
                yield number, output["name"], text(output["text"])
            for kind, value in output.get("data", {}).items():
                yield number, kind, "" if kind.startswith("image/") else text(value)


def page(name: str, notebook: Any) -> tuple[str, dict[str, str]]:
    """The page of a notebook, and its figures by their file names."""
    source = f"{name}.ipynb"
    first, *cells = notebook["cells"]
    heading, _, rest = text(first["source"]).partition("\n")
    note = f"This page is the notebook [{source}]({source}), with the outputs of its last run."
    parts = [f"<!-- Made from {source} by `make notebooks`. -->\n\n{heading}\n\n{note}\n{rest}".rstrip()]
    figures: dict[str, str] = {}
    for cell in cells:
        code = text(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(code)
            continue
        parts.append(f"```python\n{code}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/svg+xml" in data:
                file = f"{name}-{len(figures) + 1}.svg"
                figures[file] = text(data["image/svg+xml"])
                parts.append(_wrapped(f"![{cell['metadata']['alt']}](images/{file})"))
            else:
                shown = text(output["text"] if output["output_type"] == "stream" else data["text/plain"])
                parts.append(f"```text\n{shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", figures


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def main(names: list[str]) -> None:
    """Executes notebooks, and writes what comes of them."""
    IMAGES.mkdir(exist_ok=True)
    for name in names or NAMES:
        begin = time.monotonic()
        notebook = executed(name)
        path_of(name).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        written, figures = page(name, notebook)
        (FOLDER / f"{name}.md").write_text(written, encoding="utf-8")
        for old in IMAGES.glob(f"{name}-*.svg"):
            old.unlink()
        for file, drawing in figures.items():
            (IMAGES / file).write_text(drawing, encoding="utf-8")
        print(f"{name}: {len(figures)} figures, {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
