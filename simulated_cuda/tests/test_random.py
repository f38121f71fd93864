"""Random numbers: every GPU has its own generator."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(5, device="cuda"),
        lambda: torch.randn(5, device="cuda"),
        lambda: torch.randperm(5, device="cuda"),
        lambda: torch.randint(9, (5,), device="cuda"),
        lambda: torch.empty(5, device="cuda").normal_(),
        lambda: torch.rand_like(torch.ones(5, device="cuda")),
        lambda: torch.bernoulli(torch.full((5,), 0.5, device="cuda")),
        lambda: torch.multinomial(torch.ones(5, device="cuda"), 2),
        lambda: F.dropout(torch.ones(5, device="cuda")),
        lambda: nn.Dropout2d()(torch.ones(1, 5, 2, 2, device="cuda")),
        lambda: nn.Linear(5, 5, device="cuda"),
        lambda: nn.init.xavier_uniform_(torch.empty(5, 5, device="cuda")),
        lambda: F.gumbel_softmax(torch.ones(5, device="cuda")),
        lambda: nn.MultiheadAttention(4, 2, 0.5, device="cuda")(*[torch.ones(3, 4).cuda()] * 3),
        lambda: nn.LSTM(4, 4, 2, dropout=0.5, device="cuda")(torch.ones(3, 4, device="cuda")),
    ],
)
def test_drawing_on_gpu_does_not_change_cpu_numbers(gpu, draw):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    draw()
    assert torch.equal(torch.rand(3), expected)


def test_drawing_on_cpu_does_not_change_gpu_numbers(gpu):
    torch.manual_seed(0)
    expected = torch.rand(3, device=gpu)
    torch.manual_seed(0)
    torch.rand(5)
    assert torch.equal(torch.rand(3, device=gpu), expected)
    assert not torch.equal(torch.rand(3, device=gpu), expected)


def test_each_gpu_has_its_own_generator(two_gpus):
    torch.cuda.manual_seed_all(0)
    first = torch.rand(3, device="cuda:0").tolist()
    assert torch.rand(3, device="cuda:1").tolist() == first
    torch.cuda.manual_seed(1)
    assert torch.rand(3, device="cuda:0").tolist() != torch.rand(3, device="cuda:1").tolist()
    assert torch.cuda.initial_seed() == 1


def test_state_of_generator_can_be_saved_and_restored(two_gpus):
    states = torch.cuda.get_rng_state_all()
    expected = torch.rand(3, device="cuda:1").tolist()
    torch.cuda.set_rng_state_all(states)
    assert torch.rand(3, device="cuda:1").tolist() == expected
    with torch.random.fork_rng(devices=[1]):
        torch.rand(9, device="cuda:1")
    next_numbers = torch.rand(3, device="cuda:1").tolist()
    torch.cuda.set_rng_state(states[1], "cuda:1")
    torch.rand(3, device="cuda:1")
    assert torch.rand(3, device="cuda:1").tolist() == next_numbers


def test_checkpointing_repeats_dropout_on_gpu(gpu):
    x = torch.ones(100, device=gpu, requires_grad=True)
    y = checkpoint(F.dropout, x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
