"""Read notebooks, and write files atomically."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course.course_folder import CourseError

# If the process is killed during a write, it leaves a file whose name starts with a dot and ends
# with this suffix.
PARTIAL_SUFFIX = ".partial"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a crash or a full disk leaves either its old or its new content.

    Missing folders are created. Text is written as UTF-8 with `\\n` line endings.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL_SUFFIX)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp creates files that only their owner can read.
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook file.

    Raises CourseError if it is not a notebook, for example because of unresolved merge conflicts.
    """
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, AttributeError, nbformat.ValidationError) as error:
        reason = str(error).strip().splitlines()[0][:80] if str(error).strip() else "invalid"
        raise CourseError(
            f"{path} is not a valid notebook ({reason}); delete it and build it again"
        ) from None
