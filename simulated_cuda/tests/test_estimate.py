"""`simulated_cuda.estimate`: plausible for the code that people write, and without side effects."""

import copy
import functools

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torchvision.ops import nms

import simulated_cuda

X, Y = torch.randn(64, 256), torch.randint(0, 100, (64,))
device = "cpu"


class Trainer:
    """A training step with everything that a step may change."""

    def __init__(self, **options):
        self.net = nn.Sequential(nn.Linear(256, 512), nn.BatchNorm1d(512), nn.Dropout(0.1),
                                 nn.Linear(512, 100))  # fmt: skip
        self.optimizer = torch.optim.AdamW(self.net.parameters(), **options)
        with simulated_cuda.simulated(over_real=True):  # without a GPU, it would be disabled
            self.scaler = torch.amp.GradScaler("cuda")
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.losses = []

    def step(self, x=X, y=Y):
        self.net.train()
        x, y = x.to(device), y.to(device)
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(self.net(x), y)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()
        self.losses.append(loss.item())

    def state(self):
        parts = (self.net, self.optimizer, self.scaler, self.schedule)
        gradients = [parameter.grad for parameter in self.net.parameters()]
        modes = [module.training for module in self.net.modules()]
        states = [part.state_dict() for part in parts]
        return copy.deepcopy([states, gradients, modes, self.losses, torch.get_rng_state()])


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"foreach": False}])
@pytest.mark.parametrize("has_state", [False, True])
def test_nothing_of_the_program_changes(simulation_off, options, has_state):
    trainer = Trainer(**options)
    if has_state:
        loss = F.cross_entropy(trainer.net(X), Y)
        loss.backward()
        trainer.optimizer.step()
    trainer.net.eval()
    before = trainer.state()
    results = [
        simulated_cuda.estimate(function, gpu="T4")
        for function in (trainer.step, lambda: trainer.step(), functools.partial(trainer.step, X))
    ]
    torch.testing.assert_close(trainer.state(), before, rtol=0, atol=0)
    assert len({result.seconds for result in results}) == 1
    assert results[0].kernels and 0 < results[0].gpu_seconds < results[0].seconds
    assert [span.name for span in results[0].waits][-1] == "item"
    assert sum(span.row == "copy to GPU 0" for span in results[0].spans) == 2
    assert not simulated_cuda.is_enabled()


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_recurrent_networks_with_two_layers_have_gradients(simulation_off, kind):
    net, x = kind(256, 512, num_layers=2, batch_first=True), torch.ones(20, 35, 256)
    assert simulated_cuda.estimate(lambda: net(x)[0].sum().backward(), gpu="T4").kernels


def test_detection_with_large_and_small_tensors(simulation_off):
    low = torch.rand(5000, 2)
    boxes, target = torch.cat([low, low + 1], 1), torch.tensor([0.0, 0.0, 2.0, 3.0])

    def select():
        # Values of small tensors are known; `nms` keeps half of the boxes.
        assert not (target[2:] <= target[:2]).any()
        return boxes[nms(boxes, boxes[:, 0], 0.5)] * target

    assert simulated_cuda.estimate(select, gpu="T4").kernels[-1].work.bytes >= 2500 * 4 * 8


def test_an_estimate_inside_a_simulation_leaves_the_device_alone(gpu):
    net, x = nn.Linear(8, 8).cuda(), torch.ones(2, 8, device=gpu)
    before = torch.cuda.memory_allocated(), torch.cuda.get_rng_state()
    result = simulated_cuda.estimate(lambda: F.dropout(net(x)).sum().backward(), gpu="H100")
    assert result.card.name == "H100 SXM"
    assert torch.cuda.memory_allocated() == before[0]
    assert torch.equal(torch.cuda.get_rng_state(), before[1])
    assert net.weight.is_cuda and net.weight.grad is None and net(x).is_cuda


def _encoder():
    net = nn.TransformerEncoderLayer(64, 4, batch_first=True)
    return lambda: (net(X.view(4, 64, 64)).sum() + net.eval()(X.view(4, 64, 64)).sum()).backward()


def _recurrent():
    net, packed = nn.LSTM(16, 8, 2), nn.GRU(16, 8)

    def step():
        x = X.view(64, 16, 16)
        sequence = nn.utils.rnn.pack_padded_sequence(x, torch.arange(64, 48, -1))
        (
            net(x)[0].sum() + nn.utils.rnn.pad_packed_sequence(packed(sequence)[0])[0].sum()
        ).backward()

    return step


def _loaded():
    loader = torch.utils.data.DataLoader(list(zip(X, Y, strict=True)), 32, shuffle=True)
    net = nn.Linear(256, 100)
    return lambda: [F.cross_entropy(net(x.to("cuda")), y.to("cuda")).backward() for x, y in loader]


def _values():
    def step():
        assert not X.isnan().any() and X.isfinite().all()
        chosen = X[X > 0].sum().item() + len(X.nonzero()) + int(Y.argmax())
        sampled = torch.multinomial(F.softmax(X.topk(5)[0], -1), 1)
        out = torch.zeros(100, 256, device="cuda").index_add_(0, Y, X)
        return out.scatter_add_(0, sampled.expand(-1, 256), X)[Y].bfloat16() * chosen

    return step


