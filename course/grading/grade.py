"""`course grade`: grades a folder of submissions and writes the gradebook and feedback pages."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError, CourseFolder, select_names
from course.execution.cluster import connect
from course.grading.answers import CellKind, exercise_points, merge_answers
from course.grading.gradebook import (
    GradedSubmission,
    Mark,
    MarkStatus,
    StoredResults,
    apply_manual_points,
    read_manual_points,
    write_class_page,
    write_feedback,
    write_feedback_zip,
    write_tables,
)
from course.grading.limits import SandboxLimits, StopReason
from course.grading.sandbox import require_bubblewrap
from course.grading.session import Canceled, Session
from course.grading.submissions import Submission, absent_students, find_submissions

# The lab's own solution is graded again after this many submissions.
_CANARY_INTERVAL = 10
_MAX_FILES_LISTED = 20


@dataclass(frozen=True)
class GradingOptions:
    """The options of `grade`.

    `jobs` is the number of parallel jobs (default: one per core), `cluster` the address of a Dask
    scheduler, or None to grade on this machine.
    """

    limits: SandboxLimits = field(default_factory=SandboxLimits)
    jobs: int | None = None
    cluster: str | None = None
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

    The lab's own solution is graded first, and again between submissions, to detect that the
    machine is too busy or not set up correctly. A submission that has not changed since its last
    grading in `out` is skipped. `progress` is called after each submission with the result, and the
    numbers of submissions graded so far and in total. The result is sorted by student name.

    Raises:
        CourseError: bubblewrap does not work, the submissions or options are not valid, or the
            results cannot be written.
    """
    options = options or GradingOptions()
    if options.isolated and options.cluster is None:
        require_bubblewrap()
    if submissions.is_dir() and out.resolve().is_relative_to(submissions.resolve()):
        raise CourseError(
            f"{out} is inside {submissions}, so the feedback would be graded the next time. Choose "
            "another folder with --out."
        )
    grader = _ClassGrader(original, submissions, out, options, progress)
    try:
        with connect(options.cluster) if options.cluster else nullcontext() as grader.client:
            return grader.grade()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CourseError(
            f"The results cannot be written to {out}: {error.strerror or error}. Free some space, "
            "or choose another folder with --out. The results so far are kept."
        ) from None


