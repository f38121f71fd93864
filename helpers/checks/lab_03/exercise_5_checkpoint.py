"""Lab 03, exercise 5: save a checkpoint on any machine, and load it on any other."""

import pickletools
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers.checks.collecting import Case
from helpers.checks.lab_03.shared import (
    build,
    changed_setting,
    contents,
    state_left_behind,
    take_steps,
)
from helpers.checks.machines import machine
from helpers.checks.plain import first, format_gpu_count, is_equal, plain
from helpers.language import translate

answers = "save_checkpoint(path, net, optimizer, epoch), load_checkpoint(path, net, optimizer)"
points = 3
success = "Training continues from your file on any machine."
section = "Saving and loading"

WHOLE_OBJECTS = ("torch.nn.modules.", "torch.optim.", "__main__.")


def cases(draw):
    # The saved network's device, and the number of GPUs and the device of the loading machine.
    machines = [("cuda:0", 0, "cpu"), ("cuda:1", 1, "cuda:0"), ("cpu", 2, "cuda:1")]
    for name, (saved, gpus, device) in zip(
        draw.sample(["SGD", "Adam", "Adam"], 3), machines, strict=True
    ):
        case = {"name": name, "saved": saved, "gpu_count": gpus, "given": device}
        epochs = draw.sample(range(3, 10**6), 2)
        batches = [draw.normal(6, 4) for _ in "12"]
        yield {**case, "seed": draw.randrange(2**31), "epochs": epochs, "batches": batches}


def collect(call, case, save_checkpoint, load_checkpoint):
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path, saves = Path(folder, "checkpoint.pt"), []
        with machine(2):
            for epoch, batch in zip(case.epochs, case.batches, strict=True):
                net, optimizer = build(case, case.saved)
                take_steps(net, optimizer, batch.values.to(case.saved), 2)
                saves.append({**contents(optimizer), "net": plain(net)})
                facts = call(save_checkpoint, path, net, optimizer, epoch)
                facts.add(training=net.training, classes=pickled_classes(path))
                facts.add(size=path.stat().st_size if path.is_file() else None)
                if facts.size is None or facts.classes or not net.training:
                    return facts
                # Further training must not change what was saved.
                take_steps(net, optimizer, batch.values.to(case.saved), 1)
                # The loading program uses another path, and a newer checkpoint exists.
                if epoch == case.epochs[0]:
                    moved = path.rename(Path(folder, "moved.pt"))
        with machine(case.gpu_count):
            net, optimizer = build(Case(case, seed=case.seed + 1), case.given, scale=3.0)
            net.train(case.gpu_count > 0)
            facts = call(load_checkpoint, moved, net, optimizer, may_fail=True)
            facts.add(size=moved.stat().st_size, saves=saves, net=net, **contents(optimizer))
            return facts.add(training=net.training, classes=[])


def pickled_classes(path):
    """Return the classes of modules and optimizers in a checkpoint, without unpickling it."""
    with suppress(Exception), zipfile.ZipFile(path) as archive:
        member = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        operations = pickletools.genops(archive.read(member))
        names = [arg.replace(" ", ".") for op, arg, _ in operations if op.name == "GLOBAL"]
        return [name for name in names if name.startswith(WHOLE_OBJECTS)]
    return []  # a file that was not written by `torch.save`


def unrestored(f, kind):
    """Return the names of the parameters or buffers that differ from the saved ones."""
    found, saved = getattr(f.net, kind), getattr(f.saves[0]["net"], kind)
    return [name for name in saved if not is_equal(found[name].values, saved[name].values)]


def second_save(f):
    """Return what came from the second checkpoint."""
    names, other = unrestored(f, "parameters"), f.saves[1]["net"].parameters
    if names and is_equal(f.net.parameters[names[0]].values, other[names[0]].values):
        return {"what": translate("the weights")}
    return f.value == f.case.epochs[1] and {"what": translate("the epoch")}


def needs_gpu(f):
    words = ("deserialize", "CUDA device", "device ordinal")
    return any(word in f.error.text for word in words) and {
        "gpus": format_gpu_count(f.case.gpu_count),
        "error": f.error.line.split(". ")[0],
    }


errors = {
    "empty-file": lambda f: f.own.get("size") == 0,
    "needs-its-gpu": needs_gpu,
    "whole-objects": lambda f: (
        "eights only" in f.error.text and {"error": f.error.line.split(". ")[0]}
    ),
}
side_effects = {
    "no-file": lambda f: f.size is None,
    "whole-objects": lambda f: f.classes and {"error": f"Unsupported global: {f.classes[0]}"},
    "mode-changed": lambda f: not f.training and f.case.gpu_count > 0,
    "mode-changed-to-training": lambda f: f.training and f.case.gpu_count == 0,
    "net-moved": lambda f: f.net.devices != [f.case.given] and {"found": f.net.devices[0]},
    "not-saved-in-file": second_save,
    "weights-not-loaded": lambda f: unrestored(f, "parameters"),
    "buffers-not-restored": lambda f: first({"name": name} for name in unrestored(f, "buffers")),
    "optimizer-not-restored": lambda f: first(
        not (key in f.state and is_equal(f.state[key].values, value.values))
        and {"entry": key.split()[1]}
        for key, value in f.saves[0]["state"].items()
    ),
    "state-not-moved": lambda f: state_left_behind(f.state, f.case.given),
    "settings-not-restored": lambda f: changed_setting(f.settings, f.saves[0]["settings"]),
    "wrong-epoch": lambda f: f.value != f.case.epochs[0] and {"epoch": f.case.epochs[0]},
}
hints = """
no-file: After `save_checkpoint`, there is no file at the given path.
    -> Which function of torch writes to a file, and where do you pass the path?
needs-its-gpu: On a machine with {gpus}, `load_checkpoint` cannot read what was saved on {saved}: it
    raises {error}.
    -> The file stores the device of each tensor. Which argument of `torch.load` maps them to
    another device?
whole-objects: `torch.load(path, weights_only=True)` cannot read the file: {error}.
    -> A whole module or optimizer is a pickled Python object. Which method returns its contents as
    tensors and numbers?
empty-file: The file that `save_checkpoint` wrote is empty.
    -> The program that loads is not the one that saved: everything has to be in the file.
not-saved-in-file: Two checkpoints were saved, then the first file was loaded, but {what} of the
    second checkpoint came back.
    -> The program that loads is not the one that saved: everything has to be in the file.
weights-not-loaded: After `load_checkpoint`, the network does not have the weights that were saved.
    -> Loading the file gives you a dictionary. Which method copies its contents into the network?
buffers-not-restored: The weights are restored, but the buffer `{name}` is not.
    -> A network's state is more than its parameters. What do you save, and what do you load?
    see: What moves with a network, and what does not
optimizer-not-restored: The network is restored, but `{entry}` in the optimizer's state is not.
    -> An optimizer has a state dictionary too. Is it in the file, and do you load it?
settings-not-restored: The optimizer was saved with {key} = {given}, but after `load_checkpoint` it
    has {found}.
    -> An optimizer's state dictionary holds its settings as well as its state. Do you save and load
    all of it?
wrong-epoch: Epoch {epoch} was saved, but `load_checkpoint` returns {found}.
    -> Store the number in the file, and return it from there.
mode-changed: The network was in training mode before `{name}` and is in evaluation mode after it.
    -> Neither saving nor loading needs another mode. Which line changes it?
mode-changed-to-training: The network was in evaluation mode before `{name}` and is in training mode
    after it.
    -> Neither saving nor loading needs another mode. Which line changes it?
"""
