"""Lab 06, exercise 1: each image mirrored horizontally with probability 1/2."""

from helpers.checks.lab_06 import shared
from helpers.checks.plain import first

answers = "random_flip(images)"
points = 2
success = "Each image is flipped independently, in one operation for the batch."
section = "Images that never leave the device"
collect, costs = shared.collect, shared.costs
questions, returns = shared.questions, shared.returns


def cases(draw):
    for device in (draw.device, "cpu"):
        size = draw.randint(5, 9)
        yield shared.make_case(draw, draw.normal(2048, 3, size, size + 1, device=device))


def equal_images(f, result, *flipped):
    return (result.values == f.case.images.values.flip(flipped)).flatten(1).all(1)


def counts(f):
    """Return how many images each call mirrored."""
    return [f.case.count - int(equal_images(f, x).sum()) for x in f.results]


side_effects = {
    "not-a-mirror": lambda f: not all(equal_images(f, f.value) | equal_images(f, f.value, 3)),
    # The standard deviation of this count is 23: 150 is more than 6 standard deviations.
    "wrong-fraction": lambda f: first(
        abs(count - f.case.count / 2) > 150 and {"mirrored": str(count)} for count in counts(f)
    ),
    "shared-number": lambda f: (
        (x := equal_images(f, f.value))[::2].equal(x[1::2]) or x[:1024].equal(x[1024:])
    ),
    # With independent draws, all six counts are exactly half in 1 of 10^10 runs.
    "always-half": lambda f: {*counts(f)} == {f.case.count // 2},
}
hints = """
not-a-mirror: One of the returned images is neither the original nor its horizontal mirror image.
    -> Which of the four dimensions is the horizontal one? Try an image with a single white pixel.
wrong-fraction: Of {count} images, {mirrored} were mirrored, but it should be about half of them.
    -> Draw one random number for each image, and look at how many of them select an image.
shared-number: Some images are always mirrored together, so they share a random number.
    -> How many random numbers do you draw for {count} images, and which image gets which?
always-half: In each of {calls} calls, exactly half of the {count} images were mirrored.
    -> If images are mirrored independently, their number changes. How do you choose them?
"""
