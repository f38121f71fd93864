"""What exercises 1 and 2 ask of an augmentation, whatever it does to the pixels."""

import torch

from helpers.checks.plain import describe, is_equal, is_tensor
from helpers.language import translate


def make_images(case):
    """Return the images of a case, `(N, 3, H, W)`, on the CPU."""
    generator = torch.Generator().manual_seed(case.seed)
    return torch.randn(case.shape, generator=generator)


def augment(call, case, function):
    """Call the augmentation six times, and count its operations for few and many images."""
    images = make_images(case).to(case.device)
    calls = []
    for seed in range(case.seed, case.seed + 6):
        torch.manual_seed(seed)
        calls.append(call(function, images, *case.others))
    counts = [call(function, x, *case.others).calls for x in (images[:16], images)]
    facts = calls[0].add(after=images, second=calls[1].value)
    if is_tensor(facts.value) and facts.value.shape == case.shape:
        changed = [(each.result != images).flatten(1).any(1).sum().item() for each in calls]
        facts.add(changed=changed)
    return facts.add(few=counts[0], many=counts[1], small=16, large=len(images))


def wrong_kind(f):
    images = make_images(f.case)
    if is_tensor(f.value) and (f.value.shape, f.value.dtype) == (f.case.shape, images.dtype):
        return None
    given = translate("{dtype} and shape {shape}", dtype=images.dtype, shape=f.case.shape)
    return {"found": describe(f.value), "given": given}


side_effects = {
    "input-changed": lambda f: not is_equal(f.after.values, make_images(f.case)),
    "not-images": wrong_kind,
    "elsewhere": lambda f: (
        f.value.device != f.case.device and {"given": f.case.device, "found": f.value.device}
    ),
    "copied": lambda f: f.copies and {"bytes": f.bytes_copied},
}
costs = {
    "not-random": lambda f: is_equal(f.value, f.second),
    "one-by-one": lambda f: f.many >= 2 * f.few,
}
