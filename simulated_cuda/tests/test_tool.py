"""The pytest plugin, the `python -m simulated_cuda` command, and the search for missing moves."""

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from simulated_cuda import missing_moves, settings

ROOT = Path(__file__).parents[2]


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_pytest(folder, *arguments):
    return run(folder, "-m", "pytest", "-p", "simulated_cuda.pytest_plugin", "-q", *arguments)


TESTS = """
import os, subprocess, sys
import pytest, torch

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

@needs_gpu
def test_devices():
    assert torch.cuda.device_count() == 2
    torch.cuda.set_device(1)
    torch.cuda.set_per_process_memory_fraction(0.5)

@needs_gpu
def test_devices_are_reset():
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_per_process_memory_fraction(1) == 1
    assert torch.cuda.mem_get_info(1)[1] == 16 << 30

@needs_gpu
def test_mixed_devices():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="cuda") + torch.ones(2)

@needs_gpu
def test_child_process():
    program = "import torch; print(torch.ones(1, device='cuda:1').device)"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert child.stdout == "cuda:1\\n", child.stderr

@pytest.mark.simulated_cuda(gpus=3, memory="1GiB")
def test_marked():
    assert torch.cuda.device_count() == 3

@pytest.mark.simulated_cuda(no_waits=True)
def test_waits():
    x = torch.ones(3, device="cuda")
    assert x.sum() > 0

@pytest.mark.simulated_cuda(no_waits=True)
def test_does_not_wait():
    torch.ones(3, device="cuda").sum()

@pytest.mark.simulated_cuda(fits="1GiB")
def test_fits():
    torch.ones(2**20, device="cuda").sum()

@pytest.mark.simulated_cuda(fits="1GiB")
def test_does_not_fit():
    [torch.empty(2**27, device="cuda") for _ in range(3)]

def test_fixture(simulated_gpu):
    assert torch.ones(1, device=simulated_gpu).is_cuda
"""


@pytest.mark.slow
def test_option_simulates_gpus_before_collection_and_in_child_processes(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    result = run_pytest(tmp_path, "--simulated-cuda=2", "--simulated-cuda-memory=16GiB", "-n", "2")
    assert "2 failed, 8 passed" in result.stdout, result.stdout + result.stderr


def test_without_option_only_marked_tests_have_gpus_and_their_conditions_apply(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    result = run_pytest(tmp_path)
    assert "2 failed, 4 passed, 4 skipped" in result.stdout, result.stdout + result.stderr
    assert ": assert x.sum() > 0" in result.stdout
    assert "does not fit in 1GiB." in result.stdout
    assert "1024.00 MiB is allocated by PyTorch" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('fits="16 GB"', "test_it: '16 GB' is not a size; write for example 16GiB"),
        ("no_wait=True", "unexpected keyword argument 'no_wait'. Options: ('gpus', 'memory', 'no"),
    ],
)
def test_invalid_marker_is_a_usage_error(tmp_path, options, message):
    source = f"import pytest\n@pytest.mark.simulated_cuda({options})\ndef test_it(): pass\n"
    (tmp_path / "test_it.py").write_text(source)
    result = run_pytest(tmp_path)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr + result.stdout


def test_marked_test_that_uses_no_gpu_fails(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest, torch\n"
        "@pytest.mark.simulated_cuda(no_waits=True)\ndef test_cpu(): torch.ones(1).item()\n"
    )
    assert "Nothing was on a simulated GPU" in run_pytest(tmp_path).stdout


def test_simulation_started_by_a_test_is_not_reset(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import torch, simulated_cuda\n"
        "def test_enables():\n    simulated_cuda.enable(2)\n    torch.cuda.set_device(1)\n"
        "def test_continues():\n    assert torch.cuda.current_device() == 1\n"
    )
    result = run_pytest(tmp_path)
    assert "2 passed" in result.stdout, result.stdout + result.stderr


