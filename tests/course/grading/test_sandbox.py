"""Code in a sandbox has limited access, and its exit and errors are reported."""

import json
import os
import sys
import tempfile
import time
import venv
from pathlib import Path

import psutil
import pytest

import helpers
from course.grading import sandbox as sandbox_module
from course.grading.limits import SandboxLimits, StopReason
from course.grading.sandbox import Sandbox, bubblewrap, seccomp_filter

ISOLATED = bubblewrap() is not None
needs_bubblewrap = pytest.mark.skipif(not ISOLATED, reason="bubblewrap does not work here")
# These modules run in the sandbox; `failures` lists what was denied.
PRELUDE = """\
import ctypes, json, mmap, os, socket, sys, time
from pathlib import Path
failures = []
def attempt(name, call):
    try:
        if call() == -1:
            failures.append(name)
    except OSError:
        failures.append(name)
libc = ctypes.CDLL(None)
"""
CHANGE_THE_PACKAGE = """
own = Path(__file__).parent
attempt("new file", lambda: (own / "mine.py").write_text(""))
attempt("new file above", lambda: (own.parent / "mine.py").write_text(""))
for n, folder in enumerate((own, own.parent, own.parents[1])):
    attempt(f"rename {n}", lambda: folder.rename(folder.with_name("other")))
attempt("delete Python", lambda: Path(sys.executable).unlink())
Path("/tmp/note").write_text("/tmp is writable")
print(json.dumps([str(own), sys.prefix, failures]))
"""
GAIN_PRIVILEGES = """
lines = Path("/proc/self/status").read_text().splitlines()
fields = ("CapEff", "CapPrm", "CapBnd")
capabilities = [line.split()[1] for line in lines if line.startswith(fields)]
attempt("remount", lambda: libc.mount(b"none", b"/usr", b"", 32 | 4096, None))
attempt("new user namespace", lambda: libc.unshare(0x10000000))
attempt("write to /dev", lambda: Path("/dev/file").write_text("x"))
attempt("100 MB in /dev/shm", lambda: Path("/dev/shm/file").write_bytes(bytes(10**8)))
attempt("AF_VSOCK", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("AF_UNIX", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
attempt("io_uring", lambda: libc.syscall(425, 1, 0))
attempt("memory file", lambda: os.memfd_create("x"))
attempt("shared memory", lambda: libc.shmget(0, 1 << 20, 0o1600))
print(json.dumps([os.getuid(), set(capabilities) == {"0" * 16}, failures]))
"""


@pytest.fixture
def run_module(tmp_path, monkeypatch):
    """A function that runs code as a module of `helpers` in a sandbox and returns the sandbox."""
    package = tmp_path / "helpers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(sandbox_module, "_course_folders", lambda: {package})
    sandboxes = []

    def run(code, *, isolated=ISOLATED, **limits):
        Path(helpers.__file__).with_name("probe.py").write_text(PRELUDE + code)
        sandbox = Sandbox("helpers.probe", SandboxLimits(**limits), isolated=isolated)
        sandboxes.append(sandbox)
        return sandbox

    yield run
    for sandbox in sandboxes:
        sandbox.close()


