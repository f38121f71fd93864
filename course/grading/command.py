"""The commands `course grade` and `course similar`: their options, and what they print."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from course.command_line import above_zero, count, end_as_by_ctrl_c


def add_grade(commands: argparse._SubParsersAction) -> None:
    """Add `course grade` to the command line."""
    command = commands.add_parser(
        "grade",
        help="grade a folder of submissions of a lab",
        description="Run every submission alone, in a box without network and files, judge each "
        "exercise by the lab's own checks, and write gradebook.csv, a feedback page for each "
        "student, and index.html.",
    )
    command.add_argument("lab", metavar="LAB", help="01, or 01_tensors_and_devices")
    command.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="a folder or a zip")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="default: grades/LAB-DATE-TIME in the course"
    )
    command.add_argument("--jobs", type=count, help="at once; default: one a core")
    command.add_argument(
        "--cell-seconds", type=above_zero, default=30, metavar="S", help="for one cell; default: 30"
    )
    command.add_argument(
        "--seconds",
        type=above_zero,
        default=300,
        metavar="S",
        help="for a submission; default: 300",
    )
    command.add_argument(
        "--memory", type=above_zero, default=3, metavar="GIB", help="for a submission; default: 3"
    )
    command.add_argument(
        "--no-walls",
        action="store_true",
        help="run the students' code without bubblewrap, with your network and your files",
    )
    command.set_defaults(command=_grade)


def _grade(options: argparse.Namespace) -> int:
    from course.course_folder import open_course
    from course.grading.box import Limits, bubblewrap
    from course.grading.grade import grade, lab_file

    end_as_by_ctrl_c()
    course = open_course(options.root)
    original = lab_file(course, options.lab)
    now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    out = options.out or course.root / "grades" / f"{original.stem}-{now}"
    if options.no_walls or bubblewrap() is None:
        reason = "as you asked" if options.no_walls else "bubblewrap is not to be had here"
        print(
            f"course: the submissions run without walls ({reason}): their code can use the "
            "network and read your files. On Debian or Ubuntu: apt install bubblewrap",
            file=sys.stderr,
        )
    limits = Limits(
        cell_seconds=options.cell_seconds,
        seconds=options.seconds,
        memory=int(options.memory * 2**30),
    )
    print(f"{original.stem}: the lab's own solution first, then the submissions.", flush=True)
    marked = grade(
        original,
        options.submissions,
        out,
        limits=limits,
        jobs=options.jobs,
        shut=not options.no_walls,
        report=_tell,
    )
    noted = sum(bool(one.notes) for one in marked)
    print(f"\n{len(marked)} submissions graded, {noted} with notes. Report: {out / 'index.html'}")
    unjudged = [one.submission.student for one in marked if not one.judged]
    if unjudged:
        print(
            f"course: this machine failed to judge {', '.join(unjudged)}: their rows in "
            f"gradebook.csv have no points. Grade again, with fewer at once: --jobs 1",
            file=sys.stderr,
        )
    return 1 if unjudged else 0


def _tell(marked: object, done: int, count: int) -> None:
    student = marked.submission.student
    print(
        f"{done:>4} of {count}  {student:<32}  {marked.points:>3} of {marked.of} points", flush=True
    )


def add_similar(commands: argparse._SubParsersAction) -> None:
    """Add `course similar` to the command line."""
    command = commands.add_parser(
        "similar",
        help="list submissions that share more than they should",
        description="Compare the answers of every two submissions by what few others have.",
    )
    command.add_argument("lab", metavar="LAB", help="01, or 01_tensors_and_devices")
    command.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="a folder or a zip")
    command.add_argument(
        "--least", type=float, default=0.5, metavar="SHARE", help="of 0 to 1; default: 0.5"
    )
    command.set_defaults(command=_similar)


def _similar(options: argparse.Namespace) -> int:
    import nbformat

    from course.course_folder import open_course
    from course.grading.grade import lab_file
    from course.grading.similar import similar
    from course.grading.submissions import find_submissions

    original = lab_file(open_course(options.root), options.lab)
    submissions = find_submissions(options.submissions, original.stem)
    pairs = similar(nbformat.read(original, as_version=4), submissions, least=options.least)
    for pair in pairs:
        print(f"{pair.share:>6.0%}  {pair.first}  and  {pair.second}    e.g. {pair.shared}")
    if not pairs:
        print(f"No two of {len(submissions)} submissions share {options.least:.0%} or more.")
    return 0
