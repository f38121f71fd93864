"""The command `course`: reads the command line and calls the module that does the work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from course.batch.command import add_batch
from course.command_line import count, end_as_by_ctrl_c
from course.course_folder import CourseError, open_course
from course.grading import command as grading


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status. What a person has to mend goes to stderr."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except CourseError as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("course: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="course", description="Build the lessons, run them, report on them."
    )
    parser.add_argument(
        "--root", type=Path, help="folder of the course (default: this one or one above it)"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(commands)
    _add_run(commands)
    add_batch(commands)
    _add_doctor(commands)
    _add_release(commands)
    grading.add_grade(commands)
    grading.add_similar(commands)
    return parser


def _add_build(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "build",
        help="make the notebooks from their sources and execute them",
        description="Make notebooks/NAME.ipynb from notebooks/source/NAME.py and execute it; of "
        "labs/source/NAME.py make labs/NAME.ipynb, without answers, and labs/solutions/NAME.ipynb. "
        "What is up to date is left alone, and what has unchanged code keeps its outputs.",
    )
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="lessons, or labs as labs/NAME (default: all)"
    )
    command.add_argument(
        "--check", action="store_true", help="execute nothing; fail if a notebook is out of date"
    )
    command.add_argument(
        "--force", action="store_true", help="execute also what is up to date or unchanged"
    )
    command.add_argument(
        "--cell-timeout", type=count, default=1800, metavar="SECONDS", help="default: 1800"
    )
    command.set_defaults(command=_build)


def _build(options: argparse.Namespace) -> int:
    # Imported here: a command does not wait for the packages of another one.
    from course.authoring import build

    course = open_course(options.root)
    if options.check:
        findings = build.check(course)
        for finding in findings:
            print(finding, file=sys.stderr)
        return 1 if findings else 0
    build.build(course, options.names, force=options.force, cell_timeout=options.cell_timeout)
    return 0


def _add_run(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "run",
        help="execute the lessons headless and write a report",
        description="Execute the built notebooks through papermill and write the executed "
        "notebooks, their pages and index.html into runs/DATE-TIME (also named runs/latest).",
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="lessons (default: all)")
    command.add_argument(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("PARAMETER", "VALUE"),
        help="set a parameter in every notebook that has it; may be repeated",
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="write into this empty folder")
    command.add_argument(
        "--jobs",
        type=count,
        default=1,
        metavar="N",
        help="notebooks at once (default: 1; more of them disturb what they time)",
    )
    command.add_argument(
        "--cell-timeout",
        type=count,
        default=3600,
        metavar="SECONDS",
        help="time that one cell may take (default: 3600)",
    )
    command.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from course.execution.run import run

    # With a report, however it ends.
    end_as_by_ctrl_c()
    finished = run(
        open_course(options.root),
        options.names,
        [tuple(pair) for pair in options.parameters],
        out=options.out,
        workers=options.jobs,
        cell_timeout=options.cell_timeout,
    )
    if finished.stopped:
        return 130
    return 0 if all(row.passed for row in finished.rows) else 1


def _add_release(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "release",
        help="point every badge and every bootstrap cell at a fork",
        description="Write where the course is published into pyproject.toml, the pages, the "
        "sources and the generated cells of all notebooks. Nothing is executed and nothing is "
        "pushed.",
    )
    command.add_argument(
        "--repo", required=True, metavar="OWNER/NAME", help="the fork's name on GitHub"
    )
    command.add_argument(
        "--tag", metavar="TAG", help="a tag or branch of it (default: the present one)"
    )
    command.set_defaults(command=_release)


def _release(options: argparse.Namespace) -> int:
    from course.authoring.release import release

    release(open_course(options.root), options.repo, options.tag)
    return 0


def _add_doctor(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "doctor",
        help="say what is wrong with this machine, and how to mend it",
        description="Look at Python, packages, torch, GPU, kernel, images, disk and versions. The "
        "exit status is 1 if there is a problem.",
    )
    command.add_argument("--json", action="store_true", help="for another program to read")
    command.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from course.doctor.doctor import PROBLEM, as_json, doctor, show

    try:
        root = open_course(options.root).root
    except CourseError:
        root = None
    findings = doctor(root)
    print(as_json(findings) if options.json else show(findings))
    return int(any(finding.level == PROBLEM for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
