"""The cost of the simulated GPU: training steps of the classic network with batch size 4.

Baseline: the same steps on the plain CPU, in a process that never simulates. Blocks of steps
alternate between processes with and without the simulated GPU, and each ratio is that of two
neighboring blocks. Also measured: a process that imports the simulated GPU without enabling it.
"""

import statistics
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks._recording import merged, ratios, record

NAME = "simulated_cuda_cost"
STEPS = 400
ROUNDS = 7

# Runs in a separate process with one thread. Processor time does not count other programs, which
# such short steps often wait for.
_WORKER = """
import sys, time, torch
from torch import nn
from helpers.networks import ClassicNet
kind = sys.argv[1]
if kind != "plain":
    import simulated_cuda
if kind == "enabled":
    simulated_cuda.enable()
torch.set_num_threads(1)
torch.manual_seed(0)
device = "cuda" if kind == "enabled" else "cpu"
net = ClassicNet().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
criterion = nn.CrossEntropyLoss()
images = torch.rand(4, 3, 32, 32).to(device)
labels = torch.tensor([0, 1, 2, 3]).to(device)
def steps(count):
    started = time.process_time()
    for _ in range(count):
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()
    return (time.process_time() - started) / count
steps(50)
for line in sys.stdin:
    print(steps(int(line)), flush=True)
"""


def measure(cifar10_root: Path | None = None) -> dict[str, object]:
    """Return the microseconds per step of each process, and the ratios to the plain one."""
    kinds = ("plain", "imported", "enabled")
    workers = {
        kind: subprocess.Popen(
            [sys.executable, "-c", _WORKER, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        for kind in kinds
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, worker in workers.items():
            worker.stdin.write(f"{STEPS}\n")
            worker.stdin.flush()
            seconds[kind].append(float(worker.stdout.readline()))
    for worker in workers.values():
        worker.communicate()
    figures = {
        "baseline": "plain",
        "microseconds": {k: round(1e6 * statistics.median(v)) for k, v in seconds.items()},
        **ratios(seconds, "plain"),
        "rounds": ROUNDS,
        "command": f"python -m benchmarks {NAME}",
    }
    what = "a training step of the classic network, batch 4, one thread"
    return merged(NAME, what, [record(torch.device("cpu"), figures)])
