"""Choosing a device, and the table of tensors and devices; lessons 01 and 03 show more."""

import pytest
import torch
from torch import nn

from helpers.devices import choose_device, describe_device, device_of, where

without_accelerator = pytest.mark.skipif(
    torch.accelerator.is_available(), reason="tests a machine without an accelerator"
)


@without_accelerator
@pytest.mark.parametrize("name", ["auto", "cpu", torch.device("cpu")])
def test_chooses_the_cpu_without_an_accelerator(name):
    assert choose_device(name) == torch.device("cpu")
    assert describe_device(choose_device(name)).startswith("cpu (")


@without_accelerator
@pytest.mark.parametrize("name", ["cuda:0", "gpu", "cpu:1", 0])
def test_rejects_unusable_device_and_lists_usable_ones(name):
    with pytest.raises(ValueError, match=r"cannot be used on this machine.*usable here: cpu"):
        choose_device(name)


def test_device_of_rejects_network_on_two_devices():
    assert device_of(nn.ReLU()) == torch.device("cpu")
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    with pytest.raises(ValueError, match=r"0\.weight on cpu and 1\.weight on meta"):
        device_of(net)


def test_where_uses_the_callers_variable_names():
    x = torch.zeros(2, 3)
    rows = where(x, batch=[x, x.long()]).rows
    assert [row.name for row in rows] == ["x", "batch[0]", "batch[1]"]
    assert [row.bytes for row in rows] == [24, 24, 48]
    a, b = torch.zeros(1), torch.zeros(1, device="meta")
    assert where(a, b).devices() == {"cpu", "meta"}
    with pytest.raises(TypeError, match="`text` is a str"):
        where(text="hello")
