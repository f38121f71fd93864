"""Lab 05, exercise 3: the batch of a slow function, at least 10 times as fast."""

import statistics
import sys
import time

import torch

from helpers.checks.limits import thread_seconds
from helpers.checks.plain import is_close, is_equal, is_tensor

answers = "prepare(images, chosen)"
points = 3
success = "The same numbers, and training no longer waits for them."
section = "The input pipeline"
tolerance = 1e-3

MIN_SPEEDUP = 10


def slow_prepare(images, chosen):
    """Return the chosen images as float32 from -1 to 1, row by row; given to the student."""
    batch = []
    for index in chosen.tolist():
        image = torch.empty(3, 32, 32)
        for channel in range(3):
            for row in range(32):
                pixels = images[index, channel, row].float()
                image[channel, row] = (pixels / 255 - 0.5) / 0.5
        batch.append(image)
    return torch.stack(batch)


def cases(draw):
    for count, images in ((12, 6000), (1, 50)):
        chosen = draw.integers(0, images, (count,)).values
        chosen[-2:] = torch.tensor([1, 0])[-count:]
        chosen[: count // 4] = chosen[count // 2]
        shape = (count, 3, 32, 32)
        yield {"images": images, "chosen": chosen, "seed": draw.randrange(2**31), "shape": shape}
    rounds = [draw.integers(0, 6000, (32,)).values for _ in range(3)]
    yield {
        "images": 6000,
        "rounds": rounds,
        "seed": draw.randrange(2**31),
        "shape": (32, 3, 32, 32),
    }


def draw_images(case):
    # Eight pixels per random number: this is ten times as fast.
    numbers = torch.empty(case.images * 3 * 32 * 32 // 8, dtype=torch.int64)
    generator = torch.Generator().manual_seed(case.seed)
    images = numbers.random_(-(2**63), None, generator=generator).view(torch.uint8)
    images = images.view(-1, 3, 32, 32)
    images[0], images[1] = 0, 255
    return images


def collect(call, case, prepare):
    images = draw_images(case)
    if "rounds" not in case:
        # Called again with other indices, it must return other images.
        following = call(prepare, images, (case.chosen + 1) % case.images)
        facts = call(prepare, images, case.chosen.clone())
        return facts.add(following=following.value, after=images[:50])
    # This clock is not affected by other programs, and includes work done in other threads. On
    # Windows, its resolution is too low.
    clock = time.perf_counter if sys.platform == "win32" else thread_seconds
    ratios, batches = [], []
    # A simulated GPU adds overhead to every torch function, which would make loops look too slow.
    with torch._C.DisableTorchFunction():
        for i, chosen in enumerate(case.rounds):
            copies = images.roll(i, 0), chosen.clone()  # so that cached results do not help
            start = clock()
            facts = call(prepare, *copies, watch=False)
            middle = clock()
            slow_prepare(*copies)
            ratios.append((clock() - middle) / max(middle - start, 1e-6))
            batches.append(facts.value)
    return facts.add(ratio=statistics.median(ratios), following=batches[0], after=None)


def prepared(case, chosen, shift=0):
    images = draw_images(case).roll(shift, 0)
    return (images[chosen].float() / 255 - 0.5) / 0.5


def right(case):
    return prepared(case, case.rounds[2], 2) if "rounds" in case else prepared(case, case.chosen)


def following(case):
    if "rounds" in case:
        return prepared(case, case.rounds[0])
    return prepared(case, (case.chosen + 1) % case.images)


def is_in_range(f):
    low, high = f.value.values.min(), f.value.values.max()
    return abs(low + 1) < 1e-3 and high < 1.001


def is_batch(value, case):
    return is_tensor(value) and value.shape == case.shape and value.dtype == torch.float32


returns = ("not-a-batch", is_batch)
side_effects = {
    "input-changed": lambda f: (
        f.after is not None and not is_equal(f.after.values, draw_images(f.case)[:50])
    )
}
mistakes = {
    "stale-batch": lambda f: "rounds" in f.case,
    "different-images": is_in_range,
    "different-numbers": lambda f: {"low": f.value.values.min(), "high": f.value.values.max()},
}
costs = {
    "stale-batch": lambda f: not is_close(f.following, following(f.case), 0, 1e-5),
    "not-faster": lambda f: (
        "rounds" in f.case
        and f.ratio < MIN_SPEEDUP
        and {"found": f.ratio, "rounds": 3, "wanted": MIN_SPEEDUP}
    ),
}
hints = """
not-a-batch: `prepare` returns {found}, but it should return a float32 tensor of shape {shape}.
    -> Your result should equal that of the slow function. Compare the two on a few images.
different-images: The batch does not hold the chosen images in the given order.
    -> `chosen` is not sorted and can name an image twice. What does indexing with a tensor of
    indices return?
stale-batch: Called again with other images or indices, `prepare` returns the numbers of an earlier
    call.
    -> Which variable outlives the call to your function? Compute every batch from the arguments.
different-numbers: The numbers of the batch go from {low:.3g} to {high:.3g}; those of the slow
    function go from -1 to 1.
    -> Print both batches for an image that is all 0 and one that is all 255. What happens to a byte
    when you divide it or subtract from it?
input-changed: After the call, the caller's images have changed.
    -> Methods whose name ends in an underscore write to the tensor they are called on.
not-faster: In this session, your `prepare` is {found:.1f} times as fast as the slow one (median of
    {rounds} rounds); it should be at least {wanted} times as fast.
    -> Which work do you repeat for each row that you could do once for all rows? Does your code
    touch images that were not chosen, or turn pixels into Python numbers?
"""
