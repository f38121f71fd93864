"""The command-line options and terminal output of `course grade` and `course similar`."""

import argparse
import sys
from datetime import datetime
from pathlib import Path

from course.command_line import fraction, handle_sigterm_as_ctrl_c, positive_float, positive_int
from course.grading.limits import UNPROTECTED, SandboxLimits


def add_grade(commands: argparse._SubParsersAction) -> None:
    """Add `course grade` to the command line."""
    command = commands.add_parser(
        "grade",
        help="grade a folder of submissions of a lab",
        description="Run every submission in its own sandbox, without network or file access, "
        "grade each exercise with the lab's own checks, and write gradebook.csv, totals.csv, "
        "moodle.csv or canvas.csv, a feedback page per student, and index.html. Run the same "
        "command again to continue after an interruption, or to grade what has changed.",
    )
    command.set_defaults(command=_grade)
    _add_lab_and_submissions(command)
    add = command.add_argument
    add("--out", type=Path, metavar="DIR", help="default: grades/LAB in the course")
    add("--class-list", type=Path, metavar="CSV", help="add a row for each absent student")
    add("--due", type=_time, metavar="TIME", help="deadline, such as '2026-11-20 23:59'")
    add("--anonymous", action="store_true", help="omit the names from the feedback pages")
    add("--dask", dest="cluster", metavar="ADDRESS", help="grade on this Dask cluster's workers")
    add("--regrade", action="store_true", help="also grade unchanged submissions again")
    for name, kind, default, metavar, text in (
        ("--jobs", positive_int, None, "N", "concurrent submissions; default: one per core"),
        ("--cell-seconds", positive_float, 30, "S", "seconds per cell; default: 30"),
        ("--seconds", positive_float, 300, "S", "seconds per submission; default: 300"),
        ("--memory", positive_float, 3, "GIB", "memory per submission, in GiB; default: 3"),
    ):
        add(name, type=kind, default=default, metavar=metavar, help=text)
    text = "run the students' code without bubblewrap. " + UNPROTECTED
    add("--no-sandbox", action="store_true", help=text)


def _add_lab_and_submissions(command: argparse.ArgumentParser) -> None:
    command.add_argument("lab", metavar="LAB", help="01, or 01_tensors_and_devices")
    command.add_argument("submissions", type=Path, metavar="SUBMISSIONS", help="a folder or zip")


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        example = "a date and time such as 2026-11-20 23:59"
        raise argparse.ArgumentTypeError(f"{text!r} is not {example}") from None


def _grade(options: argparse.Namespace) -> int:
    from course.course_folder import open_course
    from course.grading.grade import GradingOptions, grade, lab_file
    from course.grading.gradebook import MANUAL_POINTS_FILE, read_manual_points

    handle_sigterm_as_ctrl_c()
    course = open_course(options.root)
    original = lab_file(course, options.lab)
    out = options.out or course.root / "grades" / original.stem
    if options.no_sandbox:
        _warn(f"no sandbox. {UNPROTECTED}.")
    text = "reading the submissions; the lab's own solution is graded first."
    print(f"{original.stem}: {text}", flush=True)
    names = ("jobs", "cluster", "anonymous", "class_list", "due", "regrade")
    grading_options = GradingOptions(
        SandboxLimits(
            options.cell_seconds, seconds=options.seconds, memory_bytes=int(options.memory * 2**30)
        ),
        isolated=not options.no_sandbox,
        **{name: getattr(options, name) for name in names},
    )
    results = grade(
        *(original, options.submissions, out, grading_options),
        lambda graded, done, count: print(
            f"{done:>4} of {count}  {graded.submission.student:<32}  "
            f"{graded.points:>3} of {graded.max_points} points",
            flush=True,
        ),
    )
    with_notes = sum(bool(graded.notes) for graded in results)
    count = f"{len(results)} submission{'s' if len(results) != 1 else ''}"
    print(f"\n{count} graded, {with_notes} with notes.")
    print(f"Report: {out / 'index.html'}")
    keys = {(graded.submission.student, m.exercise) for graded in results for m in graded.marks}
    if unknown := [f"{row[0]}, exercise {row[1]}" for row in read_manual_points(out).keys() - keys]:
        _warn(
            f"{out / MANUAL_POINTS_FILE} has lines that do not match any student: "
            f"{'; '.join(sorted(unknown))}. Write the names as in {out / 'totals.csv'}."
        )
    if ungraded := [graded.submission.student for graded in results if not graded.is_graded]:
        _warn(
            f"this machine could not grade {', '.join(ungraded)}; their rows have no points. "
            "Run the command again with --jobs 1: only these submissions are graded again."
        )
    return 1 if ungraded else 0


def _warn(text: str) -> None:
    print(f"course: {text}", file=sys.stderr)


def add_similar(commands: argparse._SubParsersAction) -> None:
    """Add `course similar` to the command line."""
    command = commands.add_parser(
        "similar",
        help="list very similar submissions",
        description="Compare the answers of every pair of submissions, ignoring code that the lab "
        "or its solution contains; then compare each submission with the published solution.",
    )
    command.set_defaults(command=_similar)
    _add_lab_and_submissions(command)
    text = "minimum similarity, from 0 to 1; default: 0.5"
    command.add_argument("--threshold", type=fraction, default=0.5, metavar="X", help=text)


def _similar(options: argparse.Namespace) -> int:
    import nbformat

    from course.course_folder import open_course
    from course.grading.grade import lab_file
    from course.grading.similar import similar, similarity_to_solution
    from course.grading.submissions import find_submissions

    original = lab_file(open_course(options.root), options.lab)
    lab = nbformat.read(original, as_version=4)
    answers = original.parent / "solutions" / original.name
    solution = nbformat.read(answers, as_version=4) if answers.is_file() else None
    submissions = find_submissions(options.submissions, original.stem, lab)
    pairs = similar(lab, submissions, solution=solution, threshold=options.threshold)
    for pair in pairs:
        print(f"{pair.similarity:>6.0%}  {pair.first}  and  {pair.second}    e.g. {pair.shared}")
    if len(submissions) == 1:
        print("There is only one submission, so there is nothing to compare.")
    elif not pairs:
        pair = f"No two of the {len(submissions)} submissions"
        print(f"{pair} have a similarity of {options.threshold:.0%} or more.")
    if solution is not None:
        print("\nSimilarity to the published solution:")
        fractions = similarity_to_solution(lab, solution, submissions)
        for student, fraction in sorted(fractions.items(), key=lambda item: -item[1]):
            print(f"{fraction:>6.0%}  {student}")
    return 0
