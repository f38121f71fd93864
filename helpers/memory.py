"""Measure GPU memory: per tensor, per layer, and after each operation of a training step."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from helpers.devices import AfterEachOperation

BLOCK = 512  # PyTorch allocates GPU memory in multiples of this


def allocated_size(nbytes: int) -> int:
    """Return the number of bytes that PyTorch allocates on a GPU for a tensor of `nbytes` bytes.

    A tensor of more than 1 MiB may get up to 1 MiB more if it reuses a larger block.
    """
    return -(-nbytes // BLOCK) * BLOCK


def warm_up(device: torch.device) -> None:
    """Run a network, so that cuBLAS allocates the workspaces that `memory_allocated` counts."""
    for dtype in (torch.float32, torch.bfloat16):
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 6 * 6, 8))
        net.to(device, dtype)
        net(torch.ones(8, 3, 8, 8, device=device, dtype=dtype)).sum().backward()


def saved_bytes_by_layer(net: nn.Module, inputs: Tensor) -> tuple[dict[str, int], Tensor]:
    """Run the forward pass; return the bytes that autograd saves for each layer, and the result.

    A layer is named as in "blocks.0.1: ReLU". Inputs and parameters are not counted, and a tensor
    that two layers need is counted for the first one.
    """
    saved_bytes: dict[str, int] = {}
    layer_names: list[str] = []
    addresses = {tensor.untyped_storage().data_ptr() for tensor in (inputs, *net.parameters())}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in addresses:
            addresses.add(storage.data_ptr())
            saved_bytes[layer_names[-1]] = saved_bytes.get(layer_names[-1], 0) + storage.nbytes()
        return tensor.detach()  # Saving it with its graph would create a reference cycle.

    with ExitStack() as hooks:
        for path, layer in net.named_modules():
            if not list(layer.children()):
                name = f"{path}: {type(layer).__name__}"
                hook = layer.register_forward_pre_hook(lambda *_, n=name: layer_names.append(n))
                hooks.enter_context(hook)
        hooks.enter_context(saved_tensors_hooks(pack, lambda tensor: tensor))
        result = net(inputs)
    return saved_bytes, result


@dataclass(frozen=True)
class Sample:
    """The allocated memory in bytes after one operation, and the phase it belongs to."""

    phase: str
    allocated: int


def record_memory(phases: Mapping[str, Callable[[], object]]) -> list[Sample]:
    """Call the functions, keyed by phase, and return the memory after each operation."""
    samples: list[Sample] = []
    for phase, run in phases.items():
        with AfterEachOperation(
            lambda _, phase=phase: samples.append(Sample(phase, torch.cuda.memory_allocated()))
        ):
            run()
    return samples