@needs_bubblewrap
def test_course_and_python_under_tmp_are_visible_and_read_only(run_module, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        package, python = Path(folder, "deep/course/helpers"), Path(folder, "deep/venv")
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        venv.create(python, symlinks=True)
        monkeypatch.setattr(helpers, "__file__", str(package / "__init__.py"))
        monkeypatch.setattr(sandbox_module, "_course_folders", lambda: {package})
        monkeypatch.setattr(sys, "executable", str(python / "bin" / "python"))
        for name in ("prefix", "exec_prefix"):
            monkeypatch.setattr(sys, name, str(python))
        output = run_module(CHANGE_THE_PACKAGE).process.stdout.read()
        seen_package, seen_python, failures = json.loads(output)
        assert (seen_package, seen_python) == (str(package), str(python))
        assert len(failures) == 6
        assert sorted(p.name for p in package.iterdir()) == ["__init__.py", "probe.py"]


def test_packages_of_the_user_and_linked_folders_are_visible(monkeypatch, tmp_path):
    (tmp_path / "python-3.11.7").mkdir()
    (tmp_path / "python-3.11").symlink_to("python-3.11.7")
    (tmp_path / "user").mkdir()
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python-3.11"))
    monkeypatch.setattr(sandbox_module.site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(sandbox_module.site, "getusersitepackages", lambda: str(tmp_path / "user"))
    monkeypatch.setattr(sandbox_module.site, "getuserbase", lambda: "/somewhere")
    expected = {tmp_path / name for name in ("python-3.11", "python-3.11.7", "user")}
    assert expected <= set(sandbox_module.own_folders())
    assert sandbox_module.environment()["PYTHONUSERBASE"] == "/somewhere"


def test_last_line_of_standard_error_is_reported_and_no_file_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = Sandbox("no_such_module_anywhere", SandboxLimits(), isolated=False)
    # A grader that is killed now leaves the working folder, but no other files.
    assert all(path.is_dir() for path in tmp_path.iterdir())
    sandbox.process.wait()
    assert "No module named no_such_module_anywhere" in sandbox.last_error()
    sandbox.close()
    assert not list(tmp_path.iterdir())


@needs_bubblewrap
def test_sandboxed_code_runs_as_nobody_without_capabilities(run_module):
    uid, has_no_capabilities, failures = json.loads(
        run_module(GAIN_PRIVILEGES).process.stdout.read()
    )
    assert (uid, has_no_capabilities) == (65534, True)
    denied = ["remount", "new user namespace", "write to /dev", "100 MB in /dev/shm"]
    if seccomp_filter():
        denied += ["AF_VSOCK", "io_uring", "memory file", "shared memory"]
    assert failures == denied


@pytest.mark.parametrize("isolated", [pytest.param(True, marks=needs_bubblewrap), False])
def test_files_that_code_can_open_are_bounded(run_module, isolated):
    file = "/proc/1/fd/2" if isolated else "/dev/stderr"
    code = f"out = open({file!r}, 'wb', buffering=0)\nfor _ in range(99): out.write(bytes(1 << 20))"
    sandbox = run_module(code, isolated=isolated, disk_bytes=8 << 20)
    sandbox.process.wait()
    assert os.fstat(sandbox._errors.fileno()).st_size == 8 << 20


def test_memory_beyond_the_limit_is_reported(run_module):
    code = "kept = [bytearray(os.urandom(1 << 20)) for _ in range(1000)]\ntime.sleep(600)"
    sandbox = run_module(code, isolated=False, memory_bytes=100 << 20)
    stop = None
    while stop is None:
        is_running = sandbox.process.poll() is None
        stop = sandbox.exceeded_limit() if is_running else sandbox.exit_reason()
    assert stop.reason in (StopReason.MEMORY, StopReason.KILLED)
    assert "used more than 0.1 GiB of memory" in stop.text


@needs_bubblewrap
def test_memory_that_no_process_has_mapped_counts(run_module):
    code = (
        "pairs = [socket.socketpair() for _ in range(400)]\n"
        "for first, _ in pairs:\n    first.setblocking(False)\n"
        "    first.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)\n"
        "    attempt('', lambda: [first.send(bytes(4096)) for _ in range(1000)])\n"
        "print('alive', flush=True)\ntime.sleep(600)"
    )
    sandbox = run_module(code, memory_bytes=50 << 20)
    if not any(list(folder.glob("memory.*")) for folder in sandbox.control_groups.folders):
        pytest.skip("this user may not create a cgroup for memory")
    assert sandbox.process.stdout.read() == b""
    assert sandbox.exit_reason().reason is StopReason.KILLED


@pytest.mark.parametrize(
    ("code", "reason", "text"),
    [
        ("os._exit(0)", StopReason.ENDED, "ended the process with exit status 0"),
        ("os.kill(os.getpid(), 11)", StopReason.ENDED, "crashed Python (signal SIG"),
        ("os.kill(os.getpid(), 9)", StopReason.KILLED, "was killed (signal SIGKILL)"),
    ],
)
def test_exit_reason_is_read_from_the_exit_status(run_module, code, reason, text):
    stop = run_module(code).exit_reason()
    assert stop.reason is reason
    assert stop.text.startswith(text)


@pytest.mark.skipif(not psutil.LINUX, reason="needs the environment of other processes")
def test_ending_a_sandbox_without_bubblewrap_kills_detached_processes(run_module):
    code = (
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
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie":
        time.sleep(0.1)


@needs_bubblewrap
def test_fork_bomb_fails_at_the_task_limit(run_module, monkeypatch):
    monkeypatch.setattr("course.grading.sandbox.os.cpu_count", lambda: 2)
    code = (
        "count = 0\n"
        "try:\n"
        "    while os.fork():\n        count += 1\n"
        "except BlockingIOError:\n    print(count, flush=True)\n"
        "time.sleep(600)\n"
    )
    sandbox = run_module(code)
    folders = sandbox.control_groups.folders
    if not any((folder / "pids.max").exists() for folder in folders):
        pytest.skip("this user may not create a cgroup for processes")
    max_tasks = sandbox.limits.processes * 10
    assert max_tasks - 10 < int(sandbox.process.stdout.readline()) < max_tasks
    sandbox.close()
    assert not any(folder.exists() for folder in folders)


@pytest.mark.slow
@needs_bubblewrap
def test_time_spent_waiting_for_a_processor_does_not_count(run_module):
    busy = "while time.process_time() < 60:\n    pass"
    sandboxes = [run_module(busy) for _ in range(4 * (os.cpu_count() or 1))]
    start = time.monotonic()
    while (wall := time.monotonic() - start) < 6:
        seconds = sandboxes[-1].seconds()
        time.sleep(0.1)
    assert seconds < 0.7 * wall


@needs_bubblewrap
def test_the_labs_checks_are_not_in_the_sandbox(run_module):
    checks = Path(helpers.__file__).parent / "checks" / "lab_01"
    checks.mkdir(parents=True)
    (checks / "exercise_1.py").write_text("")
    code = f"print(json.dumps([p.name for p in Path({str(checks)!r}).iterdir()]))"
    assert json.loads(run_module(code).process.stdout.read()) == []
