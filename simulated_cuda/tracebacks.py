"""Tracebacks without the frames of this package, as on CUDA, where the checks are in C++."""

import os
from pathlib import Path
from types import TracebackType

_FOLDER = str(Path(__file__).parent)


def without_simulator(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames of this package's files."""
    entries = []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.rpartition(os.sep)[0] != _FOLDER:
            entries.append(traceback)
        traceback = traceback.tb_next
    # Not recursive: if the error is a RecursionError, the stack is nearly full.
    result = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
