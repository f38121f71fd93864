"""`course grade`: a folder of submissions in, a gradebook, feedback and one page out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

from course.course_folder import CourseError, CourseFolder, pick
from course.grading.box import Limits
from course.grading.gradebook import file_name, write_class_page, write_feedback, write_gradebook
from course.grading.marking import Marked, mark
from course.grading.rehearsal import rehearse
from course.grading.submissions import Submission, find_submissions

Report = Callable[[Marked, int, int], None]


def lab_file(course: CourseFolder, lab: str) -> Path:
    """The student's notebook of a lab of the course, named as `course.pick` understands it."""
    built = sorted(path.stem for path in course.labs.glob("[!._]*.ipynb"))
    return course.labs / f"{pick(built, [lab], 'lab')[0]}.ipynb"


def grade(
    original: Path,
    submissions: Path,
    out: Path,
    *,
    limits: Limits | None = None,
    jobs: int | None = None,
    shut: bool = True,
    report: Report = lambda marked, done, count: None,
) -> list[Marked]:
    """Grade every submission of one lab and write the results into the folder `out`.

    The lab's own solution is judged first: a machine that cannot judge grades nobody.

    Args:
        original: the lab as students got it.
        submissions: a folder or a zip.
        jobs: how many submissions run at once; as many as there are cores, unless said.
        shut: in a box without network and files, where the system offers one.
        report: called after each submission with it, and with how many of how many are done.

    Returns:
        The marked submissions, in the order of the students' names.

    Raises:
        CourseError: nothing can be graded as asked; then nothing is written.
    """
    notebook = nbformat.read(original, as_version=4)
    lab, title = original.stem, notebook.metadata.get("title", original.stem)
    found = find_submissions(submissions, lab)
    if out.exists() and not out.is_dir():
        raise CourseError(f"{out} is a file; name a folder for the results with --out.")
    if submissions.is_dir() and out.resolve().is_relative_to(submissions.resolve()):
        raise CourseError(
            f"{out} lies inside {submissions}: the feedback would be graded the next time. Name "
            "another folder with --out."
        )
    limits = limits or Limits()
    _refuse_same_names(found)
    rehearse(original, limits, shut=shut)
    out.mkdir(parents=True, exist_ok=True)
    pages: dict[str, Path] = {}
    lock, stop = threading.Lock(), threading.Event()
    done = 0

    def one(submission: Submission) -> Marked:
        nonlocal done
        marked = mark(notebook, submission, limits, shut=shut, stop=stop)
        page = write_feedback(marked, title, out)
        with lock:
            done += 1
            if page is not None:
                pages[submission.student] = page
            report(marked, done, len(found))
        marked.ran = marked.ran[:1]
        return marked

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        futures = [pool.submit(one, submission) for submission in found]
        try:
            everybody = [future.result() for future in futures]
        except BaseException:
            # Ctrl-C, or a full disk: nobody waits for the boxes that still run.
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    write_gradebook(everybody, lab, out)
    write_class_page(everybody, lab, title, pages, out)
    return everybody


def _refuse_same_names(found: list[Submission]) -> None:
    """Two students whose pages would have one name."""
    seen: dict[str, str] = {}
    for submission in found:
        name = file_name(submission.student).casefold()
        if name in seen:
            raise CourseError(
                f"{seen[name]} and {submission.path} would get one feedback page, {name}.html. "
                "Rename one of them."
            )
        seen[name] = submission.path
