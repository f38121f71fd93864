"""Lab 05, exercise 3: the batch of a slow function, at least 10 times as fast."""

import random
import sys
import time
from contextlib import nullcontext
from operator import attrgetter

import torch

from helpers.checks.limits import thread_seconds
from helpers.checks.plain import is_equal, is_tensor

answers = "prepare(images, chosen)"
points = 3
success = "The same numbers, and training no longer waits for them."
section = "The input pipeline"
tolerance = 1e-3


def slow_prepare(images, chosen):
    batch = []
    for index in chosen.tolist():
        image = torch.empty(3, 32, 32)
        for channel in range(3):
            for row in range(32):
                image[channel, row] = (images[index, channel, row].float() / 255 - 0.5) / 0.5
        batch.append(image)
    return torch.stack(batch)


def cases(draw):
    for count, images, wanted in ((32, 6000, 10), (1, 50, 0)):
        chosen = draw.integers(0, images, (count,)).values
        chosen[-2:] = torch.tensor([1, 0])[-count:]
        chosen[: count // 4] = chosen[count // 2]
        # Called again with other indices, it must return other images.
        case = {"images": images, "chosen": [(chosen + i) % images for i in (2, 1, 0)]}
        case |= {"seed": draw.randrange(2**31), "shape": (count, 3, 32, 32)}
        yield {**case, "rounds": 3, "wanted": wanted}


def draw_images(case):
    numbers = bytearray(random.Random(case.seed).randbytes(3072 * case.images))
    images = torch.frombuffer(numbers, dtype=torch.uint8).view(-1, 3, 32, 32)
    images[0], images[1] = 0, 255
    return images


def draw_rounds(case):
    """Return the arguments of three calls: images, the same images again, and new ones."""
    images = draw_images(case)
    return list(zip((images, images, images.roll(1, 0)), case.chosen, strict=True))


def collect(call, case, prepare):
    # This clock excludes other programs and includes other threads. On Windows, it is too coarse.
    clock = time.perf_counter if sys.platform == "win32" else thread_seconds
    rounds, batches, ratios = draw_rounds(case), [], []
    # A simulated GPU adds overhead to every torch function, which would make loops look too slow.
    with torch._C.DisableTorchFunction():
        for images, chosen in rounds:
            start = clock()
            facts = call(prepare, images, chosen.clone(), within=nullcontext())
            middle = clock()
            slow_prepare(images, chosen)
            ratios.append((clock() - middle) / max(middle - start, 1e-6))
            batches.append(facts.value)
    return facts.add(found=sorted(ratios)[1], batches=batches, after=rounds[0][0][:50])


def right(case):
    return [(images[chosen] / 255 - 0.5) / 0.5 for images, chosen in draw_rounds(case)]


outcome = attrgetter("batches")
returns = (
    "not-a-batch",
    lambda x, case: is_tensor(x) and (x.shape, x.dtype) == (case.shape, torch.float32),
)
side_effects = {"input-changed": lambda f: not is_equal(f.after.values, draw_images(f.case)[:50])}
mistakes = {
    "different-images": lambda f: abs((x := f.value.values).min() + 1) < 1e-3 and x.max() < 1.001,
    "different-numbers": lambda f: {"low": f.value.values.min(), "high": f.value.values.max()},
}
costs = {"not-faster": lambda f: f.found < f.case.wanted}
hints = """
not-a-batch: `prepare` returns {found}, but it should return a float32 tensor of shape {shape}.
    -> Your result should equal that of the slow function. Compare the two on a few images.
different-images: The batch does not hold the chosen images in the given order.
    -> `chosen` is not sorted and can name an image twice. What does a tensor as an index return?
different-numbers: The numbers of the batch go from {low:.3g} to {high:.3g}; those of the slow
    function go from -1 to 1.
    -> Print both batches for an image that is all 0 and one that is all 255. What happens to a byte
    when you divide it or subtract from it?
not-faster: In this session, your `prepare` is {found:.1f} times as fast as the slow one (median of
    {rounds} rounds); it should be at least {wanted} times as fast.
    -> Which work do you repeat for each row that you could do once for all rows? Does your code
    touch images that were not chosen, or turn pixels into Python numbers?
"""
