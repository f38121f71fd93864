"""Code in a sandbox has limited access, and its exit and errors are reported."""

import json
import os
import shutil
import sys
import tempfile
import time
import venv
from pathlib import Path

import psutil
import pytest

import helpers
from course.grading import isolation
from course.grading.isolation import bubblewrap
from course.grading.limits import SandboxLimits, StopReason
from course.grading.sandbox import Sandbox

needs_bubblewrap = pytest.mark.skipif(bubblewrap() is None, reason="bubblewrap does not work here")
# This module runs in the sandbox and reports which changes to its own package succeed.
REPORTER = """\
import json, os, sys
from pathlib import Path
own = Path(__file__).parent
succeeded = []
for change in (
    lambda: (own / "mine.py").write_text(""),
    lambda: (own.parent / "mine.py").write_text(""),
    lambda: own.rename(own.with_name("other")),
    lambda: own.parent.rename(own.parent.with_name("other")),
    lambda: own.parents[1].rename(own.parents[1].with_name("other")),
    lambda: Path(sys.executable).unlink(),
):
    try:
        change()
        succeeded.append(True)
    except OSError:
        succeeded.append(False)
Path("/tmp/note").write_text("/tmp is writable")
print(json.dumps({"package": str(own), "python": sys.prefix, "succeeded": succeeded}))
"""


@pytest.fixture
def course_under_tmp(monkeypatch):
    """A `helpers` package and a virtual environment in /tmp, which the sandbox replaces."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    package = folder / "deep" / "course" / "helpers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "reporter.py").write_text(REPORTER)
    python = folder / "deep" / "venv"
    venv.create(python, symlinks=True)
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(isolation, "_course_folders", lambda: {package})
    monkeypatch.setattr(sys, "executable", str(python / "bin" / "python"))
    for name in ("prefix", "exec_prefix"):
        monkeypatch.setattr(sys, name, str(python))
    yield package
    shutil.rmtree(folder)


@needs_bubblewrap
def test_a_course_under_tmp_is_visible_and_read_only(course_under_tmp):
    sandbox = Sandbox("helpers.reporter", SandboxLimits())
    output = sandbox.process.stdout.read()
    error = sandbox.last_error
    sandbox.close()
    assert error == ""
    report = json.loads(output)
    assert report["package"] == str(course_under_tmp)
    assert report["python"] == sys.prefix
    assert report["succeeded"] == [False] * 6
    assert sorted(p.name for p in course_under_tmp.iterdir()) == ["__init__.py", "reporter.py"]


def test_packages_installed_by_the_user_are_visible(monkeypatch, tmp_path):
    monkeypatch.setattr(isolation.site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(isolation.site, "getusersitepackages", lambda: str(tmp_path))
    monkeypatch.setattr(isolation.site, "getuserbase", lambda: "/somewhere")
    assert tmp_path in isolation.own_folders()
    assert isolation.environment()["PYTHONUSERBASE"] == "/somewhere"


def test_python_in_a_linked_folder_is_visible_under_both_names(monkeypatch, tmp_path):
    (tmp_path / "python-3.11.7").mkdir()
    (tmp_path / "python-3.11").symlink_to("python-3.11.7")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python-3.11"))
    assert {tmp_path / "python-3.11", tmp_path / "python-3.11.7"} <= set(isolation.own_folders())


def test_last_line_of_standard_error_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = Sandbox("no_such_module_anywhere", SandboxLimits(), isolated=False)
    # A grader that is killed now leaves the working folder, but no other files.
    assert all(path.is_dir() for path in tmp_path.iterdir())
    sandbox.process.wait()
    output = sandbox.last_error
    sandbox.close()
    assert "No module named no_such_module_anywhere" in output
    assert not list(tmp_path.iterdir())


# This module reports what a process in the sandbox is allowed to do.
PROBE = """\
import ctypes, json, os, pathlib, subprocess
def works(call):
    try:
        return call() or True
    except OSError:
        return False
