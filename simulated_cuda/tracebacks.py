"""Tracebacks without this package's frames, as on CUDA, where the checks are in C++."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

_OWN = str(Path(__file__).parent)


def without_simulator(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package's files."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_OWN):
            kept.append(traceback)
        traceback = traceback.tb_next
    # Not recursive, since the stack may be nearly full: RecursionError gets here too.
    rest = None
    for each in reversed(kept):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest
