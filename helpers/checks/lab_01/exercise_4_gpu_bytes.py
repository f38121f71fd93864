"""Lab 01, exercise 4: the bytes that torch allocates for a tensor on a GPU."""

import math

import torch

from helpers.checks.exercise import otherwise
from helpers.checks.plain import first, is_int

answers = "gpu_bytes(shape, dtype)"
points = 2
success = "You can tell whether a tensor fits before you create it."
section = "How much memory a tensor takes"

DTYPES = (torch.uint8, torch.float16, torch.float32, torch.float64)


def cases(draw):
    r = draw.randint
    # More than two blocks of 512 bytes each, so that each mistake gives a different result.
    shapes = [((r(5, 9), r(8, 30), r(31, 60)), dtype) for dtype in DTYPES]
    shapes += [((128 * r(2, 9),), torch.float32), ((64 * r(2, 9) + 1,), torch.float64)]
    shapes += [((), torch.uint8), ((r(1, 100),), torch.uint8), ((0, r(2, 9)), torch.float32)]
    shapes += [((2**20, 2**23 + r(1, 9)), torch.float16)]
    yield from ({"shape": shape, "dtype": dtype} for shape, dtype in shapes)


def exact(case):
    return math.prod(case.shape) * case.dtype.itemsize


def rounded(size):
    return (size + 511) // 512 * 512


def right(case):
    return rounded(exact(case))


def size_of_other_dtype(f):
    """Return the size per number for which the answer would be right."""
    elements = math.prod(f.case.shape)
    sizes = (size for size in (1, 2, 4, 8) if size != f.case.dtype.itemsize)
    matches = (s for s in sizes if f.value in (elements * s, rounded(elements * s)))
    return elements > 512 and first({"size": size} for size in matches)


errors = {
    "allocates": lambda f: (
        math.prod(f.case.shape) > 2**40
        and (f.error.hint == "too-much-memory" or "allocate" in f.error.text)
    )
}
returns = ("not-a-whole-number", lambda value, case: is_int(value))
mistakes = {
    "not-rounded": lambda f: f.value == exact(f.case),
    "dtype-ignored": size_of_other_dtype,
    "wrong-blocks": lambda f: f.value % 512 == 0 and abs(f.value - exact(f.case)) <= 512,
    "wrong-bytes": otherwise,
}
hints = """
not-a-whole-number: `gpu_bytes` returns {what}, but it should return a number of bytes as an int.
    -> There are no fractions of a byte. Does your function contain a division with `/`?
allocates: For the shape {shape}, `gpu_bytes` tries to create the tensor, which is larger than any
    memory.
    -> You know the shape and the dtype. Which numbers follow from them without creating the tensor?
not-rounded: For {dtype} and the shape {shape}, the numbers take {found} bytes, but torch allocates
    more than that.
    -> torch allocates a GPU's memory in blocks. How large is a block?
wrong-blocks: For {dtype} and the shape {shape}, your answer is {found} bytes. That is not the
    smallest number of blocks that is enough.
    -> Try sizes below, at and above a multiple of 512. How many blocks does each of them need?
dtype-ignored: Your answer for {dtype} is right for a dtype with {size} bytes per number.
    -> How many bytes does one element of this dtype take? torch can tell you.
wrong-bytes: For {dtype} and the shape {shape}, your answer is {found} bytes.
    -> How many numbers does a tensor of this shape have? Try `()`, `(3,)` and `(0, 5)` too.
"""
