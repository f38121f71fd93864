"""On the CPU, rank 0 has 3 batches and rank 1 has 2. With `--join`, DDP ends without an error.

torchrun --nproc-per-node 2 scripts/parallel/uneven.py --join
"""

import sys
import time
from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=3))
torch.manual_seed(0)
ddp = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
batches = 3 - dist.get_rank()
try:
    with ddp.join() if "--join" in sys.argv else nullcontext():
        for batch in range(batches):
            optimizer.zero_grad()
            ddp(torch.ones(8, 4)).sum().backward()
            optimizer.step()
            print(f"batch {batch + 1} of {batches} done")
    if dist.get_rank() == 1 and "--join" not in sys.argv:
        time.sleep(5)  # other work, such as the evaluation
except RuntimeError as error:
    print("backward:", str(error).split("] ")[-1].split(". ")[0])
print("bias:", f"{ddp.module.bias.item():.4f}")
dist.destroy_process_group()
