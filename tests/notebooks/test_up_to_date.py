"""Every built lesson is what its source builds today. Mend a failure with `course build`."""

from pathlib import Path

from helpers.instructor.build import check
from helpers.instructor.course_folder import open_course

ROOT = Path(__file__).parents[2]


def test_every_lesson_is_what_its_source_builds_today():
    findings = check(open_course(ROOT))
    assert not findings, "\n".join(findings)
