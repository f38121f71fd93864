"""Lab 01, exercise 3: normalize images in every epoch, and move as few bytes as possible."""

import torch

from helpers.checks.plain import describe, first, is_tensor, plain

answers = "run_epochs(images, device, epochs, step)"
points = 3
success = "Every image moves once, one byte per number."
section = "What a transfer costs"
tolerance = 1e-3


def cases(draw):
    for device in draw.devices:
        images = draw.integers(0, 256, (draw.randint(5, 9), 3, 8, 8), dtype=torch.uint8)
        case = {"images": images, "device": torch.device(device), "wanted": device}
        yield {**case, "epochs": draw.randint(3, 5), "nbytes": images.values.nbytes}


def collect(call, case, run_epochs):
    images, kept = case.images.make(), []

    def step(X):
        # A clone, because the caller may use the tensor's memory again.
        kept.append(X.detach().clone() if isinstance(X, torch.Tensor) else X)

    facts = call(run_epochs, images, case.device, case.epochs, step)
    facts.arguments = plain({"images": images})
    return facts.add(steps=kept, bytes=sum(copy.bytes for copy in facts.copies))


def right(case):
    return [(case.images.values / 255 - 0.5) / 0.5] * case.epochs


def outcome(f):
    return [step.values for step in f.steps]


questions = ["input-changed"]
side_effects = {
    "wrong-steps": lambda f: len(f.steps) != f.case.epochs and {"count": len(f.steps)},
    "wrong-step": lambda f: first(
        not (is_tensor(x) and x.dtype == torch.float32 and x.device == f.case.wanted)
        and {"what": describe(x), "found": getattr(x, "device", None)}
        for x in f.steps
    ),
}
mistakes = {"wrong-numbers": True}
costs = {
    "moved-in-every-epoch": lambda f: f.bytes >= f.case.epochs * f.case.nbytes,
    # A mean of a few bytes may be created on the CPU.
    "moves-more": lambda f: f.bytes > f.case.nbytes + 64,
}
hints = """
wrong-steps: For {epochs} epochs, your function calls `step` {count} times.
    -> `step` is called once in every epoch, with all images.
wrong-step: `step` gets {what}, device {found}; it should get float32 numbers on {wanted}.
    -> Which operation turns bytes into such numbers? And do you keep what `.to` returns?
wrong-numbers: `step` gets numbers that are not those of the normalized images.
    -> Which numbers do the bytes 0 and 255 become: -1 and 1? In the second epoch too?
moved-in-every-epoch: In {epochs} epochs, {bytes:,} bytes move; the images have {nbytes:,} bytes.
    -> What is the same in every epoch? It can stay where it is needed.
moves-more: {bytes:,} bytes move between the devices, but the images have only {nbytes:,} bytes.
    -> How many bytes does each number have when it moves? Which operations can come after the move?
"""
