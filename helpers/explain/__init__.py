"""Explain a device error in the student's code: the device of each tensor, the cause, and the fix.

`explain(error)` explains a caught error and `with explain():` an error in a block. After
`install()`, a notebook shows a box under the traceback of a cell that fails with a device error.
"""

from __future__ import annotations

from helpers.explain.diagnosis import sites_of
from helpers.explain.explanation import Explanation
from helpers.explain.notebook import (
    ExplainedBlock,
    explain,
    explanation_of,
    install,
    mark_as_seen,
    uninstall,
)

__all__ = [
    "ExplainedBlock",
    "Explanation",
    "explain",
    "explanation_of",
    "install",
    "mark_as_seen",
    "sites_of",
    "uninstall",
]
