"""A deadlock on the CPU, because only rank 0 calls `all_reduce`. Timeouts end it.

torchrun --nproc-per-node 2 scripts/parallel/deadlock.py
"""

import time
from datetime import timedelta

import torch
import torch.distributed as dist

# The default timeout is 30 minutes. On the CPU, gloo raises an error after the timeout.
dist.init_process_group("gloo", timeout=timedelta(seconds=2))
rank = dist.get_rank()
loss = torch.tensor(1.0 + rank)
try:
    if rank == 0:  # the mistake: a collective operation needs every process
        dist.all_reduce(loss)
        print("mean loss:", loss.item() / dist.get_world_size())
except RuntimeError as error:
    print("all_reduce:", str(error).split("] ")[-1])

# In a new group, rank 1 does not reach the barrier, and the error names the missing process.
group = dist.new_group(backend="gloo")
try:
    if rank == 0:
        dist.monitored_barrier(group, timeout=timedelta(seconds=1))
except RuntimeError as error:
    print("monitored_barrier:", str(error).splitlines()[0].split("] ")[-1])
else:
    if rank == 1:
        time.sleep(2)  # other work, such as writing a file
print("ends")
dist.destroy_process_group()
