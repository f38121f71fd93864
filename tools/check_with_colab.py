"""Run every notebook as Colab does: alone in an empty folder, with Colab's packages.

    python -m tools.check_with_colab .venv-colab/bin/python [NOTEBOOK ...]

`make colab` builds the environment from tools/colab_versions.txt and runs this module. The HEAD of
this clone is used as the published course. A lab must stop at its first exercise and nowhere else.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).parents[1]
STUB = "CheckFailed: exercise 1"


def run_alone(notebook: Path, python: Path, environment: dict[str, str], expected: str) -> bool:
    """Execute a copy of `notebook` in an empty folder; return whether its error is as expected."""

    class ColabLike(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, language="python", display_name="Colab-like")

    with tempfile.TemporaryDirectory() as folder:
        content = nbformat.read(notebook, as_version=4)
        client = NotebookClient(
            content,
            timeout=1800,
            startup_timeout=180,
            kernel_manager_class=ColabLike,
            resources={"metadata": {"path": folder}},
        )
        start, message = monotonic(), ""
        try:
            with client.setup_kernel(env=environment):
                for index, cell in enumerate(content.cells):
                    client.execute_cell(cell, index)
        except CellExecutionError as error:
            message = f"{error.ename}: {error.evalue}"
        except (CellTimeoutError, DeadKernelError) as error:
            message = f"{type(error).__name__}: {error}"
    is_right = message.startswith(expected) if expected else not message
    print(
        f"{monotonic() - start:6.1f} s  {notebook.relative_to(ROOT)}{'' if is_right else '  WRONG'}"
    )
    if message:
        print(f"          {message}", flush=True)
    return is_right


def main(arguments: list[str]) -> int:
    """Run the given notebooks, or all of them; return 1 if a result is unexpected, else 0."""
    python = Path(arguments[0]).absolute()
    folders = ("notebooks", "labs/solutions", "labs")
    all_notebooks = [path for f in folders for path in sorted((ROOT / f).glob("[!._]*.ipynb"))]
    notebooks = [Path(name).absolute() for name in arguments[1:]] or all_notebooks
    # This process's environment without Python settings, plus Colab's settings.
    colab = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    colab["COLAB_RELEASE_TAG"] = "release-colab"
    if "CIFAR10_ROOT" in colab:
        colab["CIFAR10_ROOT"] = str(Path(colab["CIFAR10_ROOT"]).absolute())
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "course.zip"
        command = ["git", "archive", "--format=zip", "--prefix=course/", "-o", str(archive), "HEAD"]
        subprocess.run(command, cwd=ROOT, check=True)
        colab["COURSE_SOURCE"] = archive.as_uri()
        results = [
            run_alone(path, python, colab, STUB if path.parent == ROOT / "labs" else "")
            for path in notebooks
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
