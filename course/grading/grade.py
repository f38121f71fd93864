"""`course grade`: grades a folder of submissions and writes the gradebook and feedback pages."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError, CourseFolder, select_names
from course.grading.class_list import absent_students
from course.grading.feedback import write_feedback, write_feedback_zip
from course.grading.gradebook import write_class_page, write_tables
from course.grading.limits import SandboxLimits
from course.grading.marking import (
    GradedSubmission,
    Mark,
    MarkStatus,
    grade_submission,
    make_ungraded,
)
from course.grading.preflight import check_machine, unexpected_marks
from course.grading.remote_worker import Canceled
from course.grading.results import StoredResults, apply_manual_points, read_manual_points
from course.grading.submissions import Submission, find_submissions

# The lab's own solution is graded again after this many submissions.
_CANARY_INTERVAL = 10
# Minimum pause between two updates of the tables, as a multiple of the time to write them. They
# contain the whole class, so writing them after each submission is slow for a large class.
_TABLES_PAUSE = 5
_MACHINE_FAILED = "the lab's own solution failed at the same time, so this machine was too busy"


@dataclass(frozen=True)
class GradingOptions:
    """The options of `grade`. `jobs` is the number of parallel jobs (default: one per core)."""

    limits: SandboxLimits = field(default_factory=SandboxLimits)
    jobs: int | None = None
    isolated: bool = True
    anonymous: bool = False
    class_list: Path | None = None
    due: datetime | None = None
    regrade: bool = False


Progress = Callable[[GradedSubmission, int, int], None]


def lab_file(course: CourseFolder, lab: str) -> Path:
    """Return the path of a lab's student notebook. `lab` is a name, number or prefix."""
    names = sorted(path.stem for path in course.labs.glob("[!._]*.ipynb"))
    return course.labs / f"{select_names(names, [lab], 'lab')[0]}.ipynb"


