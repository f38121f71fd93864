"""Every built lesson is what its source builds today. Mend a failure with `course build`."""

from pathlib import Path

from course.authoring.targets import outdated
from course.course_folder import open_course

ROOT = Path(__file__).parents[2]


def test_every_lesson_is_what_its_source_builds_today():
    findings = outdated(open_course(ROOT))
    assert not findings, "\n".join(findings)
