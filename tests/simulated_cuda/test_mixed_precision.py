"""Autocast and GradScaler select the dtypes that they select on CUDA."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn


@pytest.fixture
def x(gpu):
    return torch.randn(4, 4, device=gpu)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("operation", "low"),
    [
        (lambda x: x @ x, True),
        (lambda x: F.linear(x, x), True),
        (lambda x: F.conv2d(x[None, None], x[None, None]), True),
        (lambda x: (x @ x).relu(), True),
        (lambda x: (x @ x).softmax(1), False),
        (lambda x: F.log_softmax(x @ x, 1), False),
        (lambda x: F.cross_entropy(x @ x, x.new_zeros(4).long()), False),
        (lambda x: F.mse_loss(x @ x, x), False),
        (lambda x: F.layer_norm(x @ x, (4,)), False),
        (lambda x: (x @ x).sum(), False),
        (lambda x: x + x, False),
    ],
)  # fmt: skip
def test_autocast_selects_dtypes_of_cuda(x, operation, low, dtype):
    with torch.autocast("cuda", dtype=dtype):
        assert operation(x).dtype == (dtype if low else torch.float32)
    assert (x @ x).dtype == torch.float32


def test_autocast_affects_only_its_device_type(x):
    on_cpu = x.cpu()
    with torch.autocast("cuda"):
        assert (on_cpu @ on_cpu).dtype == torch.float32
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == torch.float32
    with torch.autocast("cpu"):
        assert (on_cpu @ on_cpu).dtype == torch.bfloat16


def test_step_with_grad_scaler_equals_plain_step(gpu):
    def train(scale):
        torch.manual_seed(0)
        net = nn.Linear(3, 1).to(gpu)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda", enabled=scale)
        scaler.scale(net(torch.ones(2, 3, device=gpu)).sum()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return net.weight

    assert torch.allclose(train(True), train(False))


def test_overflow_skips_step_and_halves_scale(gpu):
    w = nn.Parameter(torch.ones(2, device=gpu))
    optimizer = torch.optim.SGD([w], lr=1.0)
    scaler = torch.amp.GradScaler("cuda")
    scaler.scale((w * float("inf")).sum()).backward()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [1, 1]
    assert scaler.get_scale() == before / 2
