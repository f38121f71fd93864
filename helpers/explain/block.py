"""`explain(error)` and `with explain():`, for use in code."""

from __future__ import annotations

from types import TracebackType
from typing import overload

from helpers.explain.box import Explanation
from helpers.explain.showing import explanation_of, show_explanation_of


class ExplainedBlock:
    """A block of code whose device error is explained; made by `with explain():`."""

    def __init__(self, *, go_on: bool = False) -> None:
        self.go_on = go_on
        self.explanation: Explanation | None = None

    def __enter__(self) -> ExplainedBlock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if error is None:
            return False
        self.explanation = show_explanation_of(error, message=self.go_on)
        return self.go_on and self.explanation is not None


@overload
def explain(error: BaseException) -> Explanation | None: ...
@overload
def explain(*, go_on: bool = False) -> ExplainedBlock: ...


def explain(
    error: BaseException | None = None, *, go_on: bool = False
) -> Explanation | ExplainedBlock | None:
    """Explain a device error.

    Args:
        error: one that was caught. Without it, the call opens a block: `with explain():`.
        go_on: for a block, print the message and the box and carry on after the block, as a lesson
            does that provokes an error. Otherwise the error goes on as it came.

    Returns:
        The explanation, which a cell that ends in it shows as a box; None if `error` has nothing
        to do with devices. It holds `culprit`, `places`, `why` and `cure`.
    """
    if error is None:
        return ExplainedBlock(go_on=go_on)
    if not isinstance(error, BaseException):
        raise TypeError(f"explain() takes an error that was caught, not a {type(error).__name__}.")
    return explanation_of(error)
