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

from course.execution.kernels import CurrentPythonKernelManager, Kernels, preloadable_modules

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
        client = NotebookClient(
            notebook,
            km=manager or kernels.make_manager(environment),
            resources={"metadata": {"path": str(tmp_path)}},
            timeout=60,
        )
        client.execute(cleanup_kc=True)
        return [
            "".join(o.get("text") or o.data["text/plain"] for o in cell.outputs)
            for cell in notebook.cells
        ]

    return execute


def test_forked_kernel_has_the_preloaded_modules_and_descends_from_the_server(forking_kernels, run):
    list_parents = "import psutil, sys; [parent.pid for parent in psutil.Process().parents()]"
    parent_pids, imported = run(list_parents, "'numpy' in sys.modules")
    assert forking_kernels.server.pid in eval(parent_pids)
    assert imported == "True"


def test_kernel_without_preloading_is_a_new_python_process(run):
    fresh = Kernels()
    assert run("import sys; 'numpy' in sys.modules", kernels=fresh) == ["False"]
    fresh.close()


def test_kernel_is_connected_through_socket_files_that_are_removed(run):
    path, count = run(
        "from ipykernel.kernelapp import IPKernelApp as app; app.instance().ip",
        "from glob import glob; len(glob(app.instance().ip + '-*'))",
    )
    assert count == "5"
    assert not list(Path(eval(path)).parent.glob(f"{Path(eval(path)).name}*"))


def test_kernels_do_not_share_random_state(run):
    code = "import random, numpy, uuid; (random.random(), numpy.random.rand(), uuid.uuid4().hex)"
    first, second = eval(run(code)[0]), eval(run(code)[0])
    assert not set(first) & set(second)


def test_kernel_has_no_state_from_an_earlier_one(run):
    run("import numpy, os; numpy.mine = 1; os.environ['MINE'] = '1'; mine = 1; os.chdir('/')")
    code = "import numpy, os; (hasattr(numpy, 'mine'), 'MINE' in os.environ, 'mine' in dir())"
    assert run(code) == ["(False, False, False)"]


def test_kernel_has_its_folder_and_environment(run, tmp_path):
    code = "import os; (os.getcwd(), os.environ['COURSE_X'], '' in __import__('sys').path)"
    assert eval(run(code, COURSE_X="7")[0]) == (str(tmp_path), "7", True)


def test_kernel_is_session_leader_with_null_stdin(run):
    is_leader, stdin = run(
        "import os; (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())",
        "os.readlink('/proc/self/fd/0')",
    )
    assert (is_leader, stdin) == ("(True, True)", "'/dev/null'")


def test_open_file_is_flushed_when_the_kernel_ends(run, tmp_path):
    run("file = open('left.txt', 'w'); file.write('all of it')")
    assert (tmp_path / "left.txt").read_text() == "all of it"


def test_atexit_functions_run_when_the_kernel_ends(run, tmp_path):
    run("import atexit, pathlib; atexit.register(pathlib.Path('end.txt').write_text, 'done')")
    assert (tmp_path / "end.txt").read_text() == "done"


CONTROL_THREAD_AT_EXIT = """\
import atexit, pathlib
from ipykernel.kernelapp import IPKernelApp
def save(control=IPKernelApp.instance().control_thread, file=pathlib.Path("alive.txt")):
    file.write_text(str(control.is_alive()))
atexit.register(save)"""


def test_control_thread_ends_before_exit_functions_close_its_channels(run, tmp_path):
    run(CONTROL_THREAD_AT_EXIT)
    assert (tmp_path / "alive.txt").read_text() == "False"


def test_notebook_can_start_processes(run):
    call = "import subprocess; subprocess.run(['echo', 'hello'], capture_output=True).stdout"
    pool = "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
    assert run(call, f"{pool}    print(pool.map(abs, [-1, -2]))") == ["b'hello\\n'", "[1, 2]\n"]


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


WAIT = """\
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)"""


@pytest.mark.parametrize("modules", [[], None], ids=["forked", "fresh"])
def test_kill_all_kills_the_kernels_of_one_batch_only(modules, forking_kernels, run, tmp_path):
    outcomes = {}
    batches = {"mine": Kernels(modules), "other": forking_kernels}

    def hang(name):
        try:
            run(f"open('{name}', 'w').close()", WAIT, kernels=batches[name])
            outcomes[name] = "finished"
        except DeadKernelError:
            outcomes[name] = "killed"

    threads = [threading.Thread(target=hang, args=[name]) for name in batches]
    for thread in threads:
        thread.start()
    while not all((tmp_path / name).exists() for name in batches):
        time.sleep(0.05)
    batches["mine"].kill_all()
    threads[0].join()
    (tmp_path / "go").touch()
    threads[1].join()
    batches["mine"].close()
    assert outcomes == {"mine": "killed", "other": "finished"}


def test_kernel_that_starts_after_kill_all_is_killed(run):
    kernels = Kernels()
    kernels.kill_all()
    with pytest.raises((DeadKernelError, RuntimeError), match="died"):
        run("1", kernels=kernels)
    kernels.close()


def test_kernel_starts_as_a_new_process_if_there_is_no_server(run):
    kernels = Kernels([])
    kernels.server.kill()
    kernels.server.wait()
    assert run("1 + 1", kernels=kernels) == ["2"]


def start(kernels, folder):
    """Start a kernel without a manager; return it and all child processes of the server."""
    kernel = kernels.fork(["-f", str(folder / "k.json")], str(folder), dict(os.environ))
    return kernel, psutil.Process(kernels.server.pid).children(recursive=True)


def test_kernel_ends_when_its_owner_closes_the_channel(forking_kernels, tmp_path):
    kernel, _ = start(forking_kernels, tmp_path)
    process = psutil.Process(kernel.pid)
    kernel._channel.close()
    ended, _ = psutil.wait_procs([process], timeout=60)
    assert ended


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


TRAINING = """\
import torch
from torch import nn
torch.set_num_threads(2)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 10))
X, y = torch.rand(64, 3, 32, 32), torch.arange(64) % 10
for step in range(3):
    loss = nn.functional.cross_entropy(net(X), y)
    # No optimizer: importing one takes two seconds.
    with torch.no_grad():
        for parameter, grad in zip(net.parameters(), torch.autograd.grad(loss, net.parameters())):
            parameter -= 0.1 * grad
(loss.item(), torch.initial_seed(), torch.get_num_threads())"""
FIGURE = """\
import numpy as np
from matplotlib import pyplot as plt
rng = np.random.default_rng(0)
a = rng.random((300, 300))
plt.plot((a @ a).sum(0))
plt.title("sums")
plt.show()"""


@pytest.mark.slow
def test_training_and_figures_equal_those_of_a_new_process(cells, tmp_path):
    sources = [TRAINING, FIGURE, "undefined"]
    outputs = []
    template = cells.notebook(*(cells.code(source, count=None) for source in sources))
    forking_kernels = Kernels(preloadable_modules([template]))
    for manager in (forking_kernels.make_manager(), CurrentPythonKernelManager()):
        notebook = cells.notebook(*(cells.code(source, count=None) for source in sources))
        client = NotebookClient(
            notebook,
            km=manager,
            allow_errors=True,
            timeout=120,
            resources={"metadata": {"path": str(tmp_path)}},
        )
        client.execute(cleanup_kc=True)
        outputs.append([cell.outputs for cell in notebook.cells])
    forking_kernels.close()
    assert outputs[0] == outputs[1]
    assert "image/png" in outputs[0][1][0].data
