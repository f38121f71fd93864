"""The command `course`: parses the command line and calls the module for each subcommand."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from course.batch.command import add_batch
from course.command_line import handle_sigterm_as_ctrl_c, positive_int
from course.course_folder import PLACEHOLDER_REPOSITORY, CourseError, open_course
from course.grading import command as grading


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. A `CourseError` is printed to stderr."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        # The terminal's encoding may lack the characters of a name.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = options.command(options)
        sys.stdout.flush()
        return status
    except CourseError as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f"course: {error}. To install it: pip install '.[instructor]'", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # For example, `course grade ... | head`. Python flushes stdout once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print("course: stopped, because the program that reads its output ended", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("course: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="course", description="Build the lessons, run them, grade the labs, and report."
    )
    root = "folder of the course (default: this folder or its nearest parent with a course)"
    parser.add_argument("--root", type=Path, help=root)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_build(commands)
    _add_run(commands)
    add_batch(commands)
    _add_doctor(commands)
    _add_release(commands)
    grading.add_grade(commands)
    grading.add_similar(commands)
    _add_translate(commands)
    return parser


def _add_build(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "build",
        help="build the notebooks from their sources and execute them",
        description="Build notebooks/NAME.ipynb from notebooks/source/NAME.py and execute it; "
        "build labs/NAME.ipynb, without answers, and labs/solutions/NAME.ipynb from "
        "labs/source/NAME.py; translate both with locale/LANGUAGE. Up-to-date notebooks are "
        "skipped; those with unchanged code keep their outputs.",
    )
    names = "lessons, labs as labs/NAME, or translations as es or es/NAME (default: all)"
    command.add_argument("names", nargs="*", metavar="NAME", help=names)
    check = "only list what is out of date, and fail if the list is not empty"
    command.add_argument("--check", action="store_true", help=check)
    force = "also execute notebooks that are up to date or whose code is unchanged"
    command.add_argument("--force", action="store_true", help=force)
    _add_cell_timeout(command, 1800)
    command.set_defaults(command=_build)


def _add_cell_timeout(command: argparse.ArgumentParser, default: int) -> None:
    options = {"type": positive_int, "default": default, "metavar": "SECONDS"}
    text = "time limit per cell (default: %(default)s)"
    command.add_argument("--cell-timeout", help=text, **options)


def _build(options: argparse.Namespace) -> int:
    # Imported here so that each command imports only what it needs.
    from course.authoring.build import build
    from course.authoring.up_to_date import find_outdated

    course = open_course(options.root)
    if options.check and options.names:
        raise CourseError("--check compares the whole course. Remove the names, or --check.")
    if options.check:
        findings = find_outdated(course)
        print(*findings, sep="\n", end="\n" if findings else "", file=sys.stderr)
        if not findings:
            print("All notebooks match their sources; nothing was executed.")
        return 1 if findings else 0
    build(course, options.names, force=options.force, cell_timeout=options.cell_timeout)
    if course.repository == PLACEHOLDER_REPOSITORY:
        text = f"Badges and setup cells point to the placeholder {PLACEHOLDER_REPOSITORY}. To point"
        print(text, "them to your repository: course release --repo OWNER/NAME")
    return 0


def _add_run(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "run",
        help="execute the lessons and write a report",
        description="Execute the built notebooks as papermill does and write the executed "
        "notebooks, their pages and index.html into runs/DATE-TIME (runs/latest links to it).",
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="lessons (default: all)")
    text = "set a parameter in every notebook that has it; can be repeated"
    several = {"nargs": 2, "action": "append", "default": [], "metavar": ("PARAMETER", "VALUE")}
    command.add_argument("-p", dest="parameters", help=text, **several)
    command.add_argument("--out", type=Path, metavar="DIR", help="write into this folder")
    jobs = "notebooks to run at once (default: as many as cores and memory allow; 1 on a GPU)"
    command.add_argument("--jobs", type=positive_int, metavar="N", help=jobs)
    _add_cell_timeout(command, 3600)
    command.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from course.batch.batch import run

    # A run that is stopped still writes its report.
    handle_sigterm_as_ctrl_c()
    settings = {"out": options.out, "jobs": options.jobs, "cell_timeout": options.cell_timeout}
    parameters = [tuple(pair) for pair in options.parameters]
    return run(open_course(options.root), options.names, parameters, **settings)


def _add_release(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "release",
        help="make every badge and setup cell point to your repository",
        description="Write the repository of the course into pyproject.toml, the pages, the "
        "sources and the generated cells of all notebooks. Does not push anything.",
    )
    command.add_argument("--repo", required=True, metavar="OWNER/NAME", help="or its URL on GitHub")
    command.add_argument("--tag", metavar="TAG", help="a tag or branch (default: the current one)")
    text = "remove the labs' sources, solutions and tests, which contain answers"
    command.add_argument("--without-solutions", action="store_true", help=text)
    command.set_defaults(command=_release)


def _release(options: argparse.Namespace) -> int:
    from course.authoring.release import release

    course, without = open_course(options.root), options.without_solutions
    release(course, options.repo, options.tag, without_solutions=without)
    return 0


def _add_doctor(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "doctor",
        help="check this machine and show how to fix problems",
        description="Check Python, packages, torch, GPU, kernel, images, disk and versions. The "
        "exit status is 1 if there is a problem.",
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from course.doctor.doctor import as_json, count_problems, doctor, format_findings

    try:
        root = open_course(options.root).root
    except CourseError:
        root = None
    findings = doctor(root)
    print(as_json(findings) if options.json else format_findings(findings))
    return int(count_problems(findings) > 0)


def _add_translate(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser(
        "translate",
        help="update the texts to translate, and check their translations",
        description="Process the translations in locale/LANGUAGE. See docs/translating.md.",
    )
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    action = actions.add_parser("update", help="update the PO files to match the English texts")
    action.add_argument("names", nargs="*", metavar="LANGUAGE", help="such as es (default: all)")
    action = actions.add_parser("check", help="count the texts, and compare code, links, numbers")
    action.add_argument("names", nargs="*", metavar="NAME", help="es, es/labs, or a PO file")
    command.set_defaults(command=_translate)


def _translate(options: argparse.Namespace) -> int:
    from course.translation.catalogs import check, update_all

    course = open_course(options.root)
    if options.action == "check":
        return check(course, options.names)
    update_all(course, options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
