"""Autocast and GradScaler select the same dtypes as on CUDA."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("operation", "is_lower"),
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
def test_autocast_selects_the_same_dtypes_as_cuda(gpu, operation, is_lower, dtype):
    x = torch.randn(4, 4, device=gpu)
    with torch.autocast("cuda", dtype=dtype):
        assert operation(x).dtype == (dtype if is_lower else torch.float32)
    assert (x @ x).dtype == torch.float32


def test_autocast_affects_only_its_device_type(gpu):
    on_cpu = torch.randn(4, 4)
    x = on_cpu.to(gpu)
    with torch.autocast("cuda"):
        assert (on_cpu @ on_cpu).dtype == torch.float32
        with torch.autocast("cuda", enabled=False):
            assert (x @ x).dtype == torch.float32
    with torch.autocast("cpu"):
        assert (x @ x).dtype == torch.float32
        assert (on_cpu @ on_cpu).dtype == torch.bfloat16


def test_step_with_grad_scaler_equals_plain_step(gpu):
    def train(use_scaler):
        torch.manual_seed(0)
        net = nn.Linear(3, 1).to(gpu)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda", enabled=use_scaler)
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


# The first ones are those of AT_FORALL_FP32 in aten/src/ATen/autocast_mode.h.
FULL = [
    torch.acos, torch.asin, torch.cosh, torch.erfinv, torch.exp, torch.expm1, torch.log,
    torch.log10, torch.log2, torch.log1p, torch.reciprocal, torch.rsqrt, torch.sinh, torch.tan,
    lambda x: x**2, lambda x: 2**x, lambda x: 1 / x, F.softplus, F.normalize,
    lambda x: x.cumsum(0), lambda x: x.cumprod(0), lambda x: x.prod(), lambda x: x.norm(),
    lambda x: torch.dist(x, x), lambda x: torch.cdist(x, x), lambda x: x.logsumexp(0),
    lambda x: F.rms_norm(x, (4,)), lambda x: F.huber_loss(x, x), lambda x: F.l1_loss(x, x),
    lambda x: F.interpolate(x[None], scale_factor=2.0), lambda x: torch.linalg.vector_norm(x),
]  # fmt: skip
UNCHANGED = [
    torch.sin, torch.tanh, torch.sqrt, torch.sigmoid, F.gelu, F.silu, lambda x: x.mean(),
    lambda x: F.avg_pool3d(x[None, None], 1), lambda x: F.max_pool2d(x[None], 2),
    lambda x: torch.quantile(x.float(), 0.5).half(), lambda x: x.amax(), lambda x: x / 2,
]  # fmt: skip


@pytest.mark.parametrize("operation", [*FULL, *UNCHANGED])
def test_autocast_changes_half_precision_only_where_cuda_does(gpu, operation):
    x = torch.rand(4, 4, device=gpu).half()
    with torch.autocast("cuda"):
        assert operation(x).dtype == (torch.float32 if operation in FULL else torch.float16)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("network", [nn.LSTM, nn.GRU, nn.RNN, nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_autocast_runs_recurrent_networks_in_lower_precision(gpu, network, dtype):
    net = network(4, 4).to(gpu)
    with torch.autocast("cuda", dtype=dtype):
        result = net(torch.randn(3, 4, device=gpu))
    first = result[0] if isinstance(result, tuple) else result
    assert (first.dtype, first.device) == (dtype, gpu)
    first.float().sum().backward()
    assert all(parameter.grad.device == gpu for parameter in net.parameters())
