"""A forked kernel starts and ends like a new process."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from course.execution.kernels import Kernels, preloadable_modules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")


@pytest.fixture(scope="module")
def forking_kernels():
    """Kernels with numpy preloaded."""
    kernels = Kernels(["numpy"])
    yield kernels
    kernels.close()


@pytest.fixture
def run(forking_kernels, cells, tmp_path):
    """A function that executes cells and returns the text output of each."""

    def execute(*sources, manager=None, kernels=forking_kernels, **environment):
        notebook = cells.notebook(*(cells.code(source, count=None) for source in sources))
        resources = {"metadata": {"path": str(tmp_path)}}
        km = manager or kernels.make_manager(environment)
        client = NotebookClient(notebook, km=km, resources=resources, timeout=60)
        client.execute(cleanup_kc=True)
        return [
            "".join(o.get("text") or o.data["text/plain"] for o in cell.outputs)
            for cell in notebook.cells
        ]

    return execute


@pytest.mark.parametrize(("modules", "imported"), [(["numpy"], "True"), (None, "False")])
def test_kernel_descends_from_the_server_and_has_the_preloaded_modules(run, modules, imported):
    kernels = Kernels(modules)
    list_parents = "import psutil, sys; [parent.pid for parent in psutil.Process().parents()]"
    parent_pids, is_imported = run(list_parents, "'numpy' in sys.modules", kernels=kernels)
    assert (kernels.server.pid in eval(parent_pids), is_imported) == (True, imported)
    kernels.close()


def test_kernel_is_connected_through_socket_files_that_are_removed(run):
    path, count = run(
        "from ipykernel.kernelapp import IPKernelApp as app; app.instance().ip",
        "from glob import glob; len(glob(app.instance().ip + '-*'))",
    )
    assert count == "5"
    assert not list(Path(eval(path)).parent.glob(f"{Path(eval(path)).name}*"))


def test_kernels_share_neither_random_state_nor_changes(run):
    code = "import random, numpy, uuid; (random.random(), numpy.random.rand(), uuid.uuid4().hex)"
    change = "import os; numpy.mine = 1; os.environ['MINE'] = '1'; mine = 1; os.chdir('/')"
    first, second = eval(run(code, change)[0]), eval(run(code)[0])
    assert not set(first) & set(second)
    code = "import numpy, os; (hasattr(numpy, 'mine'), 'MINE' in os.environ, 'mine' in dir())"
    assert run(code) == ["(False, False, False)"]


def test_kernel_has_its_folder_environment_session_and_null_stdin(run, tmp_path):
    code = "import os; (os.getcwd(), os.environ['COURSE_X'], '' in __import__('sys').path)"
    leads_session = "os.getsid(0) == os.getpid() == os.getpgid(0)"
    stdin = "os.readlink('/proc/self/fd/0')"
    state, is_leader, stdin = run(code, leads_session, stdin, COURSE_X="7")
    assert eval(state) == (str(tmp_path), "7", True)
    assert (is_leader, stdin) == ("True", "'/dev/null'")


# A control thread that is still alive when its channels are closed would delay the exit.
AT_EXIT = """\
import atexit, pathlib
from ipykernel.kernelapp import IPKernelApp
def save(control=IPKernelApp.instance().control_thread, file=pathlib.Path("end.txt")):
    file.write_text(f"control thread alive: {control.is_alive()}")
atexit.register(save)
file = open('left.txt', 'w')
file.write('all of it')"""


def test_open_files_are_flushed_and_exit_functions_run_when_the_kernel_ends(run, tmp_path):
    run(AT_EXIT)
    assert (tmp_path / "left.txt").read_text() == "all of it"
    assert (tmp_path / "end.txt").read_text() == "control thread alive: False"


def test_dead_kernel_is_reported_with_its_exit_status(forking_kernels, run):
    manager = forking_kernels.make_manager()
    # The time limit of a cell is 60 s.
    start_time = time.monotonic()
    with pytest.raises(DeadKernelError):
        run("import os; os._exit(3)", manager=manager)
    assert time.monotonic() - start_time < 45
    assert manager.process.poll() == 3


def test_process_left_running_by_a_notebook_is_killed_and_reported(forking_kernels, run):
    manager = forking_kernels.make_manager()
    start = "subprocess.Popen(['sleep', '600'], start_new_session=True).pid"
    (pid,) = run(f"import subprocess; {start}", manager=manager)
    assert manager.process.wait() == 0
    assert manager.process.remaining_processes == ["sleep"]
    assert not psutil.pid_exists(int(pid))


@pytest.mark.parametrize("modules", [[], None], ids=["forked", "fresh"])
def test_kill_all_kills_the_kernels_of_one_batch_only(modules, forking_kernels, run, tmp_path):
    other = forking_kernels.fork(["-f", str(tmp_path / "k.json")], str(tmp_path), os.environ)
    mine = Kernels(modules)

    def kill_when_started():
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        mine.kill_all()

    thread = threading.Thread(target=kill_when_started)
    thread.start()
    with pytest.raises(DeadKernelError):
        run("open('started', 'w').close()\nimport time; time.sleep(600)", kernels=mine)
    thread.join()
    assert other.poll() is None
    other.kill()
    # A kernel that starts later is killed too.
    with pytest.raises((DeadKernelError, RuntimeError), match="died"):
        run("1", kernels=mine)
    mine.close()


def test_kernel_starts_as_a_new_process_if_there_is_no_server(run):
    kernels = Kernels([])
    kernels.server.kill()
    kernels.server.wait()
    assert run("1 + 1", kernels=kernels) == ["2"]
    kernels.close()


def test_server_and_kernels_end_with_the_process_that_started_them(tmp_path):
    code = (
        "import os, time; from course.execution.kernels import Kernels; k = Kernels([]);"
        f"s = k.fork(['-f', {str(tmp_path / 'k.json')!r}], {str(tmp_path)!r}, dict(os.environ));"
        "print(k.server.pid, s.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        processes = [psutil.Process(int(pid)) for pid in owner.stdout.readline().split()]
        owner.kill()
    assert not psutil.wait_procs(processes, timeout=60)[1]


def test_only_packages_that_survive_a_fork_are_preloaded(cells):
    notebook = cells.notebook(
        cells.code("import torch.nn as nn\nimport pandas\nfrom helpers import lesson"),
        cells.code("%matplotlib inline\nimport numpy"),
        cells.code("from matplotlib import pyplot\nfrom .local import x"),
        cells.text("import tqdm"),
    )
    modules = preloadable_modules([notebook])
    assert {"torch.nn", "helpers.lesson", "matplotlib"} <= set(modules)
    assert not {"pandas", "numpy", "tqdm", "local"} & set(modules)
