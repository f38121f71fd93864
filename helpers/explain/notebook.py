"""Show explanations: under a failing notebook cell, in a `with` block, or for a caught error."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import display

from helpers.explain.diagnosis import Explanation, diagnose

_MARK = "_explained_by_the_course"


def explanation_of(error: BaseException) -> Explanation | None:
    """Return the explanation of `error`; None if it is not a device error.

    If the explainer itself fails, it prints one line; the student's error is never hidden.
    """
    try:
        return diagnose(error)
    except Exception as failure:
        name = type(failure).__name__
        print(f"(The explainer failed on this error: {name}: {failure})", file=sys.stderr)
        return None


def mark_as_seen(error: BaseException) -> None:
    """Mark `error` so that no box is shown for it.

    The mark is an attribute of the error: a list of errors would keep their frames' tensors alive.
    """
    error.__dict__[_MARK] = True


def _show_box(error: BaseException, *, with_message: bool = False) -> Explanation | None:
    """Display the explanation of `error` once, with its message first if requested; return it."""
    if _MARK in error.__dict__:
        return None
    mark_as_seen(error)
    explanation = explanation_of(error)
    if explanation is None:
        return None
    if with_message:
        print(f"{type(error).__name__}: {error}")
    if get_ipython() is None:
        print(f"\n{explanation!r}", file=sys.stderr)
    else:
        html = explanation._repr_html_()
        display({"text/plain": repr(explanation), "text/html": html}, raw=True)
    return explanation


@contextmanager
def _explained_block(suppress: bool) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if _show_box(error, with_message=suppress) is None or not suppress:
            raise


def explain(
    error: BaseException | None = None, *, suppress: bool = False
) -> Explanation | AbstractContextManager[None] | None:
    """Return the explanation of a caught `error`; None if it is not a device error.

    Without `error`, the call opens a block: `with explain():`. With `suppress`, the block prints
    the message and the box, and the program continues after it. Otherwise, the error is raised.
    """
    if error is None:
        return _explained_block(suppress)
    if not isinstance(error, BaseException):
        raise TypeError(f"explain() takes a caught error, not a {type(error).__name__}.")
    return explanation_of(error)


def install() -> None:
    """Show a box under the unchanged traceback of each cell that fails with a device error.

    A second call has no effect. Outside IPython, nothing happens.
    """
    uninstall()
    if (earlier := getattr(sys, "last_value", None)) is not None:
        mark_as_seen(earlier)
    if (shell := get_ipython()) is not None:
        shell.events.register("post_run_cell", _after_cell)


def uninstall() -> None:
    """Stop explaining the errors of cells."""
    shell = get_ipython()
    if shell is not None and _after_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", _after_cell)


def _after_cell(result: Any) -> None:
    # With IPython 7, `%%time` shows its cell's error itself and then reports success.
    error = result.error_in_exec or getattr(sys, "last_value", None)
    if error is not None:
        _show_box(error)
