"""Choosing a device, and the table of what lives where."""

import pytest
import torch
from torch import nn

from helpers.devices import choose_device, describe_device, device_of, try_all_gpus, try_gpu, where

without_accelerator = pytest.mark.skipif(
    torch.accelerator.is_available(), reason="asks what a machine without an accelerator answers"
)


@without_accelerator
@pytest.mark.parametrize("name", ["auto", "cpu", torch.device("cpu")])
def test_without_an_accelerator_the_cpu_is_chosen(name):
    assert choose_device(name) == torch.device("cpu")


@without_accelerator
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps", "gpu", "CPU", "cpu:1", "", 0])
def test_a_device_that_cannot_be_used_is_refused_with_those_that_can(name):
    with pytest.raises(ValueError, match=r"cannot be used on this machine.*usable here: cpu"):
        choose_device(name)


@without_accelerator
def test_without_a_gpu_try_gpu_gives_the_cpu():
    assert try_gpu() == try_gpu(3) == torch.device("cpu")
    assert try_all_gpus() == [torch.device("cpu")]


def test_a_description_begins_with_the_device():
    assert describe_device(torch.device("cpu")).startswith("cpu (")


def test_a_network_without_parameters_is_on_the_cpu():
    assert device_of(nn.ReLU()) == torch.device("cpu")


def test_a_network_on_two_devices_is_refused_and_both_are_named():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    with pytest.raises(ValueError, match=r"0\.weight on cpu and 1\.weight on meta"):
        device_of(net)


def test_where_names_things_as_the_caller_does():
    x = torch.zeros(2, 3)
    rows = where(x, batch=[x, x.long()]).rows
    assert [row.name for row in rows] == ["x", "batch[0]", "batch[1]"]
    assert [row.bytes for row in rows] == [24, 24, 48]


def test_where_lists_parameters_buffers_gradients_and_optimizer_state():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    names = [row.name for row in where(optimizer, net).rows]
    assert names[:2] == ["net.0.weight", "net.0.weight.grad"]
    assert "net.1.running_mean" in names
    assert "optimizer.state[net.0.weight].momentum_buffer" in names


def test_where_shows_devices_that_differ():
    a, b = torch.zeros(1), torch.zeros(1, device="meta")
    table = where(a, b)
    assert table.devices() == {"cpu", "meta"}
    assert "meta" in repr(table)
    assert '<th scope="col">device</th>' in table._repr_html_()


def test_where_refuses_what_holds_no_tensors():
    with pytest.raises(TypeError, match="`text` is a str"):
        where(text="hello")
