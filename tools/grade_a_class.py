"""A made-up class of 76 students for lab 01, with right, wrong, broken and hostile submissions.

`python -m tools.grade_a_class` grades the class and compares every mark with the expected one. The
tests use a few of the submissions.
"""

import copy
import re
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from course.grading.grade import GradingOptions, grade
from course.grading.gradebook import GradedSubmission
from course.grading.limits import SandboxLimits

LABS = Path(__file__).parents[1] / "labs"
NAME = "01_tensors_and_devices"
_TABLES = tomllib.loads(Path(__file__).with_name("class_of_70.toml").read_text(encoding="utf-8"))
# By student: a table with the exercise, the answer, and the hint if the answer is wrong.
STUDENTS = _TABLES["students"]
# By attack: a table with the exercise, and the answer that attacks. It is `harmless` if the attack
# still gets its points, because it also defines the right function.
HOSTILE = _TABLES["hostile"]
# Attacks that try to get points for wrong answers in any lab. The source defines `answer`, which is
# used as every function and class that the lab requests.
ATTACKS: dict[str, str] = {
    name: _TABLES["forged_messages"] * row.get("forged", False) + row["answer"]
    for name, row in _TABLES["attacks"].items()
}


@dataclass
class Member:
    """One student: the notebook or the bytes of a broken file, and the expected points.

    `hints` contains the ids of the expected hints, by exercise.
    """

    student: str
    content: NotebookNode | bytes
    points: dict[int, int]
    hints: dict[int, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the submission to `folder`, under the name that Moodle uses."""
        target = folder / f"{self.student}_4711_assignsubmission_file_"
        target.mkdir(parents=True)
        is_file = isinstance(self.content, bytes)
        content = self.content if is_file else nbformat.writes(self.content).encode()
        (target / f"{NAME}.ipynb").write_bytes(content)


class ClassBuilder:
    """Creates the members of the class from the lab and its solution."""

    def __init__(self) -> None:
        self.original = nbformat.read(LABS / f"{NAME}.ipynb", as_version=4)
        self.solution = nbformat.read(LABS / "solutions" / f"{NAME}.ipynb", as_version=4)
        self.max_points = {
            int(mark.removeprefix("check-")): cell.metadata.nbgrader.points
            for cell in self.original.cells
            if (mark := grade_id(cell)).startswith("check-")
        }

    def answer(self, number: int) -> str:
        """Return the right answer to an exercise."""
        return next(c.source for c in self.solution.cells if grade_id(c) == f"exercise-{number}")

    def with_answer(self, number: int, source: str) -> NotebookNode:
        """Return the solution with a different answer to one exercise."""
        notebook = copy.deepcopy(self.solution)
        for cell in notebook.cells:
            if grade_id(cell) == f"exercise-{number}":
                cell.source = source.replace("{right}", self.answer(number))
        return notebook

    def full_points_except(self, *numbers: int) -> dict[int, int]:
        """Return full points for every exercise except these."""
        return {n: 0 if n in numbers else points for n, points in self.max_points.items()}

    def members(self) -> list[Member]:
        """Return all members of the class."""
        no_points = dict.fromkeys(self.max_points, 0)
        members = self.unusual_members()
        for name, row in (STUDENTS | HOSTILE).items():
            number = row["exercise"]
            hints = {number: row["hint"]} if "hint" in row else {}
            is_wrong = bool(hints) if name in STUDENTS else not row.get("harmless")
            points = self.full_points_except(*[number] * is_wrong)
            members.append(Member(name, self.with_answer(number, row["answer"]), points, hints))
        for name, source in ATTACKS.items():
            members.append(Member(name, attack_lab(self.original, source), no_points))
        return members

    def unusual_members(self) -> list[Member]:
        """Return members with changed notebooks, and members with files that are not notebooks."""
        full, none = self.full_points_except(), dict.fromkeys(self.max_points, 0)
        original, solution = self.original, self.solution
        without_metadata = copy.deepcopy(solution)
        for cell in without_metadata.cells:
            cell.metadata = nbformat.NotebookNode()
        without_exercise = copy.deepcopy(solution)
        without_exercise.cells = [c for c in solution.cells if not grade_id(c).endswith("-3")]
        merged = copy.deepcopy(original)
        merged.cells += copy.deepcopy(solution.cells)
        weak = self.with_answer(1, "def move_all(tensors, device):\n    return tensors")
        check = next(cell for cell in weak.cells if grade_id(cell) == "check-1")
        check.source = "print('Exercise 1: right.')"
        extra = self.with_answer(4, "def gpu_bytes(shape, dtype):\n    return pieces(shape, dtype)")
        index = next(n for n, c in enumerate(extra.cells) if grade_id(c) == "exercise-4")
        extra.cells.insert(index, new_code_cell(self.answer(4).replace("gpu_bytes", "pieces")))
        syntax = self.with_answer(2, "def try_gpu(i=0:\n    return")
        text = nbformat.writes(solution).encode()
        return [
            Member("Ada, all right", solution, full),
            Member("Stubs only", original, none, dict.fromkeys(self.max_points, "not-written")),
            Member("Metadata lost", without_metadata, full),
            Member("Exercise 3 deleted", without_exercise, self.full_points_except(3)),
            Member("Merged by hand", merged, full),
            Member("Weakened check", weak, self.full_points_except(1), {1: "result-dropped"}),
            Member("Added a cell", extra, full),
            Member("Syntax error", syntax, self.full_points_except(2)),
            Member("Empty file", b"", none),
            Member("Truncated file", text[: len(text) // 2], none),
            Member("A picture", b"\x89PNG\r\n\x1a\n" + bytes(100), none),
        ]


def attack_lab(lab: NotebookNode, source: str) -> NotebookNode:
    """Return the lab with every requested function and class set to the attack's `answer`."""
    notebook, is_first = copy.deepcopy(lab), True
    for cell in notebook.cells:
        if grade_id(cell).startswith("exercise-"):
            names = re.findall(r"^(?:def|class) (\w+)", cell.source, flags=re.MULTILINE)
            lines = [f"{name} = answer" for name in names]
            cell.source = "\n".join([source, *lines] if is_first else lines)
            is_first = False
    return notebook


def grade_id(cell: NotebookNode) -> str:
    """Return the nbgrader `grade_id` of a cell."""
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")


def main() -> int:
    """Grade the class and print the result; return 1 if a mark is wrong or a process remains."""
    members = {member.student: member for member in ClassBuilder().members()}

    def show(graded: GradedSubmission, done: int, count: int) -> None:
        print(f"{done} of {count}: {graded.submission.student}, {graded.points}", flush=True)

    old_pids = set(psutil.pids())
    with tempfile.TemporaryDirectory() as folder:
        submissions = Path(folder, "in")
        for member in members.values():
            member.write(submissions)
        start = time.monotonic()
        limits = GradingOptions(limits=SandboxLimits(cell_seconds=8))
        results = grade(LABS / f"{NAME}.ipynb", submissions, Path(folder, "out"), limits, show)
        seconds = time.monotonic() - start
    num_wrong = 0
    for graded in results:
        for member, mark in ((members[graded.submission.student], mark) for mark in graded.marks):
            points, hint = member.points[mark.exercise], member.hints.get(mark.exercise, mark.hint)
            if (mark.points, mark.hint) != (points, hint):
                num_wrong += 1
                print(f"WRONG {member.student}: {mark}, expected {points} points, hint {hint}")
    num_strays = sum(
        process.pid not in old_pids and "course.grading" in str(process.info)
        for process in psutil.process_iter(["cmdline"])
    )
    print(
        f"{len(results)} submissions, {len(HOSTILE | ATTACKS)} hostile, {num_wrong} wrong marks, "
        f"{num_strays} stray processes, {seconds:.0f} s"
    )
    return 1 if num_wrong or num_strays else 0


if __name__ == "__main__":
    sys.exit(main())
