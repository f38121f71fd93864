"""Optimizers on the simulated GPU use the right devices and make few calls to the mode."""

import sys
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from simulated_cuda.mode import SimulatedCUDA

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
}


def backward(net: nn.Module) -> None:
    device = next(net.parameters()).device
    net(torch.ones(2, 3, device=device)).sum().backward()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_equal_those_on_the_cpu_and_state_is_on_the_gpu(gpu, name):
    on_cpu, on_gpu = nn.Linear(3, 2), nn.Linear(3, 2)
    on_gpu.load_state_dict(on_cpu.state_dict())
    for net in (on_cpu, on_gpu.to(gpu)):
        optimizer = OPTIMIZERS[name](net.parameters())
        for _ in range(3):
            backward(net)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    assert torch.equal(on_cpu.weight, on_gpu.weight.cpu())
    state = optimizer.state[on_gpu.weight].values()
    assert {value.device for value in (*state, on_gpu.weight.grad) if value.dim()} == {gpu}


def test_mode_calls_per_parameter_are_few(gpu):
    call_counts = []
    for count in (10, 60):
        parameters = [nn.Parameter(torch.ones(2, device=gpu)) for _ in range(count)]
        optimizer = OPTIMIZERS["sgd"](parameters)

        def step(parameters=parameters, optimizer=optimizer):
            optimizer.zero_grad()
            torch.autograd.backward(parameters, [p.detach() for p in parameters])
            optimizer.step()

        step()
        original = SimulatedCUDA.__torch_function__
        with patch.object(SimulatedCUDA, "__torch_function__", autospec=True) as mode:
            mode.side_effect = original
            step()
        call_counts.append(mode.call_count)
    # One call per parameter, `p.detach()` in `step`; up to torch 2.13 also those of attributes.
    assert call_counts[1] - call_counts[0] <= 50 * (1 if torch.__version__ >= "2.14" else 8)


def test_parameters_on_two_devices_use_the_for_loop_implementation(gpu):
    choose = sys.modules["torch.optim.sgd"]._default_to_fused_or_foreach
    on_gpu, on_cpu = nn.Parameter(torch.ones(2, device=gpu)), nn.Parameter(torch.ones(2))
    assert choose([on_gpu, on_gpu], differentiable=False) == (False, True)
    assert choose([on_gpu, on_cpu], differentiable=False) == (False, False)
    integers = nn.Parameter(torch.ones(2, dtype=torch.int64, device=gpu), requires_grad=False)
    assert choose([on_gpu, integers], False, use_fused=True) == (False, True)


def test_nn_functions_still_reach_the_programs_modes(gpu):
    seen = []

    class CallRecorder(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    with CallRecorder():
        result = F.relu(torch.ones(2, device=gpu))
    assert (F.relu, (torch.Tensor,)) in seen
    assert result.device == gpu


@pytest.mark.parametrize("name", ["Adagrad", "Adam", "AdamW", "SGD"])
def test_learning_rate_of_fused_optimizer_may_be_a_cpu_tensor(gpu, name):
    net = nn.Linear(3, 2).to(gpu)
    before = net.weight.detach().clone()
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=torch.tensor(0.1), fused=True)
    backward(net)
    optimizer.step()
    assert not torch.equal(net.weight, before)


@pytest.mark.parametrize("name", ["lr", "grad_scale", "found_inf"])
def test_scalars_of_fused_step_on_another_gpu_are_refused(two_gpus, name):
    lists = [[torch.ones(2, device="cuda:0")] for _ in range(2)]
    scalars = {key: torch.ones((), device="cuda:0") for key in ("lr", "grad_scale", "found_inf")}
    scalars[name] = scalars[name].to("cuda:1")
    options = {"weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0}
    flags = dict.fromkeys(("nesterov", "maximize", "is_first_step"), False)
    with pytest.raises(RuntimeError, match=f"^{name} must be on the same GPU device as the params"):
        torch._fused_sgd_(*lists, [], **scalars, **options, **flags)
