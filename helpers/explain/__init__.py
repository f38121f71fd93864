"""Explain a device error in the student's code: the device of each tensor, the cause, and the fix.

`explain(error)` explains a caught error and `with explain():` an error in a block. After
`install()`, a notebook shows a box under the traceback of a cell that fails with a device error.
"""

from helpers.explain.diagnosis import Explanation
from helpers.explain.notebook import explain, explanation_of, install, mark_as_seen, uninstall
from helpers.explain.source import student_frames

__all__ = [
    "Explanation",
    "explain",
    "explanation_of",
    "install",
    "mark_as_seen",
    "student_frames",
    "uninstall",
]
