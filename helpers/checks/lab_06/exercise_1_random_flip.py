"""Lab 06, exercise 1: each image mirrored horizontally with probability 1/2."""

from helpers.checks.lab_06 import shared
from helpers.checks.lab_06.shared import augment, make_images
from helpers.language import translate

answers = "random_flip(images)"
points = 2
success = "Each image is flipped independently, in one operation for the batch."
section = "Images that never leave the device"
collect = augment

COUNT = 2048


def cases(draw):
    for device in (draw.device, "cpu"):
        size = draw.randint(5, 9)
        case = {"device": device, "shape": (COUNT, 3, size, size + 1), "others": ()}
        yield {**case, "seed": draw.randrange(2**31), "count": COUNT, "calls": 6}


def is_mirror(f):
    images = make_images(f.case)
    both = [(f.value.values == x).flatten(1).all(1) for x in (images, images.flip(3))]
    return (both[0] | both[1]).all()


def all_or_none(f):
    every = translate("every image was mirrored"), translate("no image was mirrored")
    return {*f.changed} <= {0, COUNT} and {"what": every[f.changed[0] == 0]}


def wrong_fraction(f):
    # The standard deviation of this count is 23: 150 is more than 6 standard deviations.
    wrong = [count for count in f.changed if abs(count - COUNT / 2) > 150]
    return wrong and {"mirrored": wrong[0]}


side_effects = shared.side_effects | {
    "not-a-mirror": lambda f: not is_mirror(f),
    "same-for-all-images": all_or_none,
    "wrong-fraction": wrong_fraction,
    # With independent draws, all six counts are exactly half in 1 of 10^10 runs.
    "always-half": lambda f: {*f.changed} == {COUNT // 2},
}
costs = shared.costs
hints = """
not-a-mirror: One of the returned images is neither the original nor its horizontal mirror image.
    -> Which of the four dimensions is the horizontal one? Try an image with a single white pixel.
wrong-fraction: Of {count} images, {mirrored} were mirrored, but it should be about half of them.
    -> Draw as many random numbers as there are images, and look at how many of them select an
    image.
always-half: In each of {calls} calls, exactly half of the {count} images were mirrored.
    -> If each image is mirrored independently of the others, their number changes from call to
    call. How do you choose them?
"""
