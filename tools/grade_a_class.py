"""A made-up class of 70 students for lab 01, with right, wrong, broken and hostile submissions.

`python -m tools.grade_a_class [OUT]` grades the class and compares every mark with the expected
one. The tests use a few of the submissions.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import re
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tools.hostile_answers import ATTACKS, HARMLESS, HOSTILE

LABS = Path(__file__).parents[1] / "labs"
NAME = "01_tensors_and_devices"
EXERCISE_WITH_TWO_FUNCTIONS = 2


@dataclass
class Member:
    """One student: the notebook or the bytes of a broken file, and the expected points.

    `hints` contains the ids of the expected hints, by exercise.
    """

    student: str
    content: NotebookNode | bytes
    points: dict[int, int]
    hints: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the notebook as JSON text."""
        return nbformat.writes(self.content)

    def write(self, folder: Path) -> None:
        """Write the submission to `folder`, under the name that Moodle uses."""
        target = folder / f"{self.student}_4711_assignsubmission_file_"
        target.mkdir(parents=True)
        content = self.content if isinstance(self.content, bytes) else self.text().encode()
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

    def hostile_member(self, name: str) -> Member:
        """Return the member with this hostile answer."""
        if name in ATTACKS:
            no_points = dict.fromkeys(self.max_points, 0)
            return Member(name, attack_lab(self.original, ATTACKS[name]), no_points)
        number, source = HOSTILE[name]
        points = self.full_points_except() if name in HARMLESS else self.full_points_except(number)
        return Member(name, self.with_answer(number, source), points)

    def collected_members(self) -> list[Member]:
        """Return one member for each collected answer to a single-function exercise."""
        from tests.helpers.checks.lab_01_answers import answers

        members = []
        for answer in answers.collected:
            if answer.exercise == EXERCISE_WITH_TWO_FUNCTIONS or not inspect.isfunction(
                answer.answer
            ):
                continue
            # Skip answers that use other functions of their module, which need more than one cell.
            globals_used = {
                answer.answer.__globals__.get(n) for n in answer.answer.__code__.co_names
            }
            if any(map(inspect.isfunction, globals_used)) or answer.hint == "not-callable":
                continue
            name_in_lab = re.search(r"def (\w+)\(", self.answer(answer.exercise))[1]
            text = textwrap.dedent(inspect.getsource(answer.answer))
            text = text[text.index("def ") :].replace(
                f"def {answer.name}(", f"def {name_in_lab}(", 1
            )
            source = f"import math\nimport numpy as np\nimport torch\n\n\n{text}"
            is_right = answer.hint is None
            points = (
                self.full_points_except() if is_right else self.full_points_except(answer.exercise)
            )
            hints = {} if is_right else {answer.exercise: answer.hint}
            name = f"{answer.exercise} {answer.name.replace('_', ' ')}"
            members.append(Member(name, self.with_answer(answer.exercise, source), points, hints))
        return members

    def unusual_members(self) -> list[Member]:
        """Return members with changed notebooks, and members with files that are not notebooks."""
        no_points = dict.fromkeys(self.max_points, 0)
        stubs = copy.deepcopy(self.original)
        without_metadata = copy.deepcopy(self.solution)
        for cell in without_metadata.cells:
            cell.metadata = nbformat.NotebookNode()
        without_exercise = copy.deepcopy(self.solution)
        without_exercise.cells = [
            c for c in without_exercise.cells if not grade_id(c).endswith("-3")
        ]
        merged = copy.deepcopy(self.original)
        merged.cells += copy.deepcopy(self.solution.cells)
        with_easy_check = copy.deepcopy(self.solution)
        for cell in with_easy_check.cells:
            if grade_id(cell) == "check-1":
                cell.source = "print('Exercise 1: right.')"
            if grade_id(cell) == "exercise-1":
                cell.source = "def move_all(tensors, device):\n    return tensors"
        extra = copy.deepcopy(self.solution)
        index = next(n for n, c in enumerate(extra.cells) if grade_id(c) == "exercise-4")
        extra.cells[index].source = "def gpu_bytes(shape, dtype):\n    return pieces(shape, dtype)"
        helper = self.answer(4).replace("gpu_bytes", "pieces")
        extra.cells.insert(index, new_code_cell(helper))
        syntax = self.with_answer(2, "def try_gpu(i=0:\n    return")
        text = nbformat.writes(self.solution).encode()
        return [
            Member("Ada, all right", self.solution, self.full_points_except()),
            Member("Stubs only", stubs, no_points, dict.fromkeys(self.max_points, "not-written")),
            Member("Metadata lost", without_metadata, self.full_points_except()),
            Member("Exercise 3 deleted", without_exercise, self.full_points_except(3)),
            Member("Merged by hand", merged, self.full_points_except()),
            Member(
                "Weakened check", with_easy_check, self.full_points_except(1), {1: "result-dropped"}
            ),
            Member("Added a cell", extra, self.full_points_except()),
            Member("Syntax error", syntax, self.full_points_except(2)),
            Member("Empty file", b"", no_points),
            Member("Truncated file", text[: len(text) // 2], no_points),
            Member("A picture", b"\x89PNG\r\n\x1a\n" + bytes(100), no_points),
        ]

    def members(self, count: int = 70) -> list[Member]:
        """Return all changed and hostile submissions, then collected answers up to `count`."""
        members = self.unusual_members() + [self.hostile_member(name) for name in HOSTILE | ATTACKS]
        others = self.collected_members()
        remaining = count - len(members)
        step = max(1, len(others) / remaining)
        return members + [others[int(n * step)] for n in range(min(remaining, len(others)))]


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


def differences(member: Member, graded: object) -> list[str]:
    """Return the differences between a graded submission and the expected points and hints."""
    lines = [
        f"exercise {m.exercise}: {m.points} points ({m.status}: {m.message}), expected "
        f"{member.points[m.exercise]}"
        for m in graded.marks
        if m.points != member.points[m.exercise]
    ]
    hints = {m.exercise: m.hint for m in graded.marks}
    return lines + [
        f"exercise {number}: hint {hints[number]}, expected {hint}"
        for number, hint in member.hints.items()
        if hints[number] != hint
    ]


def main() -> int:
    """Grade the class and print the result; return 1 if a mark is wrong or a process remains."""
    from course.grading.grade import GradingOptions, grade
    from course.grading.limits import SandboxLimits

    parser = argparse.ArgumentParser(description="Grade a made-up class and check every mark.")
    parser.add_argument("out", type=Path, nargs="?", help="folder to keep the feedback in")
    options = parser.parse_args()
    members = {member.student: member for member in ClassBuilder().members()}
    old_pids = {process.pid for process in psutil.process_iter()}
    with tempfile.TemporaryDirectory() as folder:
        for member in members.values():
            member.write(Path(folder, "in"))
        out = options.out or Path(folder, "out")
        start = time.monotonic()
        results = grade(
            LABS / f"{NAME}.ipynb",
            Path(folder, "in"),
            out,
            GradingOptions(limits=SandboxLimits(cell_seconds=8)),
            lambda graded, done, count: print(
                f"{done} of {count}: {graded.submission.student}, {graded.points} of "
                f"{graded.max_points}, {graded.notes or ''}",
                flush=True,
            ),
        )
        seconds = time.monotonic() - start
    num_wrong = 0
    for graded in results:
        for difference in differences(members[graded.submission.student], graded):
            num_wrong += 1
            print(f"WRONG {graded.submission.student}: {difference}")
    strays = [
        process.info
        for process in psutil.process_iter(["pid", "cmdline"])
        if process.pid not in old_pids and "course.grading" in str(process.info)
    ]
    print(
        f"{len(results)} submissions, {len(HOSTILE | ATTACKS)} hostile, {num_wrong} wrong marks, "
        f"{len(strays)} stray processes, {seconds:.0f} s"
    )
    return 1 if num_wrong or strays else 0


if __name__ == "__main__":
    sys.exit(main())
