"""Split the two products of an MLP over the processes, and compare with the MLP in one process.

torchrun --nproc-per-node 2 scripts/parallel/tensor.py
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpus else torch.device("cpu")
if gpus:
    torch.cuda.set_device(device)
else:
    print("not a GPU for each process: using the CPU", file=sys.stderr)
dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)


def make_mlp() -> nn.Sequential:
    """Return the feed-forward part of a transformer's layer; it is the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))


whole, mlp = make_mlp().to(device), make_mlp().to(device)
# Each process computes some of the 256 hidden channels, so GELU needs no communication. Then each
# multiplies its channels by its rows of the second matrix, and an all-reduce adds the results.
mesh = init_device_mesh(device.type, (dist.get_world_size(),))
parallelize_module(mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
for name in ("0.weight", "2.weight"):
    weight = mlp.get_parameter(name)
    print(f"{name} {tuple(weight.shape)}, here {tuple(weight.to_local().shape)}")

x = torch.randn(8, 64, generator=torch.Generator().manual_seed(1)).to(device)  # the same for all
expected, inputs = whole(x), x.clone().requires_grad_()
with CommDebugMode() as forward:
    output = mlp(inputs)
with CommDebugMode() as backward:
    output.square().mean().backward()
print("all-reduces: forward", forward.get_total_counts(), "backward", backward.get_total_counts())
for name, result in (("here", output), ("in one process", expected)):
    print("output", *(f"{number:.4f}" for number in result[0, :3].tolist()), name)
torch.testing.assert_close(output, expected, rtol=0, atol=1e-5)  # an error if they differ
dist.destroy_process_group()
