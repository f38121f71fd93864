"""Train a small network for 20 steps with DistributedDataParallel; rank 0 saves the weights.

torchrun --nproc-per-node 2 scripts/parallel/ddp.py --batch-size 8 --output ddp.pt
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data() -> TensorDataset:
    """Return 320 examples: 10 numbers each, and 1 of 3 classes."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(320, 10, generator=generator)
    return TensorDataset(X, X[:, :3].argmax(dim=1))


def make_net() -> nn.Module:
    """Return a new network; it is the same in every process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))


def train(net: nn.Module, loader: DataLoader, device: torch.device, epochs: int) -> float:
    """Train with SGD; return the last loss."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)  # a different order in each epoch
        for X, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(X.to(device)), y.to(device))
            loss.backward()  # DDP averages the gradients here
            optimizer.step()
    return loss.item()


def main() -> None:
    """Train as one of several processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=8, help="examples per process and step")
    parser.add_argument("--output", default="ddp.pt", help="file for the weights")
    args = parser.parse_args()
    gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    else:
        print("not a GPU for each process: using the CPU", file=sys.stderr)
    dist.init_process_group("nccl" if gpus else "gloo", device_id=device if gpus else None)

    dataset = make_data()
    sampler = DistributedSampler(dataset, seed=0)  # gets rank and world size from the process group
    loader = DataLoader(dataset, args.batch_size, sampler=sampler)
    net = make_net().to(device)
    ddp = DistributedDataParallel(net)  # sends the weights of rank 0 to all processes
    loss = train(ddp, loader, device, epochs=1)

    print(f"{len(loader)} steps with {args.batch_size} of {len(dataset)} examples each")
    print(f"sum of the weights: {sum(p.sum().item() for p in net.parameters()):.4f}")
    print(f"loss of the last batch: {loss:.4f}")
    if dist.get_rank() == 0:
        torch.save(net.state_dict(), args.output)  # not `ddp`, whose names start with "module."
        print("weights saved")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
