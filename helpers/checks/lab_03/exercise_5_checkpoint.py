"""Lab 03, exercise 5: save a checkpoint on any machine, and load it on any other."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from helpers.checks.collecting import Case
from helpers.checks.lab_03.shared import build, contents, differing, left_behind
from helpers.checks.plain import format_gpu_count, plain
from simulated_cuda import visible_devices

answers = "save_checkpoint(path, net, optimizer, epoch), load_checkpoint(path, net, optimizer)"
points = 3
success = "Training continues from your file on any machine."
section = "Saving and loading"


def cases(draw):
    # The saved network's device, and the number of GPUs and the device of the loading machine.
    machines = ("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cpu", 2, "cuda:1")
    for saved, count, wanted in machines:
        case = {"optimizer": draw.choice(["SGD", "Adam"]), "saved": saved, "count": count}
        case |= {"wanted": wanted, "gpus": format_gpu_count(count), "seed": draw.randrange(2**31)}
        yield {**case, "epoch": draw.randint(3, 10**6)}


def collect(call, case, save_checkpoint, load_checkpoint):
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "checkpoint.pt")
        with visible_devices(2):
            net, optimizer = build(case, case.saved, steps=2)
            earlier = plain(contents(net, optimizer))
            # When the first checkpoint is loaded, a newer one exists.
            for epoch in (case.epoch, case.epoch + 2):
                facts = call(save_checkpoint, path, net, optimizer, epoch)
                facts.add(net=net, given=case.saved, before=True, after=net.training)
                call(torch.load, path, name="torch.load", map_location="cpu", weights_only=True)
                if not net.training or facts.net.devices != [case.saved]:
                    return facts
                path.replace(Path(folder, f"{epoch}.pt"))  # the loading program has another path
        with visible_devices(case.count):
            net, optimizer = build(Case(case, seed=case.seed + 1), case.wanted)
            before, path = net.train(case.count > 0).training, Path(folder, f"{case.epoch}.pt")
            facts = call(load_checkpoint, path, net, optimizer)
            facts.add(net=net, given=case.wanted, before=before, after=net.training)
            return facts.add(earlier=earlier, **contents(net, optimizer))


errors = {
    "whole-objects": lambda f: f.name == "torch.load",
    "needs-its-gpu": lambda f: f.case.count < 2 and "CUDA" in f.error.values["error"],
}
side_effects = {
    "mode-not-restored": lambda f: f.before != f.after,
    "net-moved": lambda f: f.net.devices != [f.given] and {"found": f.net.devices[0]},
    "net-not-restored": lambda f: differing(f, "weights") or differing(f, "buffers"),
    "optimizer-not-restored": lambda f: differing(f, "state"),
    "state-not-moved": lambda f: left_behind(f.state, f.case.wanted),
    "wrong-epoch": lambda f: f.value != f.case.epoch,
}
hints = """
needs-its-gpu: With {gpus}, `load_checkpoint` cannot read what was saved on {saved}: {error}.
    -> The file stores each tensor's device. Which argument of `torch.load` maps it to another, and
    do you use a device that exists on any machine, or that of the network?
whole-objects: `torch.load(path, weights_only=True)` cannot read the file: {error}.
    -> A module or optimizer is a pickled object. Which method returns its tensors and numbers?
net-not-restored: After `load_checkpoint`, `{name}` of the network is not what was saved.
    -> A network's state is more than its parameters. What do you save, and what do you load?
optimizer-not-restored: The network is restored, but `{entry}` in the optimizer's state is not.
    -> An optimizer has a state dictionary too. Is it in the file, and do you load it?
wrong-epoch: Epoch {epoch} was saved, but `load_checkpoint` returns {found}.
    -> Store the number in the file, and return it from there.
"""
