"""`scripts/classic_cifar10.py`, lesson 04's program to copy, on a few synthetic images."""

from pathlib import Path

import pytest
import torch
from torch.utils.data import TensorDataset

from scripts import classic_cifar10


def test_program_trains_saves_and_evaluates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    images = TensorDataset(torch.randn(40, 3, 32, 32), torch.arange(40) % 10)
    monkeypatch.setattr(classic_cifar10, "CIFAR10", lambda *args, **options: images)
    monkeypatch.chdir(tmp_path)
    accuracy = classic_cifar10.main(epochs=1)
    assert 0 <= accuracy <= 1
    net = classic_cifar10.Net()
    net.load_state_dict(torch.load("classic_net.pt"))
