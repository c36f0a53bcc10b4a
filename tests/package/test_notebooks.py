"""The notebooks made from pages of the documentation: their cells are those of the page, and they run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("notebooks", reason="tools is not beside the tests")
from pages import run_shell  # noqa: E402

sys.path.pop(0)


def test_cells_of_a_page(tmp_path):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "# Title\n\nThis page [links](other.md#there), [out](https://a.example).\n\n```sh\necho one\n```\n\n"
        "<!-- printed -->\n"
        "```text\none\n```\n\nText.\n\n```pycon\n>>> a = 1\n>>> a\n1\n>>> a + 1\n2\n\n```\n\n```text\nshown\n```\n", "utf-8",
    )  # fmt: skip
    made = [(cell["cell_type"], cell["source"]) for cell in tool.make_notebook(page, tmp_path / "books")["cells"]]
    assert made[0] == ("markdown", "# Title")
    assert made[1][1].endswith("[a page of the documentation](../docs/page.md).")
    assert made[2:] == [
        ("markdown", "This page [links](../docs/other.md#there), [out](https://a.example)."),
        ("code", "%%bash\nset -euo pipefail\necho one"), ("markdown", "Text."), ("code", "a = 1\na"), ("code", "a + 1"),
        ("markdown", "```text\nshown\n```"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Start what stands in for Python."""
    with forked.start(str(tmp_path_factory.mktemp("python"))) as command:
        yield command


def run_with_kernel(notebook: dict[str, Any], folder: Path, python: list[str]) -> None:
    """Run a notebook in a kernel of Jupyter. An error of a cell is raised."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    command = folder / "bin" / "ndcore"  # the one that is tested
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.join(python)} -m ndcore "$@"\n')
    command.chmod(0o755)
    book = nbformat.from_dict(notebook)
    nbformat.validate(book)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PATH", os.pathsep.join((str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"])))
        nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def run_without_kernel(notebook: dict[str, Any], folder: Path, python: list[str]) -> None:
    """Run the cells of a notebook one after the other: Python in this process, bash in a shell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["source"].startswith(tool.BASH):
            done = run_shell(cell["source"].removeprefix(tool.BASH), folder, python)
            assert done.returncode == 0, done.stderr
        elif cell["cell_type"] == "code":
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell["source"], cell["id"], "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_without_kernel, run_with_kernel])
@pytest.mark.parametrize("page", tool.PAGES)
def test_notebooks_run(page, run, tmp_path, python):
    for module, extra in (("resiliparse", "web"), ("w3lib", "store"), ("matplotlib", "plot")):
        pytest.importorskip(module, reason=f"the extra {extra} is not installed")
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    [path] = [path for path in tool.write_notebooks(tmp_path / "books") if path.stem == page]
    run(json.loads(path.read_text("utf-8")), path.parent, python)
