"""Switching the simulator on and off: what it changes, and that it leaves nothing behind."""

import importlib
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack

import simulated_cuda


def everything_in_torch() -> dict[str, dict[str, object]]:
    places = (
        torch, torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.nvtx, torch.accelerator,
        torch.autograd, torch.jit, torch.nested, torch.nn.parallel.comm, torch.backends.cudnn,
        torch.Tensor, torch.UntypedStorage, torch.utils._device.DeviceContext,
        torch.utils.hooks.BackwardHook, torch.autograd.graph.saved_tensors_hooks, threading.Thread,
    )  # fmt: skip
    return {repr(place): dict(vars(place)) for place in places}


def test_importing_it_changes_nothing_in_torch():
    program = (
        "import torch, threading\n"
        "before = {m: dict(vars(m)) for m in (torch, torch.cuda, torch.Tensor, threading.Thread)}\n"
        "from helpers import simulated_cuda\n"
        "import sys\n"
        "changed = [n for m, names in before.items() for n, v in names.items()"
        " if vars(m).get(n) is not v]\n"
        "assert not changed, changed\n"
        "assert not torch._C._is_torch_function_mode_enabled()\n"
        "assert not simulated_cuda.is_enabled()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_disabling_puts_everything_back(off):
    before = everything_in_torch()
    simulated_cuda.enable()
    during = everything_in_torch()
    simulated_cuda.disable()
    after = everything_in_torch()
    assert during != before
    for place, names in before.items():
        assert after[place].keys() - names.keys() <= {"_registered_autograd"}, place
        assert {n for n in names if after[place][n] is not names[n]} == set(), place


def test_enabling_twice_leaves_one_mode(off):
    simulated_cuda.enable()
    x = torch.ones(2, device="cuda")
    simulated_cuda.enable()
    assert len(_get_current_function_mode_stack()) == 1
    assert str(x.device) == "cuda:0"


def test_a_cell_run_again_after_a_reload_finds_the_simulator_on(off):
    simulated_cuda.enable()
    x = torch.ones(2, device="cuda")
    again = importlib.reload(simulated_cuda)
    assert again.is_enabled()
    again.enable()
    assert len(_get_current_function_mode_stack()) == 1
    assert str((x + 1).device) == "cuda:0"
    again.disable()
    assert not simulated_cuda.is_enabled()


def test_enabling_otherwise_starts_afresh(off):
    simulated_cuda.enable()
    x = torch.ones(2, device="cuda")
    simulated_cuda.enable(devices=3)
    assert torch.cuda.device_count() == 3
    assert torch.cuda.memory_allocated() == 0
    assert str(x.device) == "cpu"


@pytest.mark.parametrize(
    ("arguments", "what"), [({"devices": 0}, "devices is 0"), ({"memory": 0}, "memory is 0")]
)
def test_nonsense_is_refused_and_changes_nothing(gpu, arguments, what):
    with pytest.raises(ValueError, match=what):
        simulated_cuda.enable(**arguments)
    assert simulated_cuda.is_enabled()


def test_a_real_gpu_is_not_hidden_unless_asked(monkeypatch, off):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index=None: "NVIDIA H200")
    with pytest.raises(RuntimeError, match=r"real GPU, NVIDIA H200.*over_real=True"):
        simulated_cuda.enable()
    simulated_cuda.enable(over_real=True)
    assert torch.cuda.get_device_name() == simulated_cuda.NAME


def test_the_device_says_that_it_is_simulated(gpu):
    assert "imulated" in torch.cuda.get_device_name()
    assert "imulated" in torch.cuda.get_device_properties(0).name


def test_the_context_manager_ends_with_an_error_too(off):
    with pytest.raises(ZeroDivisionError), simulated_cuda.simulated():
        _ = 1 / 0
    assert not simulated_cuda.is_enabled()
    assert _get_current_function_mode_stack() == []


def test_tensors_are_on_the_cpu_when_it_is_over(off):
    with simulated_cuda.simulated():
        x = torch.ones(2, device="cuda")
    assert x.device.type == "cpu"
    assert repr(x) == "tensor([1., 1.])"


def test_errors_in_cells_leave_it_working(gpu):
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="cuda") + torch.ones(2)
    with pytest.raises(ZeroDivisionError), torch.device("cuda"):
        _ = 1 / 0
    w = torch.ones(2, device="cuda", requires_grad=True)

    def stop(gradient):
        raise KeyboardInterrupt

    w.register_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        (w * 2).sum().backward()
    assert str(torch.ones(2, device="cuda").device) == "cuda:0"
    assert str(torch.ones(2).device) == "cpu"
    assert len(_get_current_function_mode_stack()) == 1


def test_enabling_inside_a_device_block_survives_the_block(off):
    with torch.device("cpu"):
        simulated_cuda.enable()
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda
    assert str(torch.ones(1).device) == "cpu"
    simulated_cuda.disable()
    assert _get_current_function_mode_stack() == []


def test_disabling_inside_a_device_block_survives_the_block(off):
    simulated_cuda.enable()
    with torch.device("cpu"):
        simulated_cuda.disable()
    assert _get_current_function_mode_stack() == []


@pytest.mark.parametrize("first", ["enable", "default"])
def test_a_default_device_and_the_simulator_in_either_order(off, first):
    if first == "default":
        torch.set_default_device("cpu")
    simulated_cuda.enable()
    torch.set_default_device("cuda")
    assert nn.Linear(1, 1).weight.is_cuda
    assert nn.LSTM(1, 1)(torch.ones(1, 1, 1))[0].is_cuda
    torch.set_default_device(None)
    assert not torch.ones(1).is_cuda


def test_threads_see_the_devices_too(gpu):
    found = []

    def work():
        x = torch.ones(2, device="cuda")
        found.append((str((x + 1).device), repr(x)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [("cuda:0", "tensor([1., 1.], device='cuda:0')")]


def test_each_thread_has_its_own_current_device(two_gpus):
    found = []

    def work():
        torch.cuda.set_device(1)
        found.append(str(torch.ones(1, device="cuda").device))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["cuda:1"]
    assert torch.cuda.current_device() == 0
