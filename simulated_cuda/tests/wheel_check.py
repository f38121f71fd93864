"""What an installed wheel must do, with nothing else installed: as tests, and as a program."""

import pytest
import torch

import simulated_cuda


def test_missing_move_raises():
    net = torch.nn.Linear(4, 2).cuda()
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        net(torch.zeros(1, 4))


@pytest.mark.simulated_cuda(no_waits=True)
def test_step_without_waits():
    torch.zeros(8, device="cuda").add_(1).sum()


def test_estimate_of_a_large_product():
    with torch.device("meta"):
        A = torch.empty(8192, 8192, dtype=torch.float16)
    t4, h100 = (simulated_cuda.estimate(torch.mm, A, A, gpu=gpu) for gpu in ("T4", "H100"))
    assert t4.limit == "compute"
    assert h100.seconds < t4.seconds / 4


if __name__ == "__main__":
    net = torch.nn.Linear(64, 8).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    while True:
        net(torch.randn(32, 64).to("cuda")).sum().backward()
        optimizer.step()
