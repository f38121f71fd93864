"""Compare the code of a notebook and of its translation."""

import re


def without_language(code):
    """Remove the arguments that `with_language` added."""
    return re.sub(r'(lesson\.start\([^\n]*?)(?:, )?language="[\w-]+"\)', r"\1)", code)


def is_same_code(original, translation):
    """Return whether two notebooks have the same code, except for the language."""
    original_code, translated_code = (
        [without_language(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (original, translation)
    )
    return original_code == translated_code
