"""`course grade`: judges a folder of submissions; writes gradebook, feedback and a page."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError, CourseFolder, pick
from course.grading.class_list import absent_students
from course.grading.feedback import write_feedback, write_feedback_zip
from course.grading.gradebook import write_class_page, write_tables
from course.grading.limits import SandboxLimits
from course.grading.marking import GradedSubmission, Mark, MarkStatus, judge, unjudged
from course.grading.preflight import check_machine, unexpected_marks
from course.grading.results import StoredResults, read_manual, with_manual
from course.grading.session import Cancelled
from course.grading.submissions import Submission, find_submissions

# How many submissions are judged between two times that the lab's own solution is.
_BETWEEN_CANARIES = 10
_MACHINE_FAILED = "the lab's own solution failed at the same time, so this machine was too busy"
_CANARY = Submission("the lab's own solution", "")


@dataclass(frozen=True)
class GradingOptions:
    """How to grade: see `grade`. `jobs` submissions run at once; by default one per core."""

    limits: SandboxLimits = field(default_factory=SandboxLimits)
    jobs: int | None = None
    isolated: bool = True
    anonymous: bool = False
    class_list: Path | None = None
    due: datetime | None = None
    regrade: bool = False


Progress = Callable[[GradedSubmission, int, int], None]


def lab_file(course: CourseFolder, lab: str) -> Path:
    """The student's notebook of a lab of the course, named as `course.pick` understands it."""
    built = sorted(path.stem for path in course.labs.glob("[!._]*.ipynb"))
    return course.labs / f"{pick(built, [lab], 'lab')[0]}.ipynb"


