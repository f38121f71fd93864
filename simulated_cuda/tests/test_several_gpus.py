"""Training on two GPUs: optimizers, gradient clipping, and `nn.DataParallel`."""

import pytest
import torch
from torch import nn

from simulated_cuda.messages import NotSimulatedError


@pytest.fixture
def split_parameters(two_gpus):
    """The parameters of a network with one half on each GPU, after a backward pass."""
    first, second = nn.Linear(2, 2).to("cuda:0"), nn.Linear(2, 2).to("cuda:1")
    hidden = first(torch.ones(1, 2, device="cuda:0")).to("cuda:1")
    second(hidden).sum().backward()
    return [*first.parameters(), *second.parameters()]


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}, {"foreach": False}])
@pytest.mark.parametrize("optimizer_class", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_optimizer_updates_parameters_on_two_gpus(split_parameters, optimizer_class, options):
    before = [parameter.tolist() for parameter in split_parameters]
    optimizer = optimizer_class(split_parameters, lr=0.1, **options)
    optimizer.step()
    after = [parameter.tolist() for parameter in split_parameters]
    assert all(new != old for new, old in zip(after, before, strict=True))
    for parameter in split_parameters:
        state = optimizer.state[parameter].values()
        large = [value for value in state if isinstance(value, torch.Tensor) and value.dim()]
        assert {value.device for value in large} <= {parameter.device}


@pytest.mark.parametrize("foreach", [None, True, False])
def test_gradient_clipping_works_on_two_gpus(split_parameters, foreach):
    norm = nn.utils.clip_grad_norm_(split_parameters, 0.1, foreach=foreach)
    assert norm.device == split_parameters[0].device
    total = torch.stack([parameter.grad.cpu().norm() for parameter in split_parameters]).norm()
    assert total <= 0.1 + 1e-6
    assert split_parameters[-1].grad.device == torch.device("cuda:1")


def test_data_parallel_equals_one_gpu(two_gpus):
    net = nn.Linear(3, 2).to("cuda")
    x = torch.randn(4, 3).to("cuda")
    expected = net(x)
    expected.pow(2).sum().backward()
    gradient = net.weight.grad.clone()
    net.zero_grad()
    outputs = nn.DataParallel(net)(x)
    outputs.pow(2).sum().backward()
    assert outputs.device == torch.device("cuda:0")
    assert torch.allclose(outputs, expected)
    assert torch.allclose(net.weight.grad, gradient)


def test_data_parallel_refuses_input_for_parameters_on_another_device(two_gpus):
    net = nn.DataParallel(nn.Linear(3, 2))
    with pytest.raises(RuntimeError, match="module must have its parameters and buffers on device"):
        net(torch.ones(4, 3))


def test_process_group_uses_gloo_and_refuses_nccl(two_gpus, tmp_path):
    options = {"init_method": f"file://{tmp_path}/store", "rank": 0, "world_size": 1}
    with pytest.raises(NotSimulatedError, match='Use backend="gloo"'):
        torch.distributed.init_process_group("nccl", **options)
    torch.distributed.init_process_group(**options)
    try:
        net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1).to("cuda:1"), device_ids=[1])
        net(torch.ones(1, 2, device="cuda:1")).sum().backward()
        assert net.module.weight.grad.device == torch.device("cuda:1")
        x = torch.ones(2, device="cuda:1")
        torch.distributed.all_reduce(x)
        assert x.device == torch.device("cuda:1")
    finally:
        torch.distributed.destroy_process_group()
