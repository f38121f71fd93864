"""Show an explanation where the student is: in the notebook, or on the terminal."""

from __future__ import annotations

import sys

from IPython.core.getipython import get_ipython
from IPython.display import display

from helpers.explain.box import Explanation

_MARK = "_device_error_was_explained"


def show(explanation: Explanation) -> None:
    """Display the box in a notebook; write it to the error stream elsewhere."""
    if get_ipython() is None:
        print(f"\n{explanation!r}", file=sys.stderr)
        return
    content = {"text/plain": repr(explanation), "text/html": explanation._repr_html_()}
    display(content, raw=True)


def mark(error: BaseException) -> None:
    """Remember on the error that its box has been shown."""
    setattr(error, _MARK, True)


def is_marked(error: BaseException) -> bool:
    """Say whether the box of `error` has been shown."""
    return bool(getattr(error, _MARK, False))
