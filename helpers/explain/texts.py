"""The sentences of the box, for each kind of device error that `wording.py` tells apart."""

from __future__ import annotations

TITLES = {
    "mix": "Two devices meet in one line",
    "numpy": "NumPy reads the CPU's memory only",
    "generator": "The generator is on another device",
    "load": "The file asks for a GPU that is not here",
    "memory": "The GPU's memory is full",
    "no-gpu": "This machine has no GPU that torch can use",
    "ordinal": "There is no GPU of this number",
    "name": "There is no device of this name",
    "method": "This method moves to a GPU only",
    "pin": "Only what is on the CPU can be pinned",
    "must-be-cpu": "This argument has to stay on the CPU",
    "fork": "A data loader's worker cannot use the GPU",
    "assert": "The GPU stopped at a value that it cannot use",
    "cuda": "The GPU reported an error",
}

WHYS = {
    "mix": "torch computes on one device at a time, and copies nothing to another by itself.",
    "numpy": "NumPy cannot reach the GPU's memory: copy the tensor to the CPU first.",
    "generator": "Random numbers are drawn on the device where their generator is.",
    "load": "torch puts each tensor back where it was saved, unless `map_location` says where to.",
    "memory": "What the line asks for does not fit beside what is there.",
    "no-gpu": "Let the program ask for the GPU where there is one, and take the CPU elsewhere.",
    "method": "`.cuda()` takes the number of a GPU; `.to()` takes any device.",
    "pin": "Pinned memory is CPU memory from which copies to the GPU are fast.",
    "must-be-cpu": "torch reads these numbers on the CPU, to plan the work of the GPU.",
    "fork": "Worker processes are copies of this one, and CUDA does not survive being copied.",
    "assert": "Most often a label or an index is out of range: targets must be 0 to classes - 1.",
    "cuda": "The GPU works behind your program's back: the line at fault may be an earlier one.",
}

ADVICE = {
    "fork": ("Return CPU tensors from the data set; move each batch in the training loop.",),
    "memory": (
        "Take smaller batches, and `del` what you no longer need; evaluate in `torch.no_grad()`.",
        "Add `loss.item()` to a running total, not `loss`: it keeps all that it came from.",
    ),
    "no-gpu": ("Choose once: `device = 'cuda' if torch.cuda.is_available() else 'cpu'`.",),
    "assert": (
        "The line shown may be a later one. Restart the kernel and run the same on the CPU: there "
        "the message names the value.",
    ),
    "cuda": ("Restart the kernel, and run again with CUDA_LAUNCH_BLOCKING=1 in the environment.",),
}
