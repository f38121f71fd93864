"""Lab 01, exercise 4: the bytes that torch allocates for a tensor on a GPU."""

import math

import torch

from helpers.memory import allocated_size

answers = "gpu_bytes(shape, dtype)"
points = 2
success = "You can tell whether a tensor fits before you create it."
section = "How much memory a tensor takes"


def cases(draw):
    r, dtypes = draw.randint, (torch.uint8, torch.float16, torch.float32, torch.float64)
    # More than two blocks of 512 bytes each, so that each mistake gives a different result.
    shapes = [((r(5, 9), r(8, 30), r(31, 60)), dtype) for dtype in dtypes]
    shapes += [((128 * r(2, 9),), torch.float32), ((64 * r(2, 9) + 1,), torch.float64)]
    shapes += [((), torch.uint8), ((r(1, 100),), torch.uint8), ((0, r(2, 9)), torch.float32)]
    shapes += [((2**20, 2**23 + r(1, 9)), torch.float16)]
    yield from ({"shape": shape, "dtype": dtype, "size": 4} for shape, dtype in shapes)


def exact(case):
    return math.prod(case.shape) * case.dtype.itemsize


def right(case):
    return allocated_size(exact(case))


returns = ("not-an-int", lambda value, case: type(value) is int)
wrong_outcomes = {
    "not-rounded": exact,
    "dtype-ignored": lambda case: allocated_size(math.prod(case.shape) * case.size),
}
mistakes = {
    "wrong-blocks": lambda f: f.value % 512 == 0 and abs(f.value - exact(f.case)) <= 512,
    "wrong-bytes": True,
}
hints = """
not-rounded: For {dtype} and shape {shape}, the numbers take {found} bytes; torch allocates more.
    -> torch allocates a GPU's memory in blocks. How large is a block?
wrong-blocks: For {dtype} and the shape {shape}, your answer, {found} bytes, is a whole
    number of blocks, but not the smallest one that is enough.
    -> Try sizes below, at and above a multiple of 512. How many blocks does each of them need?
dtype-ignored: Your answer for {dtype} is right for a dtype with {size} bytes per number.
    -> How many bytes does one element of this dtype take? torch can tell you.
wrong-bytes: For {dtype} and the shape {shape}, your answer is {found} bytes.
    -> How many numbers does a tensor of this shape have? Try `()`, `(3,)` and `(0, 5)` too.
"""
