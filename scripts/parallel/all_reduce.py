"""Sum a tensor over all processes, and broadcast a tensor from the first one.

torchrun --nproc-per-node 2 scripts/parallel/all_reduce.py
"""

import os
import sys

import torch
import torch.distributed as dist

# One GPU for each process if there are enough, otherwise all processes on the CPU.
gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpus else torch.device("cpu")
if gpus:
    torch.cuda.set_device(device)
else:
    print("not a GPU for each process: using the CPU", file=sys.stderr)
dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)
rank, world_size = dist.get_rank(), dist.get_world_size()
print(f"process {rank} of {world_size}, process {os.environ['LOCAL_RANK']} of this machine")

x = torch.tensor([1.0, 2.0, 3.0], device=device) * 10**rank
print("before all_reduce:", x.tolist())
dist.all_reduce(x)  # the sum over all processes, in place
print("after all_reduce: ", x.tolist())

weights = torch.full((2,), float(rank), device=device)
dist.broadcast(weights, src=0)
print("after broadcast:  ", weights.tolist())
dist.destroy_process_group()
