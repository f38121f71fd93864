"""Show the box under the traceback of a failing cell, and leave everything else as it is."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.getipython import get_ipython

from helpers.explain.diagnosis import diagnose
from helpers.explain.showing import is_marked, mark, show

_shown_before: list[BaseException | None] = [None]


def install() -> bool:
    """Explain device errors of cells from now on; a second call changes nothing.

    The box is shown after the cell, so that the traceback, the cell's failure and what a program
    that runs the notebook sees of it stay as they were. Returns False outside IPython.
    """
    shell = get_ipython()
    if shell is None:
        return False
    uninstall()
    _shown_before[0] = getattr(sys, "last_value", None)
    shell.events.register("post_run_cell", _after_cell)
    return True


def uninstall() -> None:
    """Stop explaining the errors of cells."""
    shell = get_ipython()
    if shell is not None and _after_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", _after_cell)


def _after_cell(result: Any) -> None:
    error = result.error_in_exec
    if error is None:
        # `%%time` shows the error of its cell itself and then reports success, in IPython 7.
        last = getattr(sys, "last_value", None)
        error = last if last is not _shown_before[0] else None
    _shown_before[0] = getattr(sys, "last_value", None)
    if error is None or is_marked(error):
        return
    try:
        explanation = diagnose(error)
        if explanation is not None:
            mark(error)
            show(explanation)
    except Exception as fault:
        # The student's error stands above; a fault of the explainer's must not stand in its way.
        print(
            f"(This error could not be explained: {type(fault).__name__}: {fault})", file=sys.stderr
        )
