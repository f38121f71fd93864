"""The fonts of figures have all characters of the translated texts."""

import pytest

from course.course_folder import open_course
from course.translation.catalogs import languages
from tools.subset_fonts import ROOT, missing_characters


@pytest.mark.parametrize("language", languages(open_course(ROOT)))
def test_font_has_all_characters(language):
    missing = missing_characters(language)
    fix = "Run `make build`, or add the language's font to tools/subset_fonts.py."
    assert not missing, f"Not in the font: {''.join(sorted(missing))}. {fix}"
