"""The cost of the simulated GPU: training steps of three networks.

Baseline: the same steps on the CPU, in a process that does not import the simulated GPU. Short
blocks of steps alternate between processes with and without the simulated GPU. The ratio compares
the fastest blocks, because other programs can only make a block slower. A process that imports the
simulated GPU without enabling it is also measured.
"""

import subprocess
import sys
from pathlib import Path

import torch

from benchmarks._recording import Results

DESCRIPTION = (
    "a training step on one thread: the classic network and ResNet-18 with 4 images of 32 x 32 "
    "pixels and SGD, and a transformer with 2 layers of width 64, 8 x 32 tokens and AdamW"
)
ROUNDS = 15
# Steps per block, about a tenth of a second.
NETWORKS = {"classic": 50, "resnet18": 2, "transformer": 10}

# Runs in a separate process with one thread. It measures processor time, because short steps often
# wait for other programs.
_WORKER = """
import sys, time, torch, torchvision
from torch import nn
from helpers.networks import ClassicNet
kind, network = sys.argv[1:]
if kind != "plain":
    import simulated_cuda
if kind == "enabled":
    simulated_cuda.enable()
torch.set_num_threads(1)
torch.manual_seed(0)
device = "cuda" if kind == "enabled" else "cpu"
images, labels = torch.rand(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
if network == "classic":
    net = ClassicNet()
elif network == "resnet18":
    net = torchvision.models.resnet18(num_classes=10)
else:
    layer = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    net = nn.Sequential(nn.Embedding(100, 64), encoder, nn.Linear(64, 100), nn.Flatten(0, 1))
    images = torch.randint(0, 100, (8, 32))
    labels = images.flatten()
net, images, labels = net.to(device), images.to(device), labels.to(device)
if network == "transformer":
    optimizer = torch.optim.AdamW(net.parameters())
else:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
criterion = nn.CrossEntropyLoss()
def steps(count):
    started = time.process_time()
    for _ in range(count):
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()
    return (time.process_time() - started) / count
steps(10)
for line in sys.stdin:
    print(steps(int(line)), flush=True)
"""


def _fastest_block_seconds(network: str, steps: int) -> dict[str, float]:
    """Return the seconds per step in the fastest block of each process."""
    workers = {
        kind: subprocess.Popen(
            [sys.executable, "-c", _WORKER, kind, network],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        for kind in ("plain", "imported", "enabled")
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in workers}
    for _ in range(ROUNDS):
        for kind, worker in workers.items():
            worker.stdin.write(f"{steps}\n")
            worker.stdin.flush()
            seconds[kind].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.communicate()
    return {kind: min(values) for kind, values in seconds.items()}


def measure(cifar10_root: Path | str) -> Results:
    """Return the microseconds per step of each network and process, and ratios to the baseline."""
    microseconds, ratio = {}, {}
    for network, steps in NETWORKS.items():
        fastest = _fastest_block_seconds(network, steps)
        microseconds[network] = {k: round(1e6 * seconds) for k, seconds in fastest.items()}
        ratio[network] = {k: round(seconds / fastest["plain"], 2) for k, seconds in fastest.items()}
    results = {
        "baseline": "plain",
        "microseconds": microseconds,
        "ratio": ratio,
        "rounds": ROUNDS,
    }
    return {torch.device("cpu"): results}
