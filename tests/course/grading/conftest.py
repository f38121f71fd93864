"""A lab, and a class of submissions that is graded once for all tests."""

import csv
import ctypes
import json
import zipfile
from dataclasses import replace

import nbformat
import psutil
import pytest

from course.grading.grade import GradingOptions, grade
from course.grading.limits import SandboxLimits
from course.grading.sandbox import bubblewrap
from tools.grade_a_class import LABS, NAME, ClassBuilder

LAB = LABS / f"{NAME}.ipynb"
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(scope="session")
def builder():
    return ClassBuilder()


class GradedClass:
    """A class of seven students, six of them with a submission in a zip file from Moodle."""

    options = GradingOptions(SandboxLimits(cell_seconds=10), jobs=2, isolated=bool(bubblewrap()))

    def __init__(self, builder, folder):
        self.folder, self.out, self.progress = folder, folder / "out", []
        displays_html = (
            "from IPython.display import HTML, display\ndisplay(HTML('<script>steal()</script>'))"
        )
        script = f"{displays_html}\nprint('<img src=x onerror=steal()>')\n{builder.answer(1)}"
        surrogate = json.loads(nbformat.writes(builder.solution))
        surrogate["cells"][-1]["source"] = "half of a pair: \ud800"
        collects_garbage = "import gc, sys\n" + builder.answer(6) + "\ngc.collect()"
        members = {
            ("<b>Eve</b>", 1): builder.with_answer(1, script),
            ("=Bob", 2): b"",
            ("Ada", 3): builder.with_answer(3, "answer = input('Which device? ')"),
            ("Ada", 4): builder.with_answer(2, "import os\nos._exit(0)"),
            ("Sur", 5): json.dumps(surrogate).encode("utf-16"),
            ("Gc", 6): builder.with_answer(6, collects_garbage),
        }
        self.zip = folder / "class.zip"
        with zipfile.ZipFile(self.zip, "w") as archive:
            for (name, number), content in members.items():
                text = content if isinstance(content, bytes) else nbformat.writes(content)
                folder_name = f"{name}_{number}_assignsubmission_file_"
                archive.writestr(f"{folder_name}/{NAME}.ipynb", text)
        self.class_list = folder / "worksheet.csv"
        self.class_list.write_text(
            "Identifier,Full name,Grade\nParticipant 3,Ada,\nParticipant 9,Absent,\n"
        )
        self.graded = {g.submission.student: g for g in self.grade()}

    def grade(self, **changes):
        self.progress = []
        options = replace(self.options, class_list=self.class_list, **changes)
        return grade(LAB, self.zip, self.out, options, lambda *event: self.progress.append(event))

    def rows(self, file):
        with (self.out / file).open(encoding="utf-8-sig") as lines:
            return list(csv.DictReader(lines))


@pytest.fixture(scope="session")
def graded_class(builder, tmp_path_factory):
    return GradedClass(builder, tmp_path_factory.mktemp("class"))


@pytest.fixture
def processes_left():
    """A function that returns the processes started during the test, including orphans."""
    set_subreaper = ctypes.CDLL(None).prctl if psutil.LINUX else lambda *_: None
    set_subreaper(PR_SET_CHILD_SUBREAPER, 1)
    before = set(psutil.Process().children(recursive=True))

    def find():
        new = set(psutil.Process().children(recursive=True)) - before
        return [process for process in new if process.status() != psutil.STATUS_ZOMBIE]

    yield find
    set_subreaper(PR_SET_CHILD_SUBREAPER, 0)
