"""Lab 04, exercise 5: continue an interrupted epoch, on a machine without a GPU."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from helpers.checks.collecting import CallFailed, Case
from helpers.checks.plain import are_close
from simulated_cuda import visible_devices

answers = "train_with_checkpoints(net, optimizer, batches_of, epochs, path)"
points = 4
success = "Every batch is used once, whenever and wherever the program is interrupted."
section = "When the session ends early"
BATCHES = 4


def cases(draw):
    # Not twice an even number of steps, for answers that write every second checkpoint.
    for before, given, gpus, steps in (("cuda:1", "cpu", 0, 7), ("cpu", "cuda:1", 2, 8)):
        case = {"before": before, "after": given, "given": given, "gpus": gpus, "epochs": 3}
        yield case | {"seed": draw.randrange(2**31), "steps": steps, "all": 3 * BATCHES}


def build(case, device="cpu"):
    torch.manual_seed(case.seed)
    net = nn.Linear(6, 4).to(device)
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def make_batches(case, epoch):
    generator = torch.Generator().manual_seed(case.seed + epoch)
    for _ in range(BATCHES):
        yield torch.randn(5, 6, generator=generator), torch.arange(5) % 4


def collect(call, case, train_with_checkpoints):
    counts, interrupted = [], []

    def run(seed, device, stop):
        net, optimizer = build(Case(case, seed=seed), device)
        counts.append(0)

        def observe(layer, args):
            # Not in `batches_of`, which an answer may exhaust before its first step.
            if layer is net and counts[-1] == stop:
                interrupted.append(path.exists())
                raise RuntimeError("the machine was stopped")
            counts[-1] += layer is net

        batches_of = partial(make_batches, case)
        with register_module_forward_pre_hook(observe):  # not in `net`, which can be pickled
            return call(train_with_checkpoints, net, optimizer, batches_of, case.epochs, path), net

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "checkpoint.pt")
        with visible_devices(2):
            try:
                run(case.seed, case.before, case.steps)
            except CallFailed:
                if not interrupted:
                    raise
        with visible_devices(case.gpus):
            facts, net = run(case.seed + 1, case.after, None)
            return facts.add(net=net, counts=counts, saved=interrupted)


def train(case):
    net, optimizer = build(case)
    for epoch in range(case.epochs):
        for inputs, targets in make_batches(case, epoch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(inputs), targets).backward()
            optimizer.step()
    return list(net.parameters())


errors = {
    "needs-its-gpu": lambda f: "CUDA" in f.error.values["error"],
    "whole-objects": lambda f: "eights only load failed" in f.error.values["error"],
}
side_effects = {
    "starts-again": lambda f: f.counts[1] == f.case.all or f.saved == [False],
    "steps-differ": lambda f: sum(f.counts) != f.case.all and {"count": sum(f.counts)},
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
    "weights-differ": lambda f: not are_close(f.net, train(f.case)),
}
hints = """
needs-its-gpu: The program was interrupted on {before} and continues on {after}: {error}.
    -> `torch.load` puts each tensor on the device that it was saved from, unless you name another.
whole-objects: `torch.load` refuses the checkpoint: it has objects other than tensors and numbers.
    -> What do a network and an optimizer have that contains only tensors, numbers and dictionaries?
starts-again: After {steps} steps, the program was interrupted. Then it took all {all} steps again.
    -> Does a file exist after the first step, and does your function look for it when it starts?
steps-differ: With the interruption, the program takes {count} steps instead of {all}.
    -> What says how many batches of the interrupted epoch are done? A step that is done is saved,
    and is not repeated.
weights-differ: The number of steps is right, but the weights are not those of a run in one part.
    -> What else changes in a step, besides the weights? And which batches come after the break?
"""