def grade(
    original: Path,
    submissions: Path,
    out: Path,
    options: GradingOptions | None = None,
    progress: Progress = lambda graded, done, count: None,
) -> list[GradedSubmission]:
    """Grade every submission of one lab and write the results into the folder `out`.

    The lab's own solution is judged first, and again during the class: where it does not get every
    point, the machine is at fault. What was stopped for its time or memory is judged again, alone.
    All files are written after each submission, and those that did not change since an earlier
    grading into the same folder are not judged again.

    Args:
        original: the lab as students got it.
        submissions: a folder or a zip.
        progress: called after each submission with it, and with how many of how many are done.

    Returns:
        The graded submissions, sorted by the students' names.

    Raises:
        CourseError: nothing can be graded as asked, or the results cannot be written.
    """
    options = options or GradingOptions()
    notebook = nbformat.read(original, as_version=4)
    found = find_submissions(submissions, original.stem, notebook, due=options.due)
    if options.class_list is not None:
        found += absent_students(options.class_list, found)
        found.sort(key=lambda one: one.student.casefold())
    if submissions.is_dir() and out.resolve().is_relative_to(submissions.resolve()):
        raise CourseError(
            f"{out} is inside {submissions}, so the feedback would be graded the next time. Name "
            "another folder with --out."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _Class(original, notebook, found, out, options, progress).grade()
    except OSError as error:
        raise CourseError(
            f"The results cannot be written to {out}: {error.strerror or error}. Free some space, "
            "or name another folder with --out. What was judged so far is kept."
        ) from None


class _Class:
    """The grading of one class."""

    def __init__(
        self,
        original: Path,
        notebook: NotebookNode,
        found: Sequence[Submission],
        out: Path,
        options: GradingOptions,
        progress: Progress,
    ) -> None:
        self.original, self.notebook, self.found, self.out = original, notebook, found, out
        self.options, self.progress = options, progress
        self.title = notebook.metadata.get("title", original.stem)
        isolated = options.isolated
        self.stored = StoredResults(out, original, options.limits, isolated=isolated)
        self.manual = read_manual(out)
        self.graded: dict[str, GradedSubmission] = {}
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._done: set[str] = set()

    def grade(self) -> list[GradedSubmission]:
        waiting = []
        for submission in self.found:
            stored = None if self.options.regrade else self.stored.load(submission)
            if stored is None and submission.notebook is not None:
                waiting.append(submission)
                continue
            if stored is None:
                absent = not submission.path
                status = MarkStatus.MISSING if absent else MarkStatus.UNREADABLE
                stored = unjudged(self.notebook, submission, status, submission.problem)
            self._finish(stored, final=True)
        if waiting:
            check_machine(self.original, self.options.limits, isolated=self.options.isolated)
            suspicious = self._judge_all(waiting)
            self._judge_again_alone(suspicious)
        self._write_tables(last=True)
        return [self.graded[one.student] for one in self.found]

    def _judge_all(self, waiting: list[Submission]) -> set[str]:
        """Judge all, several at once; returns those beside whom the solution failed."""
        jobs: list[Submission] = []
        for place, submission in enumerate(waiting, start=1):
            jobs.append(submission)
            if place % _BETWEEN_CANARIES == 0:
                jobs.append(_CANARY)
        suspicious: set[str] = set()
        since: list[str] = []
        with ThreadPoolExecutor(self.options.jobs or os.cpu_count() or 1) as pool:
            futures = [pool.submit(self._judge, submission) for submission in jobs]
            try:
                failed_before = False
                for submission, future in zip(jobs, futures, strict=True):
                    failed = future.result()
                    if submission is not _CANARY:
                        since.append(submission.student)
                        continue
                    if failed or failed_before:
                        suspicious.update(since)
                    failed_before, since = failed, []
                if failed_before:
                    suspicious.update(since)
            except BaseException:
                # Ctrl-C, or a full disk: do not wait for the sandboxes that still run.
                self._cancel.set()
                pool.shutdown(cancel_futures=True)
                raise
        return suspicious

    def _judge(self, submission: Submission) -> bool:
        """Judge and store one; returns whether it was the solution, and it failed."""
        if submission is _CANARY:
            return self._solution_fails()
        graded = self._judged(submission)
        self._finish(graded, final=all(mark.is_final for mark in graded.marks))
        return False

    def _judged(self, submission: Submission) -> GradedSubmission:
        options = self.options
        try:
            return judge(
                self.notebook,
                submission,
                options.limits,
                isolated=options.isolated,
                cancel=self._cancel,
            )
        except Cancelled:
            raise
        except Exception as error:  # whatever it is, it must not end the class
            why = f"the grader failed: {type(error).__name__}: {error}"
            return unjudged(self.notebook, submission, MarkStatus.NOT_JUDGED, why)

    def _solution_fails(self) -> bool:
        marks, _ = unexpected_marks(
            self.original, self.options.limits, isolated=self.options.isolated
        )
        return bool(marks)

    def _judge_again_alone(self, suspicious: set[str]) -> None:
        """Judge again what a busy machine may have decided, one after another."""
        again = [
            graded
            for graded in list(self.graded.values())
            if any(self._is_doubtful(mark, graded, suspicious) for mark in graded.marks)
        ]
        for first in again:
            second = self._judged(first.submission)
            fails = any(not mark.is_final for mark in second.marks) and self._solution_fails()
            marks = [
                self._decided(one, other, machine_failed=fails)
                if self._is_doubtful(one, first, suspicious)
                else one
                for one, other in zip(first.marks, second.marks, strict=True)
            ]
            notes = list(dict.fromkeys([*first.notes, *second.notes]))
            self._finish(replace(second, marks=marks, notes=notes), final=True)

    def _is_doubtful(self, mark: Mark, graded: GradedSubmission, suspicious: set[str]) -> bool:
        affected = graded.submission.student in suspicious and mark.points < mark.of
        return graded.submission.notebook is not None and (affected or not mark.is_final)

    def _decided(self, first: Mark, second: Mark, *, machine_failed: bool) -> Mark:
        if machine_failed and not second.is_final:
            status = MarkStatus.NOT_JUDGED
            return replace(second, points=0, status=status, message=_MACHINE_FAILED)
        return second

    def _finish(self, graded: GradedSubmission, *, final: bool) -> None:
        """Store a result, and write its feedback page and all tables."""
        with self._lock:
            self.stored.save(graded, final=final)
            shown = with_manual(graded, self.manual)
            try:
                page = write_feedback(shown, self.title, self.out, anonymous=self.options.anonymous)
                shown.page = page.relative_to(self.out).as_posix() if page else ""
            except OSError:
                raise
            except Exception as error:  # such as an output that the page's maker cannot show
                why = f"{type(error).__name__}: {error}"
                shown.notes = [*shown.notes, f"the feedback page could not be written: {why}"]
            # The page has them now.
            shown.cells, graded.cells = shown.cells[:1], graded.cells[:1]
            self.graded[graded.submission.student] = shown
            self._done.add(graded.submission.student)
            self._write_tables()
            self.progress(shown, len(self._done), len(self.found))

    def _write_tables(self, *, last: bool = False) -> None:
        everybody = [self.graded[one.student] for one in self.found if one.student in self.graded]
        lab = self.original.stem
        files = write_tables(everybody, lab, self.title, self.out)
        if last:
            write_feedback_zip(everybody, self.out)
        write_class_page(everybody, lab, self.title, files, self.out)
