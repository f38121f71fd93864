"""The command line of `course translate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from course.course_folder import open_course


def add_translate(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser of `course`."""
    command = commands.add_parser(
        "translate",
        help="extract the texts of the course, and check their translations",
        description="Process the translations in locale/LANGUAGE. See docs/translating.md.",
    )
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    action = actions.add_parser("extract", help="write the English texts as templates (.pot)")
    action.add_argument("--out", type=Path, default=Path("build/locale"), metavar="DIR")
    action = actions.add_parser("update", help="update the PO files to match the English texts")
    action.add_argument("names", nargs="*", metavar="LANGUAGE", help="such as es (default: all)")
    action = actions.add_parser("export", help="write working files with the untranslated texts")
    action.add_argument("--all", action="store_true", help="include all texts, for a review")
    action.add_argument("names", nargs="+", metavar="NAME", help="es, es/labs, or a PO file")
    action = actions.add_parser("import", help="store the translations of working files")
    action.add_argument("files", nargs="+", type=Path, metavar="FILE")
    action = actions.add_parser("check", help="compare code, links, numbers, tags, placeholders")
    action.add_argument("names", nargs="*", metavar="NAME", help="es, es/labs, or a PO file")
    actions.add_parser("status", help="count the translated texts")
    command.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    # Imported here so that each command imports only what it needs.
    from course.translation import actions

    course = open_course(options.root)
    match options.action:
        case "extract":
            actions.extract(course, options.out)
        case "update":
            actions.update_all(course, options.names)
        case "export":
            actions.export(course, options.names, everything=options.all)
        case "import":
            return actions.import_files(course, options.files)
        case "check":
            return actions.check(course, options.names)
        case "status":
            actions.status(course)
    return 0
