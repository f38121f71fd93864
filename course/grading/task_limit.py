"""A limit on the processes and threads of a sandbox, set with the kernel's `pids` controller.

Counting processes from outside is too slow for a fork bomb, and the limit RLIMIT_NPROC does not
apply to root. The controller needs a cgroup, which usually only root can create.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from pathlib import Path

_REMOVE_TIMEOUT = 5


class TaskLimit:
    """A cgroup with at most `max_tasks` tasks; has no effect if it cannot be created."""

    def __init__(self, max_tasks: int) -> None:
        self.folder: Path | None = None
        for parent in _pids_groups():
            with contextlib.suppress(OSError):
                folder = Path(tempfile.mkdtemp(prefix="submission-", dir=parent))
                try:
                    (folder / "pids.max").write_text(str(max_tasks))
                except OSError:
                    folder.rmdir()
                    raise
                self.folder = folder
                return

    def apply_to(self, command: list[str]) -> list[str]:
        """Return a command that joins the cgroup and then runs `command`."""
        if self.folder is None:
            return command
        join = 'echo $$ > "$0" && exec "$@"'
        return ["/bin/sh", "-c", join, str(self.folder / "cgroup.procs"), *command]

    def remove(self) -> None:
        """Remove the cgroup, after all its processes have been killed."""
        if self.folder is None:
            return
        end = time.monotonic() + _REMOVE_TIMEOUT
        while time.monotonic() < end:
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:  # a process has not ended yet
                time.sleep(0.05)


def _pids_groups() -> list[Path]:
    """Return the folders of this process's cgroups that can limit tasks (versions 1 and 2)."""
    if not hasattr(os, "geteuid"):
        return []
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return []
    folders = []
    for mount in mounts:
        fields, _, source = mount.partition(" - ")
        kind, options = source.split()[0], source.split()[-1].split(",")
        root, mount_point = fields.split()[3:5]
        for group in groups:
            _, controllers, path = group.split(":", 2)
            version_1 = kind == "cgroup" and "pids" in options and "pids" in controllers.split(",")
            if version_1 or (kind == "cgroup2" and not controllers):
                relative_path = re.sub(f"^{re.escape(root.rstrip('/'))}", "", path).lstrip("/")
                folders.append(Path(mount_point) / relative_path)
    return folders
