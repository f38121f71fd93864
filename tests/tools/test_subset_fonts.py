"""The fonts of figures have all characters of the translated texts."""

import pytest

from tools.subset_fonts import VARIANTS, missing_characters


@pytest.mark.parametrize("language", VARIANTS)
def test_font_has_all_characters(language):
    missing = missing_characters(language)
    assert not missing, f"Not in the font: {''.join(sorted(missing))}. Run `make build`."
