"""Enabling the simulated GPU takes effect, and disabling it restores PyTorch."""

import importlib
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils import _device

import simulated_cuda
from simulated_cuda import settings


def patched_namespaces() -> dict[str, dict[str, object]]:
    namespaces = (
        torch, torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.nvtx, torch.accelerator,
        torch.autograd, torch.jit, torch.nested, torch.nn.parallel.comm, torch.backends.cudnn,
        torch.Tensor, torch.UntypedStorage, _device.DeviceContext,
        torch.utils.hooks.BackwardHook, torch.autograd.graph.saved_tensors_hooks, threading.Thread,
    )  # fmt: skip
    return {repr(namespace): dict(vars(namespace)) for namespace in namespaces}


def test_importing_does_not_change_torch():
    program = (
        "import sys, torch, threading\n"
        "before = {m: dict(vars(m)) for m in (torch, torch.cuda, torch.Tensor, threading.Thread)}\n"
        "import simulated_cuda\n"
        "changed = [n for m, names in before.items() for n, v in names.items()"
        " if vars(m).get(n) is not v]\n"
        "assert not changed, changed\n"
        "assert not torch._C._is_torch_function_mode_enabled() | simulated_cuda.is_enabled()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_disabling_restores_torch(simulation_off):
    before = patched_namespaces()
    simulated_cuda.enable()
    enabled = patched_namespaces()
    simulated_cuda.disable()
    after = patched_namespaces()
    assert enabled != before
    for namespace, names in before.items():
        assert after[namespace].keys() - names.keys() <= {"_registered_autograd"}, namespace
        assert {n for n in names if after[namespace][n] is not names[n]} == set(), namespace


def test_enabling_again_and_reloading_keep_the_active_mode(simulation_off):
    simulated_cuda.enable()
    x = torch.ones(2, device="cuda")
    simulated_cuda.enable()
    reloaded = importlib.reload(simulated_cuda)
    assert reloaded.is_enabled()
    reloaded.enable()
    assert len(_get_current_function_mode_stack()) == 1
    assert str((x + 1).device) == "cuda:0"
    reloaded.disable()
    assert not simulated_cuda.is_enabled()


def test_enabling_with_other_arguments_restarts_simulation(simulation_off):
    simulated_cuda.enable()
    net = nn.Linear(2, 1).cuda()
    net(torch.ones(2, device="cuda")).backward()
    assert net.weight.grad.is_cuda
    simulated_cuda.enable(devices=3)
    assert (torch.cuda.device_count(), torch.cuda.memory_allocated()) == (3, 0)
    assert str(net.weight.device) == "cpu"
    assert net.cuda().weight.grad.is_cuda


@pytest.mark.parametrize(
    ("arguments", "message"), [({"devices": 0}, "devices is 0"), ({"memory": 0}, "memory is 0")]
)
def test_invalid_arguments_are_refused_without_effect(gpu, arguments, message):
    with pytest.raises(ValueError, match=message):
        simulated_cuda.enable(**arguments)
    assert simulated_cuda.is_enabled()


def test_real_gpu_is_not_hidden_unless_requested(monkeypatch, simulation_off):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index=None: "NVIDIA H200")
    with pytest.raises(RuntimeError, match=r"real GPU, NVIDIA H200.*over_real=True"):
        simulated_cuda.enable()
    simulated_cuda.enable(over_real=True)
    assert torch.cuda.get_device_name() == simulated_cuda.NAME


def test_block_ends_after_an_error_and_its_tensors_are_on_the_cpu(simulation_off):
    with pytest.raises(ZeroDivisionError), simulated_cuda.simulated():
        x = torch.ones(2, device="cuda")
        _ = 1 / 0
    assert not simulated_cuda.is_enabled()
    assert _get_current_function_mode_stack() == []
    assert (x.device.type, repr(x)) == ("cpu", "tensor([1., 1.])")


def test_simulation_continues_after_errors(gpu):
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


def test_enabling_and_disabling_inside_device_blocks_outlast_the_blocks(simulation_off):
    with torch.device("cpu"):
        simulated_cuda.enable()
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda
    assert str(torch.ones(1).device) == "cpu"
    with torch.device("cpu"):
        simulated_cuda.disable()
    assert _get_current_function_mode_stack() == []


