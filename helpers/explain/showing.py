"""Show an explanation where the student is: in the notebook, or on the terminal.

Whatever goes wrong in here is told and no more: it must not stand in the way of the error that the
student has to read.
"""

from __future__ import annotations

import sys

from IPython.core.getipython import get_ipython
from IPython.display import display

from helpers.explain.box import Explanation
from helpers.explain.diagnosis import diagnose

_MARK = "_device_error_was_explained"


def explanation_of(error: BaseException) -> Explanation | None:
    """Explain `error`; None if it is no device error, or if explaining it fails."""
    try:
        return diagnose(error)
    except Exception as fault:
        _tell(fault)
        return None


def show_explanation_of(error: BaseException, *, message: bool = False) -> Explanation | None:
    """Display the box of `error`, once; before it the error's message, if that is asked for."""
    explanation = None if getattr(error, _MARK, False) else explanation_of(error)
    if explanation is None:
        return None
    if message:
        print(f"{type(error).__name__}: {error}")
    try:
        setattr(error, _MARK, True)
        _show(explanation)
    except Exception as fault:
        _tell(fault)
    return explanation


def _show(explanation: Explanation) -> None:
    if get_ipython() is None:
        print(f"\n{explanation!r}", file=sys.stderr)
        return
    content = {"text/plain": repr(explanation), "text/html": explanation._repr_html_()}
    display(content, raw=True)


def _tell(fault: Exception) -> None:
    name = type(fault).__name__
    print(f"(This error could not be explained: {name}: {fault})", file=sys.stderr)