def test_course_and_package_declare_the_same_plugin():
    declared = [
        tomllib.loads(path.read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
        for path in (ROOT / "pyproject.toml", ROOT / "simulated_cuda" / "pyproject.toml")
    ]
    assert declared[0] == declared[1]
    (name,) = declared[0].values()
    assert hasattr(importlib.import_module(name), "pytest_addoption")


@pytest.mark.slow
def test_path_after_option_is_not_parsed_as_its_value(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(
        "import torch\nassert torch.cuda.is_available()\n"
    )
    (tmp_path / "tests" / "test_it.py").write_text("def test_nothing():\n    pass\n")
    result = run_pytest(tmp_path, "-v", "--simulated-cuda", "tests")
    assert "1 passed" in result.stdout, result.stdout + result.stderr
    assert "CUDA: 1 simulated GPU with 8 GiB of memory" in result.stdout


def test_invalid_size_is_a_usage_error(tmp_path):
    result = run_pytest(tmp_path, "--simulated-cuda=1", "--simulated-cuda-memory=lots")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "'lots' is not a size; write for example 16GiB" in result.stderr


PROGRAM = """
import subprocess, sys
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

COUNT = "import torch; print(torch.cuda.device_count(), torch.cuda.mem_get_info()[1] >> 30)"

def work(rank):
    print(f"child {rank} {torch.ones(1, device=f'cuda:{rank}').device}\\n", end="", flush=True)

class Devices(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return str(torch.ones(1, device=f"cuda:{index}").device)

if __name__ == "__main__":
    print(sys.argv[1:])
    exec(COUNT)
    print(subprocess.check_output([sys.executable, "-c", COUNT], text=True), end="")
    workers = DataLoader(Devices(), num_workers=2, multiprocessing_context="spawn")
    print(*(device for (device,) in workers), flush=True)
    mp.spawn(work, nprocs=2)
"""


@pytest.mark.slow
def test_command_simulates_gpus_in_program_and_every_kind_of_child_process(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    command = ("-m", "simulated_cuda", "--gpus", "2", "--memory", "16GiB", "train.py", "--lr", "1")
    *lines, first, second = run(tmp_path, *command).stdout.splitlines()
    assert lines == ["['--lr', '1']", "2 16", "2 16", "cuda:0 cuda:1"]
    assert sorted([first, second]) == ["child 0 cuda:0", "child 1 cuda:1"]


DISTRIBUTED = """
import os
import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("gloo")
total = torch.full((1,), rank + 1.0, device="cuda")
dist.all_reduce(total)
with open(f"{rank}.txt", "w") as file:
    print(torch.cuda.device_count(), total.device, total.item(), file=file)
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_command_simulates_gpus_under_torchrun(tmp_path):
    (tmp_path / "train.py").write_text(DISTRIBUTED)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    result = run(tmp_path, "-m", "simulated_cuda", "--gpus", "2", *launcher, "train.py")
    assert result.returncode == 0, result.stderr
    outputs = [(tmp_path / f"{rank}.txt").read_text() for rank in range(2)]
    assert outputs == ["2 cuda:0 3.0\n", "2 cuda:1 3.0\n"]


def test_command_reports_missing_program(tmp_path):
    result = run(tmp_path, "-m", "simulated_cuda", "missing.py")
    assert result.returncode == 2
    assert "there is no file 'missing.py'" in result.stderr


@pytest.mark.parametrize(
    ("text", "nbytes"), [("16GiB", 16 << 30), ("512 mib", 512 << 20), ("1000", 1000)]
)
def test_parse_size_returns_bytes(text, nbytes):
    assert settings.parse_size(text) == nbytes


SOURCE = """
import torch

def covered(x, device):
    return torch.zeros(2, device=device) + x.to(device, non_blocking=True)

def twice(x, device):
    x = x.to(device)
    return x.to(device)

def uncovered(x, device):
    return x.to(device).to('cpu')
"""


def moves_of(tmp_path, source):
    """Return the moves in a module, after removing each and all of them."""
    path = tmp_path / "module.py"
    path.write_text(source)
    moves = missing_moves.moves_in(path)
    for removed in (*([move] for move in moves), moves):
        compile(missing_moves.without(removed, source.encode()), "mutant", "exec")
    return moves


DEVICES = """
dev = torch.device("cuda" if torch.cuda.is_available() else "cpu")
spot = "cpu"
parser.add_argument("--run-on", default="cuda:0")
options = parser.parse_args()
place = options.run_on
def pick():
    return place
class Trainer:
    def __init__(self, net, where: torch.device, target="cuda"):
        self.home = where or target
chosen: str = pick()
best = torch.accelerator.current_accelerator()
"""


@pytest.mark.parametrize(
    ("statement", "without_move"),
    [
        *((f"x.to({device})", "x") for device in (
            "dev", "spot", "place", "options.run_on", "pick()", "where", "target", "self.home",
            "chosen", "best", "try_gpu()", "f'cuda:{i}'", "'cuda:' + str(i)", "devices[0]",
            "config['device']", "args.device", "y.device", "rank", "torch.device('cuda', 1)",
        )),
        ("x.to(dev, torch.half)", "x.to(torch.half)"),
        ("x.to(dev, torch.half, True)", "x.to(torch.half, True)"),
        ("x.to(dev, True)", "x"),
        ("x.to(device=i, dtype=torch.half)", "x.to(dtype=torch.half)"),
        ("x.to(dtype=torch.half, device=spot)", "x.to(dtype=torch.half)"),
        ("(a + b).type_as(y[0])", "(a + b).to((y[0]).dtype)"),
        ("torch.load(file, map_location=spot)", "torch.load(file)"),
        ("torch.load(file, map_location='cpu', mmap=True)", "torch.load(file, mmap=True)"),
        ("torch.ones(2, device=i)", "torch.ones(2)"),
        ("torch.ones(2, device=i, dtype=torch.long)", "torch.ones(2, dtype=torch.long)"),
        ("net(x).cuda()", "net(x)"),
        ("x.to(dev, non_blocking=True)", "x"),
        ("with torch.device(i): pass", "with __import__('contextlib').nullcontext(): pass"),
        ("with dev, lock: pass", "with __import__('contextlib').nullcontext(), lock: pass"),
    ],
)  # fmt: skip
def test_each_form_of_a_move_is_removed(tmp_path, statement, without_move):
    source = DEVICES + statement
    moves = [move for move in moves_of(tmp_path, source) if move.line == source.count("\n") + 1]
    assert [move.reason for move in moves] == [""]
    assert missing_moves.without(moves, source.encode()).decode() == DEVICES + without_move


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("x.to(other)", "other may be a device, a dtype or a tensor"),
        ("x.to('cpu')", "a move to the CPU"),
        ("torch.ones(2, device=torch.device('cpu'))", "a move to the CPU"),
        ("torch.Generator(device=dev)", "the call creates no tensor"),
        *((f"x.to({dtype})", None) for dtype in ("torch.half", "dtype", "y.dtype", "'csv'")),
    ],
)
def test_text_that_is_not_removed_is_listed_with_a_reason(tmp_path, statement, reason):
    assert [move.reason for move in moves_of(tmp_path, statement)] == ([reason] if reason else [])


@pytest.mark.slow
def test_missing_moves_lists_removals_that_fail_no_test(tmp_path):
    (tmp_path / "module.py").write_text(SOURCE)
    (tmp_path / "test_module.py").write_text(
        "import torch\nfrom module import covered, twice\n\ndef test_covered():\n"
        "    assert covered(torch.ones(2), 'cuda').is_cuda\n"
        "    assert twice(torch.ones(2), 'cuda').is_cuda\n"
    )
    result = run(tmp_path, "-m", "simulated_cuda", "--find-missing-moves", "module.py", "--", "-q")
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.startswith("Moves to remove: 5. The tests must first pass with all.\n")
    _, _, report = result.stdout.partition("2 of 5 removals were detected by a test.")
    assert "module.py:8: .to(device) and module.py:9: .to(device)\n" in report
    assert "module.py:12: .to('cpu'): a move to the CPU\n" in report
    assert report.rstrip().endswith("without them:\n  module.py:12: .to(device)")


@pytest.mark.slow
def test_wheel_works_in_an_empty_folder(tmp_path):
    source, site, empty = (tmp_path / name for name in ("simulated_cuda", "site", "empty"))
    shutil.copytree(ROOT / "simulated_cuda", source)
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path)]
    result = run(tmp_path, *command, str(source))
    assert result.returncode == 0, result.stderr
    shutil.rmtree(source)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    assert not list(site.rglob("tests"))
    empty.mkdir()
    shutil.copy(ROOT / "simulated_cuda" / "tests" / "wheel_check.py", empty / "test_wheel.py")
    command = [sys.executable, "-m", "pytest", "-q", "--simulated-cuda", "test_wheel.py"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    result = subprocess.run(
        command, cwd=empty, env=environment, capture_output=True, text=True, check=False
    )
    assert "3 passed" in result.stdout, result.stdout + result.stderr
