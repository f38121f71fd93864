"""On the CPU, rank 1 is killed in step 6. With `--max-restarts 1`, a checkpoint is continued.

TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --nproc-per-node 2 --max-restarts 1 restart.py c.pt
Without it, a restarted process may connect to a dead one: github.com/pytorch/pytorch/issues/135712
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

path = Path(sys.argv[1])
restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = nn.Linear(4, 1)
start = 0
if rank == 0 and not restarts:
    path.unlink(missing_ok=True)  # a restart must not load the checkpoint of an older run
if restarts and path.exists():
    checkpoint = torch.load(path, weights_only=True)
    net.load_state_dict(checkpoint["net"])
    start = checkpoint["step"]
ddp = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
print("starts at step", start, flush=True)

for step in range(start, 10):
    if rank == 1 and step == 6 and not restarts:
        print("is killed in step", step, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
    optimizer.zero_grad()
    try:
        ddp(torch.full((8, 4), step + rank + 1.0)).sum().backward()
    except RuntimeError as error:
        print(type(error).__name__, str(error).split("] ", 1)[-1], file=sys.stderr, flush=True)
        time.sleep(60)  # torchrun detects the killed process and ends this one
        raise  # never continue with gradients that were not averaged
    optimizer.step()
    if step == 4:
        if rank == 0:
            torch.save({"net": net.state_dict(), "step": step + 1}, path.with_suffix(".part"))
            path.with_suffix(".part").replace(path)  # a crash while writing leaves the old file
            print("checkpoint after step", step, flush=True)
        dist.barrier()  # all processes wait until the checkpoint is complete
print("ends after step", step, "with bias", f"{net.bias.item():.4f}")
dist.destroy_process_group()
