"""Lab 08, exercise 3: the dtype of each expression under autocast with float16."""

import torch
from torch.nn import functional as F

from helpers.checks.plain import first

answers = "predict()"
points = 2
success = "All ten dtypes are right."
section = "Autocast: which operation runs in what"

# Each expression, and the hint for a wrong dtype.
EXPRESSIONS = {
    "x @ w": "wrong-product",
    "F.linear(h, w)": "wrong-product",
    "h.softmax(1) @ w": "wrong-product",
    "x + w": "wrong-input-dtype",
    "h.relu()": "wrong-input-dtype",
    "h + x": "wrong-widest-dtype",
    "torch.cat([h, x])": "wrong-widest-dtype",
    "h.softmax(1)": "wrong-sensitive-operation",
    "h.sum()": "wrong-sensitive-operation",
    "F.cross_entropy(h, t)": "wrong-sensitive-operation",
}


def cases(draw):
    return [{"device": draw.device}]


def collect(call, case, predict):
    facts = call(predict)
    x, w = torch.ones(2, 4, 4, device=case.device)
    names = {"x": x, "w": w, "t": torch.zeros(4, dtype=torch.int64, device=case.device)}
    with torch.autocast("cuda", dtype=torch.float16):
        names |= {"h": x @ w, "F": F, "torch": torch}
        actual = {text: eval(text, names).dtype for text in EXPRESSIONS}
    return facts.add(actual=actual)


def wrong(hint):
    """Return the row for expressions of one kind."""

    def predicate(f):
        is_right = {name: f.value[name] == dtype for name, dtype in f.actual.items()}
        all_right = all(is_right[name] for name, id in EXPRESSIONS.items() if id == hint)
        return not all_right and {"right": sum(is_right.values())}

    return predicate


returns = (
    "not-the-dictionary",
    lambda value, case: isinstance(value, dict) and value.keys() == EXPRESSIONS.keys(),
)
side_effects = {
    "not-a-dtype": lambda f: first(
        not isinstance(dtype, torch.dtype) and {"name": name, "found": repr(dtype)}
        for name, dtype in f.value.items()
    )
} | {hint: wrong(hint) for hint in EXPRESSIONS.values()}
hints = """
not-the-dictionary: `predict` returns {what}, but it should return the given dictionary with all ten
    names.
    -> Keep the keys and fill in the values.
not-a-dtype: The value for `{name}` is {found}, but it should be a dtype.
    -> The answers are `torch.float16` or `torch.float32`, without quotation marks.
wrong-product: {right} of 10 are right. At least one of the matrix products is wrong.
    -> A product runs in 16 bits whatever the dtypes of its inputs are.
wrong-input-dtype: {right} of 10 are right. At least one of the operations that autocast leaves
    alone is wrong.
    -> Which operations are on none of the lists, and which dtype do their inputs have?
wrong-widest-dtype: {right} of 10 are right. At least one of the operations with inputs of two
    dtypes is wrong.
    -> `h` is float16 and `x` is float32. Which of the two can hold both?
wrong-sensitive-operation: {right} of 10 are right. At least one of the operations that overflow or
    lose digits easily is wrong.
    -> Think of exponentials, of sums, and of losses.
"""
