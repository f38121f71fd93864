"""What the box tells of an error, beside the error: who is where, why it matters, what to write."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.explain.contents import Operand
from helpers.explain.editing import Cure


@dataclass(frozen=True)
class Remedy:
    """The change that mends a line, if one could be written.

    `places` are what is where, the culprit first; `why` says why torch refuses, where there is
    more to say than for every error of the kind.
    """

    cure: Cure | None
    places: tuple[Operand, ...] = ()
    why: str = ""
