"""Train 5 steps with FSDP: each process keeps its share of weights, gradients and Adam's state.

torchrun --nproc-per-node 2 scripts/parallel/fsdp.py
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpus else torch.device("cpu")
if gpus:
    torch.cuda.set_device(device)
else:
    print("not a GPU for each process: using the CPU", file=sys.stderr)
dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
rank = dist.get_rank()


def make_net() -> nn.Sequential:
    """Return the network: 33,282 parameters."""
    return nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 130))


def train(net: nn.Module, X: torch.Tensor) -> torch.optim.Optimizer:
    """Take 5 steps of Adam, and keep the last gradients."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        net(X).square().mean().backward()
        optimizer.step()
    return optimizer


def kilobytes(tensors) -> str:
    """Return the memory of this process's part of the tensors."""
    parts = [getattr(t, "to_local", lambda t=t: t)() for t in tensors]
    return f"{sum(part.nbytes for part in parts) / 1000:.1f} kB"


with torch.device("meta"):  # shapes without memory: the whole network need not fit on one GPU
    net = make_net()
mesh = init_device_mesh(device.type, (dist.get_world_size(),))  # by default, FSDP uses GPUs
for layer in (net[0], net[2]):
    fully_shard(layer, mesh=mesh)  # weights are gathered for the layer and freed after it
fully_shard(net, mesh=mesh)
net.to_empty(device=device)  # allocates this process's share
torch.manual_seed(0 if gpus else rank)  # with one seed, GPUs draw different shares
for layer in (net[0], net[2]):
    layer.reset_parameters()  # the initial weights
baseline = make_net().to(device)  # the whole network, only to compare with it at the end
baseline.load_state_dict({name: p.full_tensor() for name, p in net.named_parameters()})
batch = torch.randn(16, 128, generator=torch.Generator().manual_seed(1)).to(device)
optimizer = train(net, batch.chunk(2)[rank % 2])
weight = net[0].weight
print(f"first weight {tuple(weight.shape)}, here {tuple(weight.to_local().shape)}")
print("weights", kilobytes(net.parameters()), end=", ")
print("gradients", kilobytes(p.grad for p in net.parameters()), end=", ")
state = [t for entry in optimizer.state.values() for t in entry.values() if t.dim()]
print("Adam's state", kilobytes(state))

train(baseline, batch)  # the same training on the whole batch, without sharding
full = [p.full_tensor() for p in net.parameters()]  # a collective operation
difference = max((a - b).abs().max() for a, b in zip(full, baseline.parameters(), strict=True))
print("as without FSDP" if difference < 1e-4 else f"differs by {difference}")
dist.destroy_process_group()
