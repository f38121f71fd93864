"""The cost of the simulated GPU: training steps of three networks.

Baseline: the same steps on the CPU, in a process that does not import the simulated GPU. Short
blocks of steps alternate between processes with and without the simulated GPU, or with it only
imported. The ratio is the median over neighboring blocks: a shared machine changes its speed.
"""

import subprocess
import sys
import time
from operator import truediv
from pathlib import Path
from statistics import median

import torch
import torchvision
from torch import nn

from benchmarks._recording import Results
from helpers.networks import ClassicNet

DESCRIPTION = (
    "a training step on one thread: the classic network and ResNet-18 with 4 images of 32 x 32 "
    "pixels and SGD, and a transformer with 2 layers of width 64, 8 x 32 tokens and AdamW"
)
ROUNDS = 200
NETWORKS = {"classic": 10, "resnet18": 1, "transformer": 3}  # steps per block, below 0.1 s
KINDS = ("plain", "imported", "enabled")


def measure(cifar10_root: Path | str) -> Results:
    """Return the least microseconds per step by network and process, and ratios to the baseline."""
    microseconds, ratio = {}, {}
    for network, steps in NETWORKS.items():
        blocks = _blocks(network, steps)
        microseconds[network] = {k: round(1e6 * min(seconds)) for k, seconds in blocks.items()}
        plain = blocks["plain"]
        ratio[network] = {k: round(median(map(truediv, s, plain)), 2) for k, s in blocks.items()}
    results = {"baseline": "plain", "microseconds": microseconds, "ratio": ratio, "rounds": ROUNDS}
    return {torch.device("cpu"): results}


def _blocks(network: str, steps: int) -> dict[str, list[float]]:
    """Return the seconds per step in each block of each process."""
    command = [sys.executable, "-m", "benchmarks.simulated_cuda_cost", network, str(steps)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    root = Path(__file__).parents[1]
    workers = {kind: subprocess.Popen([*command, kind], cwd=root, **pipes) for kind in KINDS}
    seconds: dict[str, list[float]] = {kind: [] for kind in workers}
    for _ in range(ROUNDS):
        for kind, worker in workers.items():
            print(file=worker.stdin, flush=True)
            seconds[kind].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.communicate()
    return seconds


def _measure_blocks(network: str, steps: int, kind: str) -> None:
    """For each line of standard input, print the seconds per step of one block, on one thread.

    This is processor time, because short steps often wait for other programs.
    """
    if kind != "plain":
        import simulated_cuda
    if kind == "enabled":
        simulated_cuda.enable()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cuda" if kind == "enabled" else "cpu"
    X, y = torch.rand(4, 3, 32, 32), torch.arange(4)
    if network == "transformer":
        layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        net = nn.Sequential(nn.Embedding(100, 64), encoder, nn.Linear(64, 100), nn.Flatten(0, 1))
        X = torch.randint(0, 100, (8, 32))
        y = X.flatten()
    else:
        net = ClassicNet() if network == "classic" else torchvision.models.resnet18(num_classes=10)
    net, X, y = net.to(device), X.to(device), y.to(device)
    if network == "transformer":
        optimizer = torch.optim.AdamW(net.parameters())
    else:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

    def block(count: int) -> float:
        started = time.process_time()
        for _ in range(count):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(X), y).backward()
            optimizer.step()
        return (time.process_time() - started) / count

    block(10)  # warm-up
    for _ in sys.stdin:
        print(block(steps), flush=True)


if __name__ == "__main__":
    _measure_blocks(sys.argv[1], int(sys.argv[2]), sys.argv[3])
