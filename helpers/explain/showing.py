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

_MARK = "_the_course_has_seen_this_error"


def explanation_of(error: BaseException) -> Explanation | None:
    """Explain `error`; None if it is no device error, or if explaining it fails."""
    try:
        return diagnose(error)
    except Exception as fault:
        _tell(fault)
        return None


def show_explanation_of(error: BaseException, *, message: bool = False) -> Explanation | None:
    """Display the box of `error`, once; before it the error's message, if that is asked for."""
    if is_seen(error):
        return None
    mark_as_seen(error)
    explanation = explanation_of(error)
    if explanation is None:
        return None
    if message:
        print(f"{type(error).__name__}: {error}")
    try:
        _show(explanation)
    except Exception as fault:
        _tell(fault)
    return explanation


def mark_as_seen(error: BaseException) -> None:
    """Remember on the error itself that it needs no box any more.

    To keep the error elsewhere would keep the tensors of all its frames, and their memory.
    """
    try:
        setattr(error, _MARK, True)
    except AttributeError:  # its class allows no attributes
        return


def is_seen(error: BaseException) -> bool:
    """Say whether `error` needs no box any more."""
    return getattr(error, _MARK, False) is True


def _show(explanation: Explanation) -> None:
    if get_ipython() is None:
        print(f"\n{explanation!r}", file=sys.stderr)
        return
    content = {"text/plain": repr(explanation), "text/html": explanation._repr_html_()}
    display(content, raw=True)


def _tell(fault: Exception) -> None:
    name = type(fault).__name__
    print(f"(This error could not be explained: {name}: {fault})", file=sys.stderr)