libc = ctypes.CDLL(None, use_errno=True)
status = pathlib.Path("/proc/self/status").read_text()
fields = dict(line.split(":", 1) for line in status.splitlines())
print(json.dumps({
    "uid": os.getuid(),
    "capabilities": [fields[name].strip() for name in ("CapEff", "CapPrm", "CapBnd")],
    "remount": libc.mount(b"none", b"/usr", b"", 32 | 4096, None) == 0,
    "new user namespace": libc.unshare(0x10000000) == 0,
    "write to /dev": works(lambda: pathlib.Path("/dev/file").write_text("x")),
    "100 MB in /dev/shm": works(lambda: pathlib.Path("/dev/shm/file").write_bytes(bytes(10**8))),
}))
"""


@pytest.fixture
def run_module(tmp_path, monkeypatch):
    """A function that runs code as a module of `helpers` in a sandbox and returns the sandbox."""
    package = tmp_path / "helpers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(isolation, "_course_folders", lambda: {package})
    sandboxes = []

    def run(code, limits=None, *, isolated=True):
        (package / "probe.py").write_text(code)
        sandboxes.append(Sandbox("helpers.probe", limits or SandboxLimits(), isolated=isolated))
        return sandboxes[-1]

    yield run
    for sandbox in sandboxes:
        sandbox.close()


@needs_bubblewrap
def test_sandboxed_code_runs_as_nobody_without_capabilities(run_module):
    report = json.loads(run_module(PROBE).process.stdout.read())
    assert report == {
        "uid": 65534,
        "capabilities": ["0000000000000000"] * 3,
        "remount": False,
        "new user namespace": False,
        "write to /dev": False,
        "100 MB in /dev/shm": False,
    }


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.1)
    return None


@needs_bubblewrap
def test_files_in_memory_count_as_memory(run_module):
    code = (
        "import os, time\nfile = os.memfd_create('x')\n"
        "for _ in range(200):\n    os.write(file, bytes(1 << 20))\ntime.sleep(600)"
    )
    sandbox = run_module(code, SandboxLimits(memory_bytes=100 << 20))
    stop = wait_for(sandbox.exceeded_limit)
    assert stop is not None
    assert stop.reason is StopReason.MEMORY


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        ("import os; os._exit(0)", StopReason.ENDED, "ended the process with exit status 0"),
        (
            "import os; os.kill(os.getpid(), 11)",
            StopReason.ENDED,
            "crashed Python (signal SIG",
        ),
        ("import os; os.kill(os.getpid(), 9)", StopReason.KILLED, "was killed (signal SIGKILL)"),
    ],
)
def test_exit_reason_is_read_from_the_exit_status(run_module, code, reason, text):
    stop = run_module(code).exit_reason()
    assert stop.reason is reason
    assert stop.text.startswith(text)


@pytest.mark.skipif(not psutil.LINUX, reason="needs the environment of other processes")
def test_ending_a_sandbox_without_bubblewrap_kills_detached_processes(run_module):
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if (pid := os.fork()) == 0:\n"
        "        time.sleep(600)\n"
        "    print(pid, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    sandbox = run_module(code, isolated=False)
    pid = int(sandbox.process.stdout.readline())
    sandbox.process.wait()
    assert psutil.pid_exists(pid)
    sandbox.close()
    # The process stays a zombie if nothing reaps orphans.
    assert wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


@needs_bubblewrap
def test_fork_bomb_fails_at_the_task_limit(run_module, monkeypatch):
    monkeypatch.setattr("course.grading.sandbox.os.cpu_count", lambda: 2)
    code = (
        "import os, time\n"
        "count = 0\n"
        "try:\n"
        "    for _ in range(1000):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(600)\n"
        "        count += 1\n"
        "except BlockingIOError:\n"
        "    print(count, flush=True)\n"
        "time.sleep(600)\n"
    )
    sandbox = run_module(code)
    if sandbox.task_limit.folder is None:
        pytest.skip("this user may not create a cgroup")
    max_tasks = sandbox.limits.processes * 10
    assert max_tasks - 10 < int(sandbox.process.stdout.readline()) < max_tasks
    assert sandbox.task_limit.folder.exists()
    sandbox.close()
    assert not sandbox.task_limit.folder.exists()


@pytest.mark.slow
@needs_bubblewrap
def test_time_spent_waiting_for_a_processor_does_not_count(run_module):
    busy = "import time\nwhile time.process_time() < 2:\n    pass\ntime.sleep(600)"
    sandboxes = [run_module(busy) for _ in range(4 * (os.cpu_count() or 1))]
    start = time.monotonic()
    wall = None
    while time.monotonic() - start < 20:
        seconds, wall = sandboxes[-1].seconds(), time.monotonic() - start
        time.sleep(0.1)
        if wall > 6:
            break
    assert seconds < 0.7 * wall


@needs_bubblewrap
def test_the_labs_checks_are_not_in_the_sandbox(run_module):
    checks = Path(helpers.__file__).parent / "checks" / "lab_01"
    code = (
        "import json, pathlib\n"
        f"found = pathlib.Path({str(checks)!r})\n"
        "print(json.dumps([p.name for p in found.iterdir()]))"
    )
    checks.mkdir(parents=True)
    (checks / "exercise_1.py").write_text("")
    assert json.loads(run_module(code).process.stdout.read()) == []