def grade(
    original: Path,
    submissions: Path,
    out: Path,
    options: GradingOptions | None = None,
    progress: Progress = lambda graded, done, count: None,
) -> list[GradedSubmission]:
    """Grade every submission of one lab and write the results into the folder `out`.

    The lab's own solution is graded first, and again between submissions. If it does not get full
    points, the machine is too busy or not set up correctly. Submissions that exceeded a time or
    memory limit are graded again, one at a time. The tables and pages are updated after each
    submission. A submission that has not changed since its last grading in `out` is skipped.

    Args:
        original: the lab notebook that students received.
        submissions: a folder or a zip.
        out: the folder for the results.
        options: the limits and other options.
        progress: called after each submission with the result, the number of submissions graded
            so far, and the total.

    Returns:
        The graded submissions, sorted by student name.

    Raises:
        CourseError: the submissions or options are not valid, or the results cannot be written.
    """
    options = options or GradingOptions()
    notebook = nbformat.read(original, as_version=4)
    class_submissions = find_submissions(submissions, original.stem, notebook, due=options.due)
    if options.class_list is not None:
        class_submissions += absent_students(options.class_list, class_submissions)
        class_submissions.sort(key=lambda submission: submission.student.casefold())
    if submissions.is_dir() and out.resolve().is_relative_to(submissions.resolve()):
        raise CourseError(
            f"{out} is inside {submissions}, so the feedback would be graded the next time. Choose "
            "another folder with --out."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        grader = _ClassGrader(original, notebook, class_submissions, out, options, progress)
        return grader.grade()
    except OSError as error:
        raise CourseError(
            f"The results cannot be written to {out}: {error.strerror or error}. Free some space, "
            "or choose another folder with --out. The results so far are kept."
        ) from None


@dataclass
class _ClassGrader:
    """Grades all submissions of one class."""

    original: Path
    notebook: NotebookNode
    submissions: Sequence[Submission]
    out: Path
    options: GradingOptions
    progress: Progress
    graded: dict[str, GradedSubmission] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _cancel: threading.Event = field(default_factory=threading.Event)
    # The next time, in seconds, at which the tables may be written.
    _tables_due: float = 0.0

    def __post_init__(self) -> None:
        limits, isolated = self.options.limits, self.options.isolated
        self.title = self.notebook.metadata.get("title", self.original.stem)
        self.stored = StoredResults(self.out, self.original, limits, isolated=isolated)
        self.manual = read_manual_points(self.out)

    def grade(self) -> list[GradedSubmission]:
        waiting = []
        for submission in self.submissions:
            stored = None if self.options.regrade else self.stored.load(submission)
            if stored is None and submission.notebook is not None:
                waiting.append(submission)
                continue
            if stored is None:
                status = MarkStatus.UNREADABLE if submission.path else MarkStatus.MISSING
                stored = make_ungraded(self.notebook, submission, status, submission.problem)
            self._finish(stored, final=True)
        if waiting:
            limits, isolated = self.options.limits, self.options.isolated
            check_machine(self.original, limits, isolated=isolated)
            self._regrade_one_by_one(self._grade_all(waiting))
        self._write_tables(last=True)
        return [self.graded[submission.student] for submission in self.submissions]

    def _grade_all(self, queue: list[Submission]) -> set[str]:
        """Grade in parallel; return the students who were graded while the solution failed."""
        affected_students: set[str] = set()
        has_failed = False
        with ThreadPoolExecutor(self.options.jobs or os.cpu_count() or 1) as pool:
            chunks = []
            for start in range(0, len(queue), _CANARY_INTERVAL):
                chunk = queue[start : start + _CANARY_INTERVAL]
                futures = [pool.submit(self._grade_and_store, submission) for submission in chunk]
                is_full = len(chunk) == _CANARY_INTERVAL
                canary = pool.submit(self._solution_fails) if is_full else None
                chunks.append((chunk, futures, canary))
            try:
                for chunk, futures, canary in chunks:
                    for future in futures:
                        future.result()
                    had_failed, has_failed = has_failed, canary is not None and canary.result()
                    if has_failed or had_failed:
                        affected_students.update(submission.student for submission in chunk)
            except BaseException:
                # Ctrl-C or a full disk: do not wait for the sandboxes that are still running.
                self._cancel.set()
                pool.shutdown(cancel_futures=True)
                self._write_tables()
                raise
        return affected_students

    def _grade_and_store(self, submission: Submission) -> None:
        graded = self._grade_safely(submission)
        self._finish(graded, final=all(mark.is_final for mark in graded.marks))

    def _grade_safely(self, submission: Submission) -> GradedSubmission:
        limits, isolated = self.options.limits, self.options.isolated
        try:
            return grade_submission(
                self.notebook, submission, limits, isolated=isolated, cancel=self._cancel
            )
        except Canceled:
            raise
        except Exception as error:  # an error in one submission must not stop the others
            reason = f"the grader failed: {type(error).__name__}: {error}"
            return make_ungraded(self.notebook, submission, MarkStatus.NOT_GRADED, reason)

    def _solution_fails(self) -> bool:
        limits, isolated = self.options.limits, self.options.isolated
        return bool(unexpected_marks(self.original, limits, isolated=isolated)[0])

    def _regrade_one_by_one(self, suspicious: set[str]) -> None:
        """Regrade the submissions that a busy machine may have affected, one at a time."""
        for first_result in list(self.graded.values()):
            doubts = [
                self._is_doubtful(mark, first_result, suspicious) for mark in first_result.marks
            ]
            if not any(doubts):
                continue
            second_result = self._grade_safely(first_result.submission)
            is_undecided = not all(mark.is_final for mark in second_result.marks)
            machine_failed = is_undecided and self._solution_fails()
            marks = [
                self._decide(second_mark, machine_failed=machine_failed) if doubt else first_mark
                for doubt, first_mark, second_mark in zip(
                    doubts, first_result.marks, second_result.marks, strict=True
                )
            ]
            notes = list(dict.fromkeys([*first_result.notes, *second_result.notes]))
            self._finish(replace(second_result, marks=marks, notes=notes), final=True)

    def _is_doubtful(self, mark: Mark, graded: GradedSubmission, suspicious: set[str]) -> bool:
        affected = graded.submission.student in suspicious and mark.points < mark.max_points
        return graded.submission.notebook is not None and (affected or not mark.is_final)

    def _decide(self, mark: Mark, *, machine_failed: bool) -> Mark:
        if machine_failed and not mark.is_final:
            return replace(mark, points=0, status=MarkStatus.NOT_GRADED, message=_MACHINE_FAILED)
        return mark

    def _finish(self, graded: GradedSubmission, *, final: bool) -> None:
        """Store a result, write its feedback page and update all tables."""
        with self._lock:
            self.stored.save(graded, final=final)
            result = apply_manual_points(graded, self.manual)
            try:
                page = write_feedback(
                    result, self.title, self.out, anonymous=self.options.anonymous
                )
                result.page = page.relative_to(self.out).as_posix() if page else ""
            except OSError:
                raise
            except Exception as error:  # for example, nbconvert cannot render an output
                reason = f"{type(error).__name__}: {error}"
                result.notes = [*result.notes, f"the feedback page could not be written: {reason}"]
            # The page now contains the cells, so free their memory.
            result.cells, graded.cells = result.cells[:1], graded.cells[:1]
            self.graded[graded.submission.student] = result
            if (start := time.monotonic()) > self._tables_due:
                self._write_tables()
                self._tables_due = start + (_TABLES_PAUSE + 1) * (time.monotonic() - start)
            self.progress(result, len(self.graded), len(self.submissions))

    def _write_tables(self, *, last: bool = False) -> None:
        submissions = [
            self.graded[submission.student]
            for submission in self.submissions
            if submission.student in self.graded
        ]
        lab = self.original.stem
        files = write_tables(submissions, lab, self.title, self.out)
        if last:
            write_feedback_zip(submissions, self.out)
        write_class_page(submissions, lab, self.title, files, self.out)