class _ClassGrader:
    """Grades all submissions of one class."""

    def __init__(
        self, original: Path, folder: Path, out: Path, options: GradingOptions, progress: Progress
    ) -> None:
        self.original, self.out, self.options, self.progress = original, out, options, progress
        self.notebook = nbformat.read(original, as_version=4)
        self.title = self.notebook.metadata.get("title", original.stem)
        self.submissions = find_submissions(folder, original.stem, self.notebook, due=options.due)
        if options.class_list is not None:
            self.submissions += absent_students(options.class_list, self.submissions)
            self.submissions.sort(key=lambda submission: submission.student.casefold())
        self.graded: dict[str, GradedSubmission] = {}
        self._lock = threading.Lock()
        self._cancel = threading.Event()
        self._settings = (options.limits, options.isolated)
        self.client: Any = None

    def _run(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function here or on any worker of the cluster."""
        if self.client is None:
            return function(*arguments, *self._settings)
        return self.client.submit(function, *arguments, *self._settings, pure=False).result()

    def grade(self) -> list[GradedSubmission]:
        self.manual = read_manual_points(self.out)
        self.stored = StoredResults(self.out, self.original, *self._settings)
        waiting = []
        for submission in self.submissions:
            stored = None if self.options.regrade else self.stored.load(submission)
            if stored is None and submission.notebook is not None:
                waiting.append(submission)
                continue
            status = MarkStatus.UNREADABLE if submission.path else MarkStatus.MISSING
            problem = submission.problem
            stored = stored or ungraded_submission(self.notebook, submission, status, problem)
            self._finish(stored, final=True)
        try:
            if waiting:
                self._run(check_machine, self.original)
                solution_failed = self._grade_all(waiting)
                for graded in [self.graded[submission.student] for submission in waiting]:
                    has_lost_points = graded.points < graded.max_points
                    if not _is_final(graded) or (solution_failed and has_lost_points):
                        self._regrade_alone(graded.submission)
        finally:
            students = [submission.student for submission in self.submissions]
            results = [self.graded[student] for student in students if student in self.graded]
            if results:
                names = self.original.stem, self.title
                files = write_tables(results, *names, self.out)
                write_feedback_zip(results, self.out)
                write_class_page(results, *names, files, self.out)
        return results

    def _grade_all(self, queue: list[Submission]) -> bool:
        """Grade in parallel; return whether the lab's own solution failed at any time."""
        cores = sum(self.client.nthreads().values()) if self.client else os.cpu_count()
        with ThreadPoolExecutor(self.options.jobs or cores or 1) as pool:
            futures = []
            for count, submission in enumerate(queue, start=1):
                futures.append(pool.submit(self._grade_and_store, submission))
                if count % _CANARY_INTERVAL == 0:
                    futures.append(pool.submit(self._solution_fails))
            try:
                results = [future.result() for future in futures]
            except BaseException:
                # Ctrl-C or a full disk: do not wait for the sandboxes that are still running.
                self._cancel.set()
                if self.client:
                    self.client.close()
                pool.shutdown(cancel_futures=True)
                raise
        return any(results)

    def _grade_and_store(self, submission: Submission) -> None:
        graded = self._grade_safely(submission)
        self._finish(graded, final=_is_final(graded))

    def _grade_safely(self, submission: Submission) -> GradedSubmission:
        try:
            if self.client:
                return self._run(grade_submission, self.notebook, submission)
            return grade_submission(self.notebook, submission, *self._settings, self._cancel)
        except Canceled:
            raise
        except Exception as error:  # an error in one submission must not stop the others
            reason = f"the grader failed: {type(error).__name__}: {error}"
            return ungraded_submission(self.notebook, submission, MarkStatus.NOT_GRADED, reason)

    def _solution_fails(self) -> bool:
        return bool(self._run(unexpected_marks, self.original))

    def _regrade_alone(self, submission: Submission) -> None:
        """Grade a submission again, while no other is running."""
        graded = self._grade_safely(submission)
        if not _is_final(graded) and self._solution_fails():
            text = "the lab's own solution failed at the same time, so this machine was too busy"
            failed = {"points": 0, "status": MarkStatus.NOT_GRADED, "message": text}
            graded.marks = [m if m.is_final else replace(m, **failed) for m in graded.marks]
        self._finish(graded, final=True)

    def _finish(self, graded: GradedSubmission, *, final: bool) -> None:
        """Store a result and write its feedback page."""
        with self._lock:
            if final and graded.is_graded:
                self.stored.save(graded)
            result = apply_manual_points(graded, self.manual)
            try:
                anonymous = self.options.anonymous
                page = write_feedback(result, self.title, self.out, anonymous=anonymous)
                result.page = page.relative_to(self.out).as_posix() if page else ""
            except OSError:
                raise
            except Exception as error:  # for example, nbconvert cannot render an output
                reason = f"{type(error).__name__}: {error}"
                result.notes = [*result.notes, f"the feedback page could not be written: {reason}"]
            # The page now contains the cells, so free their memory.
            result.cells, graded.cells = result.cells[:1], graded.cells[:1]
            self.graded[graded.submission.student] = result
            self.progress(result, len(self.graded), len(self.submissions))


def _is_final(graded: GradedSubmission) -> bool:
    return all(mark.is_final for mark in graded.marks)


def grade_submission(
    original: NotebookNode,
    submission: Submission,
    limits: SandboxLimits,
    isolated: bool = True,
    cancel: threading.Event | None = None,
) -> GradedSubmission:
    """Grade every exercise of `submission`; raise `Canceled` once `cancel` is set."""
    points = exercise_points(original)
    merged = merge_answers(original, submission.notebook)
    if set(merged.missing) == set(points):
        reason = "none of this lab's exercises is in the notebook"
        return ungraded_submission(original, submission, MarkStatus.MISSING, reason)
    session = Session(merged.cells, limits, cancel or threading.Event(), isolated)
    session.run()
    notes = [*merged.notes, *session.notes]
    if others := submission.others:
        more = len(others) - _MAX_FILES_LISTED
        listed = ", ".join(others[:_MAX_FILES_LISTED]) + (f" and {more:,} more" * (more > 0))
        notes.append(f"also submitted, not graded: {listed}")
    marks = [
        _make_mark(session, number, max_points, number in merged.missing)
        for number, max_points in points.items()
    ]
    cells = [(cell, session.results.get(index, {})) for index, cell in enumerate(merged.cells)]
    return GradedSubmission(submission, marks, notes, cells, session.isolated)


def ungraded_submission(
    original: NotebookNode, submission: Submission, status: MarkStatus, reason: str
) -> GradedSubmission:
    """Return a submission with 0 points and the same status and reason for every exercise."""
    points = exercise_points(original)
    return GradedSubmission(
        submission, [Mark(number, 0, points[number], status, reason) for number in points]
    )


def _make_mark(session: Session, number: int, max_points: int, is_missing: bool) -> Mark:
    """Return the mark of exercise `number`, which is worth `max_points` points."""
    indices = [index for index, cell in enumerate(session.cells) if cell.exercise == number]
    verdict, fault = session.verdicts.get(number), session.fault
    passed = verdict is not None and verdict["passed"]
    no_points = Mark(number, 0, max_points, MarkStatus.MISSING)
    for index in indices:
        stop = session.stops.get(index)
        if stop and (not passed or session.cells[index].kind is CellKind.CHECK):
            status = MarkStatus.NOT_GRADED if stop.reason is StopReason.BUSY else MarkStatus.STOPPED
            text = f"its code {stop.text}"
            return replace(no_points, status=status, message=text, stop=stop.reason)
    if passed:
        return replace(no_points, points=max_points, status=MarkStatus.PASSED)
    if verdict is None and fault and not is_missing:
        status = MarkStatus.NOT_GRADED
        return replace(no_points, status=status, message=fault.text, stop=fault.reason)
    if verdict is None or is_missing:
        return replace(no_points, message="the exercise is not in the notebook")
    message, hint = verdict["message"], verdict["hint"]
    if hint is None:
        # If the cell with the answer failed, there was nothing to check.
        for index in reversed(indices):
            error = session.results.get(index, {}).get("error", "")
            if error and session.cells[index].kind is CellKind.STUDENT:
                message = f"the answer's cell stops with {error}"
    status = MarkStatus.NOT_WRITTEN if hint == "not-written" else MarkStatus.WRONG
    reason = StopReason(verdict["stop"]) if verdict["stop"] else None
    return replace(no_points, status=status, message=message, hint=hint, stop=reason)


def unexpected_marks(original: Path, limits: SandboxLimits, isolated: bool = True) -> list[Mark]:
    """Grade the lab's solution, and return the marks of the exercises that it did not pass.

    If the lab has no solution, grade the lab itself, whose exercises are not written, or wrong if
    students repair given code.
    """
    file, expected = original.parent / "solutions" / original.name, {MarkStatus.PASSED}
    if not file.is_file():
        file, expected = original, {MarkStatus.NOT_WRITTEN, MarkStatus.WRONG}
    submission = Submission(str(file), str(file), nbformat.read(file, as_version=4))
    lab = nbformat.read(original, as_version=4)
    graded = grade_submission(lab, submission, limits, isolated)
    return [mark for mark in graded.marks if mark.status not in expected]


def check_machine(original: Path, limits: SandboxLimits, isolated: bool = True) -> None:
    """Check that this machine can grade a lab.

    If the sandbox fails to start or a limit is too low, every student gets 0 points. To detect
    this, the lab's own solution is graded like a submission. If it does not get full points,
    `CourseError` is raised, with the results and a fix.
    """
    failed = unexpected_marks(original, limits, isolated)
    if not failed:
        return
    if any(mark.stop and mark.stop.depends_on_machine for mark in failed):
        advice = "Raise the limits (--memory, --cell-seconds, --seconds), or stop other programs."
    # The solution is trusted code, so it is safe to run outside the sandbox.
    elif isolated and not unexpected_marks(original, limits, isolated=False):
        advice = (
            "Without bubblewrap, the solution gets full points, so the sandbox is the cause. If "
            "the students' code may use this machine's files and network, add --no-sandbox."
        )
    else:
        advice = "To find the cause: course doctor, and course build --check"
    problems = {mark.description: [] for mark in failed}
    for mark in failed:
        problems[mark.description].append(str(mark.exercise))
    lines = [f"  exercise {', '.join(numbers)}: {text}" for text, numbers in problems.items()]
    raise CourseError(
        f"This machine cannot grade {original.stem} now, so no submission was graded. The lab's "
        f"own solution was graded first, {'with' if isolated else 'without'} a sandbox, with "
        f"{limits.memory_bytes / 2**30:.1f} GiB, {limits.cell_seconds:g} s per cell and "
        f"{limits.seconds:g} s in total, and did not get full points:\n"
        + "\n".join([*lines, advice])
    )
