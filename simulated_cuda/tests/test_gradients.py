"""Gradients are on the device of their tensor, in hooks, in custom functions and after moves."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode


def test_tensor_and_module_hooks_get_gradients_on_gpu(gpu):
    devices, gradients = [], []
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).to(gpu)
    net[0].weight.register_hook(lambda grad: devices.append(grad.device))
    net[0].weight.register_post_accumulate_grad_hook(lambda p: devices.append(p.grad.device))
    net[0].register_full_backward_hook(
        lambda module, grad_in, grad_out: gradients.append(grad_out[0])
    )
    net[2].register_full_backward_pre_hook(
        lambda module, grad_out: devices.append(grad_out[0].device)
    )
    y = net(torch.ones(4, 2, device=gpu))
    y.grad_fn.register_prehook(lambda outputs: devices.append(outputs[0].device))
    y.grad_fn.register_hook(lambda inputs, outputs: devices.append(inputs[0].device))
    y.sum().backward()
    assert devices == [gpu] * 5
    # Grad-CAM keeps gradients and uses them later with tensors on the GPU.
    assert (gradients[0] * torch.ones(4, 3, device=gpu)).device == gpu


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert grad.device == x.device
        return 2 * grad * x + torch.zeros(x.shape, device=x.device)


class MixingSquare(Square):
    @staticmethod
    def backward(ctx, grad):
        return grad * torch.ones(2)


def test_custom_function_gets_gradients_on_gpu(gpu):
    x = torch.tensor([1.0, 2.0], device=gpu, requires_grad=True)
    (3 * Square.apply(x)).sum().backward()
    assert x.grad.device == gpu
    assert x.grad.tolist() == [6, 12]


def test_mixed_devices_in_custom_backward_are_refused(gpu):
    x = torch.ones(2, device=gpu, requires_grad=True)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
        MixingSquare.apply(x).sum().backward()


def test_gradient_penalty_gives_gradients_on_gpu(gpu):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).to(gpu)
    x = torch.ones(5, 3, device=gpu, requires_grad=True)
    (grad,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    ((grad.norm(dim=1) - 1) ** 2).mean().backward()
    assert {str(p.grad.device) for p in net.parameters() if p.grad is not None} == {"cuda:0"}


@pytest.mark.parametrize("reentrant", [True, False])
def test_activation_checkpointing_recomputes_on_gpu(gpu, reentrant):
    x = torch.randn(2, 4, 8, 16, device=gpu, requires_grad=True)

    def attend(x):
        return F.dropout(F.scaled_dot_product_attention(x.sin(), x, x, is_causal=True).cos())

    checkpoint(attend, x, use_reentrant=reentrant).sum().backward()
    assert x.grad.device == gpu


def test_saved_tensors_can_be_offloaded_to_cpu(gpu):
    x = torch.ones(3, device=gpu, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x.exp() * x.sin()).sum()
    y.backward()
    assert (x.grad + x).device == gpu


def test_assigning_data_does_not_move_gradient(gpu):
    w = nn.Parameter(torch.ones(2))
    w.sum().backward()
    w.data = w.data.to(gpu)
    assert w.device == gpu
    assert w.grad.device.type == "cpu"


def test_forward_mode_derivatives_equal_those_on_cpu(gpu):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4))
    x = torch.arange(3.0)
    expected = torch.func.hessian(lambda x: model(x).sum())(x)
    model.to(gpu)
    found = torch.func.hessian(lambda x: model(x).sum())(x.to(gpu))
    assert found.is_cuda and torch.equal(found.cpu(), expected)


class PassThrough(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


SHAPES_AND_MODULES = {
    "LayerNorm": ((4, 8), nn.LayerNorm(8)),
    "GroupNorm": ((4, 8), nn.GroupNorm(2, 8)),
    "BatchNorm": ((4, 8, 3, 3), nn.BatchNorm2d(8)),
    "MaxPool": ((4, 8, 3, 3), nn.Sequential(nn.Conv2d(8, 8, 1), nn.MaxPool2d(2))),
    "LSTM": ((4, 2, 8), nn.LSTM(8, 8)),
    "Transformer": ((4, 2, 8), nn.TransformerEncoderLayer(8, 2, 16)),
}


@pytest.mark.parametrize("mode", [PassThrough, lambda: FlopCounterMode(display=False)])
@pytest.mark.parametrize("name", SHAPES_AND_MODULES)
def test_backward_pass_in_a_dispatch_mode_raises_no_false_errors(gpu, name, mode):
    shape, module = SHAPES_AND_MODULES[name]
    module.zero_grad()
    with mode():
        x = torch.ones(shape, device=gpu, requires_grad=True)
        output = module.to(gpu)(x)
        output = output[0] if isinstance(output, tuple) else output
        labels = torch.zeros(output.flatten(1).shape[0], dtype=torch.long, device=gpu)
        F.cross_entropy(output.flatten(1), labels).backward()
    assert {tensor.grad.device for tensor in (x, *module.parameters())} == {gpu}
