"""A forked kernel is as clean as one that starts anew, and ends as one does."""

import os
import threading
import time
from pathlib import Path

import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from course.execution import warm_kernels
from course.execution.kernels import ThisPython, kernel_class, kill_kernels
from course.execution.warm_kernels import WarmKernels, modules_of

pytestmark = pytest.mark.skipif(not warm_kernels.possible(), reason="forks only on Linux")


@pytest.fixture(scope="module")
def warm():
    server = WarmKernels(["numpy"])
    yield server
    server.close()


@pytest.fixture
def run(warm, cells, tmp_path):
    """Executes code in cells and returns what each showed as text."""

    def execute(*sources, kernels=None, **further):
        notebook = cells.notebook(*(cells.code(source, count=None) for source in sources))
        client = NotebookClient(
            notebook,
            kernel_manager_class=kernels or kernel_class(warm=warm, **further),
            resources={"metadata": {"path": str(tmp_path)}},
            timeout=60,
        )
        client.execute()
        return [
            "".join(o.get("text") or o.data["text/plain"] for o in cell.outputs)
            for cell in notebook.cells
        ]

    return execute


def server_process(warm):
    return psutil.Process(warm._process.pid)


def test_a_kernel_is_a_process_of_the_servers_that_has_the_imports(warm, run):
    shown, has = run("import os, sys; os.getppid()", "'numpy' in sys.modules")
    assert int(shown) == server_process(warm).pid
    assert has == "True"
    (fresh,) = run("import sys; 'numpy' in sys.modules", kernels=ThisPython)
    assert fresh == "False"


def test_every_kernel_has_its_own_random_state(run):
    code = "import random, numpy, uuid; (random.random(), numpy.random.rand(), uuid.uuid4().hex)"
    one, other = eval(run(code)[0]), eval(run(code)[0])
    assert not set(one) & set(other)


def test_nothing_of_one_kernel_is_left_to_the_next(run):
    run("import numpy, os; numpy.mine = 1; os.environ['MINE'] = '1'; mine = 1; os.chdir('/')")
    code = "import numpy, os; (hasattr(numpy, 'mine'), 'MINE' in os.environ, 'mine' in dir())"
    assert run(code) == ["(False, False, False)"]


def test_a_kernel_works_in_its_folder_with_its_environment(run, tmp_path):
    code = "import os; (os.getcwd(), os.environ['COURSE_X'], '' in __import__('sys').path)"
    assert eval(run(code, environment={"COURSE_X": "7"})[0]) == (str(tmp_path), "7", True)


def test_a_kernel_leads_a_session_and_reads_nothing(run):
    leads, reads = run(
        "import os; (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())",
        "os.readlink('/proc/self/fd/0')",
    )
    assert (leads, reads) == ("(True, True)", "'/dev/null'")


def test_a_file_that_was_left_open_is_written_when_the_kernel_ends(run, tmp_path):
    run("file = open('left.txt', 'w'); file.write('all of it')")
    assert (tmp_path / "left.txt").read_text() == "all of it"


def test_what_is_registered_for_the_end_is_done(run, tmp_path):
    run("import atexit, pathlib; atexit.register(pathlib.Path('end.txt').write_text, 'done')")
    assert (tmp_path / "end.txt").read_text() == "done"


def test_processes_of_the_notebook_work(run):
    call = "import subprocess; subprocess.run(['echo', 'hello'], capture_output=True).stdout"
    pool = "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
    assert run(call, f"{pool}    print(pool.map(abs, [-1, -2]))") == ["b'hello\\n'", "[1, 2]\n"]


def test_a_kernel_that_dies_is_noticed_at_once(run):
    begun = time.monotonic()
    with pytest.raises(DeadKernelError):
        run("import os; os._exit(3)")
    assert time.monotonic() - begun < 15


WAIT = """\
import os, time
while not os.path.exists("go"):
    time.sleep(0.05)"""


def test_the_kernels_of_one_group_can_be_killed_and_no_others(warm, run, tmp_path):
    outcomes = {}

    def hang(group):
        try:
            run(f"open('{group}', 'w').close()", WAIT, group=group)
            outcomes[group] = "ended"
        except DeadKernelError:
            outcomes[group] = "killed"

    threads = [threading.Thread(target=hang, args=[group]) for group in ("mine", "theirs")]
    for thread in threads:
        thread.start()
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.05)
    kill_kernels("mine")
    threads[0].join()
    (tmp_path / "go").touch()
    for thread in threads:
        thread.join()
    assert outcomes == {"mine": "killed", "theirs": "ended"}


def test_without_a_server_a_kernel_starts_anew(cells, run):
    gone = WarmKernels([])
    gone.close()
    assert run("1 + 1", kernels=kernel_class(warm=gone)) == ["2"]


def test_the_server_ends_its_kernels_when_whoever_asked_is_gone(warm, tmp_path):
    connection = tmp_path / "kernel.json"
    kernel = warm.fork(["-f", str(connection)], str(tmp_path), dict(os.environ))
    process = psutil.Process(kernel.pid)
    kernel._channel.close()
    gone, _ = psutil.wait_procs([process], timeout=5)
    assert gone


def test_the_server_ends_with_its_owner(tmp_path):
    server = WarmKernels([])
    kernel = server.fork(["-f", str(tmp_path / "k.json")], str(tmp_path), dict(os.environ))
    processes = [psutil.Process(kernel.pid), server_process(server)]
    server._process.stdin.close()
    server._process.wait(timeout=10)
    psutil.wait_procs(processes, timeout=5)
    assert not any(process.is_running() for process in processes)
    assert not Path(server.address).exists()
    server.close()


def test_only_what_is_safe_is_imported_beforehand(cells):
    notebook = cells.notebook(
        cells.code("import torch.nn as nn\nimport pandas\nfrom helpers import lesson"),
        cells.code("%matplotlib inline\nimport numpy"),
        cells.code("from matplotlib import pyplot\nfrom .local import x"),
        cells.text("import tqdm"),
    )
    found = modules_of([notebook])
    assert {"torch.nn", "helpers.lesson", "matplotlib"} <= set(found)
    assert not {"pandas", "numpy", "tqdm", "local"} & set(found)


TRAINING = """\
import torch
from torch import nn
torch.set_num_threads(2)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 10))
X, y = torch.rand(64, 3, 32, 32), torch.arange(64) % 10
for step in range(3):
    loss = nn.functional.cross_entropy(net(X), y)
    # No optimizer: torch's takes two seconds to import more.
    with torch.no_grad():
        for parameter, slope in zip(net.parameters(), torch.autograd.grad(loss, net.parameters())):
            parameter -= 0.1 * slope
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
def test_training_on_two_threads_and_figures_are_a_fresh_kernels(cells, tmp_path):
    sources = [TRAINING, FIGURE, "undefined"]
    shown = []
    template = cells.notebook(*(cells.code(source, count=None) for source in sources))
    server = WarmKernels(modules_of([template]))
    for kernels in (kernel_class(warm=server), ThisPython):
        notebook = cells.notebook(*(cells.code(source, count=None) for source in sources))
        client = NotebookClient(
            notebook,
            kernel_manager_class=kernels,
            allow_errors=True,
            timeout=120,
            resources={"metadata": {"path": str(tmp_path)}},
        )
        client.execute()
        shown.append([cell.outputs for cell in notebook.cells])
    server.close()
    assert shown[0] == shown[1]
    assert "image/png" in shown[0][1][0].data
