"""Show the box under the traceback of a failing cell, and leave everything else as it is."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.getipython import get_ipython

from helpers.explain.showing import mark_as_seen, show_explanation_of


def install() -> bool:
    """Explain device errors of cells from now on; a second call changes nothing.

    The box is shown after the cell, so that the traceback, the cell's failure and what a program
    that runs the notebook sees of it stay as they were. Returns False outside IPython.
    """
    shell = get_ipython()
    if shell is None:
        return False
    uninstall()
    if (earlier := getattr(sys, "last_value", None)) is not None:
        mark_as_seen(earlier)
    shell.events.register("post_run_cell", _after_cell)
    return True


def uninstall() -> None:
    """Stop explaining the errors of cells."""
    shell = get_ipython()
    if shell is not None and _after_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", _after_cell)


def _after_cell(result: Any) -> None:
    # `%%time` in IPython 7 shows its cell's error itself, and then reports success.
    error = result.error_in_exec or getattr(sys, "last_value", None)
    if error is not None:
        show_explanation_of(error)