def _positions():
    def step():  # as LeViT: 4,802 numbers are not computed, but the 2,401 indices would be used
        at = torch.cartesian_prod(*2 * [torch.arange(7, device="cuda")]).T
        distances = (at[:, :, None] - at[:, None]).abs()
        return X[:4, distances[0] * 7 + distances[1]] @ Y[:49].float()

    return step


def _checkpointed():
    net = torch.compile(Trainer().net)
    return lambda: checkpoint(net, X.clone().requires_grad_(), use_reentrant=False).sum().backward()


@pytest.mark.parametrize(
    "make", [_encoder, _recurrent, _loaded, _values, _positions, _checkpointed]
)
def test_code_that_people_write_has_a_plausible_estimate(simulation_off, make):
    result = simulated_cuda.estimate(make(), gpu="A100")
    assert result.kernels and 1e-5 < result.seconds < 1 and result.peak_bytes > 0
    assert 0 <= result.mfu < 1


def test_a_large_model_on_the_meta_device_needs_no_memory(simulation_off):
    with torch.device("meta"):
        net = nn.Sequential(*(nn.Linear(16384, 16384, bias=False) for _ in range(16)))
    optimizer = torch.optim.AdamW(net.parameters())

    def step(x):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()

    results = [simulated_cuda.estimate(step, torch.zeros(512, 16384), gpu=gpu)
               for gpu in ("H200", "T4")]  # fmt: skip
    assert [result.fits for result in results] == [True, False]
    # Parameters, gradients, two states, and one list of intermediate results.
    assert 80 << 30 < results[0].peak_bytes < 82 << 30
    assert results[0].limit in ("compute", "memory") and "does NOT fit" in str(results[1])
    assert " per call; limited by the GPU, mostly its " in str(results[0])
    assert all(parameter.is_meta for parameter in net.parameters())


def test_a_function_that_uses_no_gpu_is_an_error(simulation_off):
    with pytest.raises(ValueError, match="ran nothing on the GPU"):
        simulated_cuda.estimate(lambda: 1 + 1, gpu="T4")


def test_a_timeline_is_a_picture_with_a_description(simulation_off):
    timeline = simulated_cuda.estimate(Trainer().step, gpu="T4").timeline()
    picture = timeline._repr_html_()
    assert 'role="img" aria-label="T4, modelled: the GPU is busy' in picture
    assert "modelled time in ms" in picture and "test_estimate.py" in picture


def test_tf32_may_be_set_with_pytorchs_newer_setting():
    x = torch.zeros(1024, 1024)
    exact = simulated_cuda.estimate(lambda: x @ x, gpu="A100").seconds
    setting = torch.backends.cuda.matmul
    before, setting.fp32_precision = setting.fp32_precision, "tf32"  # `allow_tf32` is an error now
    try:
        assert simulated_cuda.estimate(lambda: x @ x, gpu="A100").seconds < exact
    finally:
        setting.fp32_precision = before


def test_inference_mode_counts_the_same_kernels_as_no_grad(simulation_off):
    net = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 36, 10)).eval()
    images = torch.empty(64, 3, 8, 8)

    def estimate(mode):
        return simulated_cuda.estimate(mode()(lambda: net(images)), gpu="T4")

    assert estimate(torch.inference_mode).flops == estimate(torch.no_grad).flops > 0


def test_summary_lists_the_most_launches_if_they_are_the_limit():
    def many_small(x, A):
        for _ in range(20):
            x = x + 1
        return A @ A

    result = simulated_cuda.estimate(
        many_small, torch.zeros(8), torch.zeros(2048, 2048), gpu="H100"
    )
    assert result.limit == "launches"
    assert result.most_expensive(1)[0][0] == "mm"
    first = next(line for line in str(result).splitlines() if line.startswith("  kernels"))
    assert "add: 20 launches" in first


@pytest.mark.parametrize("net, name, count", [
    (nn.GRU(8, 8), "recurrent", 33), (nn.RMSNorm(8), "rms_norm", 2),
    (nn.TransformerEncoderLayer(8, 2), "attention backward", 1),
])  # fmt: skip
def test_what_cuda_computes_at_once_is_not_counted_in_steps(simulation_off, net, name, count):
    with simulated_cuda.simulated(gpu="T4"):
        clock = simulated_cuda._installation().machine.clock
        result = net.cuda()(torch.randn(10, 4, 8).cuda())
        (result[0] if isinstance(result, tuple) else result).sum().backward()
    names = [span.name for span in clock.spans if span.work]
    assert names.count(name) == count and len(names) < 55 and "bmm" not in names


def test_float64_is_slow_on_cards_for_graphics():
    def seconds(dtype, gpu):
        x = torch.empty(2048, 2048, dtype=dtype)
        return simulated_cuda.estimate(lambda: x @ x, gpu=gpu).seconds

    assert seconds(torch.float64, "T4") > 10 * seconds(torch.float32, "T4")
    assert seconds(torch.float64, "A100") < 3 * seconds(torch.float32, "A100")
