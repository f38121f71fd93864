"""Every notebook matches its source. To fix a failure, run `course build`."""

from pathlib import Path

from course.authoring.up_to_date import find_outdated
from course.course_folder import open_course

ROOT = Path(__file__).parents[2]


def test_every_notebook_is_up_to_date():
    findings = find_outdated(open_course(ROOT))
    assert not findings, "\n".join(findings)
