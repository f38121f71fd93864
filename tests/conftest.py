"""A small course in a temporary folder, for the tests of the `course` command."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course.course_folder import CourseFolder, open_course

HEADER = """\
# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   course:
#     title: TITLE
#     promise: You see what happens.
#     minutes: 5
#     objectives: [see it]
# ---

"""
PYPROJECT = '[tool.course]\nrepository = "somebody/a-course"\ntag = "v7"\n'


def run_python(*arguments, **options):
    """Run Python with these arguments; return the process with its output as text."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


class SmallCourse:
    """A course whose lessons are written by a test."""

    def __init__(self, root: Path) -> None:
        (root / "notebooks" / "source").mkdir(parents=True)
        (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
        self.folder: CourseFolder = open_course(root)

    @property
    def root(self) -> Path:
        return self.folder.root

    def write(self, name: str, cells: str, title: str = "A lesson") -> Path:
        """Write the source of a lesson: percent-format cells under the usual header."""
        path = self.folder.source_path(name)
        path.write_text(HEADER.replace("TITLE", title) + cells, encoding="utf-8")
        return path

    def read(self, name: str) -> nbformat.NotebookNode:
        return nbformat.read(self.folder.notebook_path(name), as_version=4)

    def put(self, name: str, notebook: nbformat.NotebookNode) -> None:
        """Write a notebook into the course without building it."""
        nbformat.write(notebook, self.folder.notebook_path(name))


@pytest.fixture
def small_course(tmp_path):
    return SmallCourse(tmp_path / "course")


@pytest.fixture(scope="session")
def make_small_course(tmp_path_factory):
    """A function that creates courses for fixtures that several tests share."""
    return lambda: SmallCourse(tmp_path_factory.mktemp("course") / "course")


class Cells:
    """Functions that create cells and outputs of stored notebooks."""

    text = staticmethod(new_markdown_cell)

    @staticmethod
    def code(source, *outputs, tags=(), count=1):
        cell = new_code_cell(source, outputs=list(outputs), execution_count=count)
        if tags:
            cell.metadata["tags"] = list(tags)
        return cell

    @staticmethod
    def stream(text, name="stdout"):
        return new_output("stream", name=name, text=text)

    @staticmethod
    def value(text, **other):
        return new_output("execute_result", {"text/plain": text} | other, execution_count=1)

    @staticmethod
    def display_data(data):
        return new_output("display_data", data)

    @staticmethod
    def error(name, text):
        return new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])

    @staticmethod
    def notebook(*cells):
        return new_notebook(cells=list(cells))


@pytest.fixture(scope="session")
def cells():
    return Cells
