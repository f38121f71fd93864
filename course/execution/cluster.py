"""Connects to a Dask cluster."""

import contextlib
from typing import Any

from course.course_folder import CourseError


def connect(address: str) -> Any:
    """Return a `distributed.Client`, a context manager. Print a line if there are no workers.

    Raises:
        CourseError: there is no scheduler at the address.
    """
    # Imported here because Dask takes a second to import.
    import distributed

    try:
        client = distributed.Client(address, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(
            f"Cannot connect to a Dask scheduler at {address} ({error}). "
            "To start one: dask scheduler"
        ) from None
    with contextlib.suppress(TimeoutError):
        client.wait_for_workers(1, timeout=10)
    if not client.scheduler_info()["workers"]:
        text = "has no workers. The command waits for the first one"
        print(f"{address} {text}: dask worker {address}", flush=True)
    return client