@pytest.mark.parametrize("first", ["enable", "default"])
def test_default_device_can_be_set_before_or_after_enabling(simulation_off, first):
    if first == "default":
        torch.set_default_device("cpu")
    simulated_cuda.enable()
    torch.set_default_device("cuda")
    assert nn.Linear(1, 1).weight.is_cuda
    assert nn.LSTM(1, 1)(torch.ones(1, 1, 1))[0].is_cuda
    torch.set_default_device(None)
    assert not torch.ones(1).is_cuda


def test_new_thread_uses_the_devices_and_has_its_own_current_device(two_gpus):
    results = []

    def work():
        torch.cuda.set_device(1)
        results.append(repr(torch.ones(2, device="cuda") + 1))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == ["tensor([2., 2.], device='cuda:1')"]
    assert torch.cuda.current_device() == 0


def test_device_code_does_not_import_torchs_compiler_and_an_optimizer_may():
    program = (
        "import sys, torch, torch.nn.functional as F, simulated_cuda\n"
        "simulated_cuda.enable(over_real=True)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout()).to('cuda')\n"
        "x = torch.arange(4.0, device='cuda') + torch.linspace(0, 1, 4, device='cuda')\n"
        "big = torch.arange(3_000_000, device='cuda'), torch.zeros(2_000_000, device='cuda')\n"
        "generator = torch.Generator('cuda').manual_seed(0)\n"
        "noise = torch.rand(4, generator=generator, device='cuda')\n"
        "with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "    loss = F.mse_loss(net(x * torch.tensor(2.0)), noise)\n"
        "loss.backward()\n"
        "try:\n"
        "    net(torch.ones(1, 4))\n"
        "except RuntimeError as error:\n"
        "    assert 'same device' in str(error)\n"
        "else:\n"
        "    raise AssertionError('mixed devices were accepted')\n"
        "assert not {'torch._dynamo', 'torch._inductor', 'sympy'} & set(sys.modules)\n"
        # The compiler inspects functions that the simulation replaces.
        "w = torch.nn.Parameter(torch.ones(2, device='cuda'))\n"
        "w.sum().backward(); torch.optim.SGD([w], lr=1.0).step()\n"
        "assert w.tolist() == [0, 0] and w.is_cuda\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_inner_simulation_ends_with_the_outer_one():
    with simulated_cuda.simulated(2, gpu="T4"):
        with simulated_cuda.simulated():
            assert torch.cuda.device_count() == 1
        assert (torch.cuda.device_count(), torch.cuda.get_device_name()) == (2, "Tesla T4")
        x = torch.zeros(1, device="cuda")
        with simulated_cuda.simulated(2, gpu="T4"):
            pass
        assert x.is_cuda
    assert not simulated_cuda.is_enabled()


def test_other_modes_and_subclasses_get_pytorchs_own_functions(simulation_off):
    getter, called = torch.Tensor.shape.__get__, []

    class Recorder(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            called.append(func)
            return func(*args, **(kwargs or {}))

    simulated_cuda.enable()
    x = torch.ones(2, device="cuda")
    groups = settings.table("functions")["device_independent"]
    for name in [name for group in groups.values() for name in group]:
        value = getattr(x, name)
        _ = value() if callable(value) else value
        assert torch.ones(1, device="cuda").is_cuda, f"the mode is off after {name}"
    with Recorder():
        assert (x.shape, (x + 1).shape) == ((2,), (2,))
    assert called == [getter, torch.Tensor.add, getter]
    assert torch.Tensor.shape.__get__ == getter
    assert x.__add__("text") is NotImplemented
    with pytest.raises(RuntimeError, match="The size of tensor a") as info:
        x + torch.ones(3, device="cuda")
    assert len(info.traceback) == 1
    with torch.device("meta"), pytest.raises(RuntimeError, match="Expected all tensors to be on"):
        x @ torch.ones(2, device="cpu")
    with torch._C.DisableTorchFunction():
        assert x.device.type == "cpu"
