"""Tracebacks without this package's frames, as on CUDA, where the checks are in C++."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

_OWN = str(Path(__file__).parent)


def without_simulator(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package's files."""
    if traceback is None:
        return None
    rest = without_simulator(traceback.tb_next)
    frame = traceback.tb_frame
    if frame.f_code.co_filename.startswith(_OWN):
        return rest
    return TracebackType(rest, frame, traceback.tb_lasti, traceback.tb_lineno)
