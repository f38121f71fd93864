"""Lab 08, exercise 2: the dtype of each expression under autocast with float16."""

import torch

answers = "predict()"
points = 2
success = "All ten dtypes are right."
section = "Autocast: which operation runs in what"
HALF, SINGLE = torch.float16, torch.float32
# The dtypes of each kind of operation, by the hint for a wrong one.
KINDS = {
    "wrong-product": {"x @ w": HALF, "F.linear(h, w)": HALF, "h.softmax(1) @ w": HALF},
    "wrong-input-dtype": {"x + w": SINGLE, "h.relu()": HALF},
    "wrong-widest-dtype": {"h + x": SINGLE, "torch.cat([h, x])": SINGLE},
    "wrong-sensitive-operation": dict.fromkeys(
        ("h.softmax(1)", "h.sum()", "F.cross_entropy(h, t)"), SINGLE
    ),
}


def cases(draw):
    return [{}]


def right(case):
    return {name: dtype for dtypes in KINDS.values() for name, dtype in dtypes.items()}


def is_dictionary_of_dtypes(value, case):
    is_right = isinstance(value, dict) and value.keys() == right(case).keys()
    return is_right and all(isinstance(dtype, torch.dtype) for dtype in value.values())


returns = ("not-the-dictionary", is_dictionary_of_dtypes)
mistakes = {
    kind: lambda f, dtypes=dtypes: (
        not dtypes.items() <= f.value.items() and {"right": len(f.right.items() & f.value.items())}
    )
    for kind, dtypes in KINDS.items()
}
hints = """
not-the-dictionary: `predict` should return the given dictionary, with a dtype for each of the ten
    names.
    -> Keep the keys. The values are `torch.float16` or `torch.float32`, without quotation marks.
wrong-product: {right} of 10 are right. At least one of the matrix products is wrong.
    -> A product runs in 16 bits whatever the dtypes of its inputs are.
wrong-input-dtype: {right} of 10 are right. An operation that autocast leaves alone is wrong.
    -> Which operations are on none of the lists, and which dtype do their inputs have?
wrong-widest-dtype: {right} of 10 are right. An operation with inputs of two dtypes is wrong.
    -> `h` is float16 and `x` is float32. Which of the two can hold both?
wrong-sensitive-operation: {right} of 10 are right. An operation that loses digits easily is wrong.
    -> Think of exponentials, of sums, and of losses.
"""
