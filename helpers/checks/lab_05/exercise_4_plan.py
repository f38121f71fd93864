"""Lab 05, exercise 4: the steps and the learning rate for another batch size."""

import math

answers = "plan(images, batch, base_batch=4, base_rate=0.001, limit=0.1)"
points = 2
success = "A larger batch, fewer steps, and a learning rate to match."
section = "The learning rate of a larger batch"
tolerance = 1e-6


def cases(draw):
    r = draw.randint
    for base, rate, limit in ((4, 0.001, 0.1), (3, 0.002, 0.3), (8, 0.004, 0.1)):
        options = {"base_batch": base, "base_rate": rate, "limit": limit}
        for batch in (base, r(20, 39), 64, r(2, 3), 4096, 512):
            for images in (batch * r(3, 90), batch * r(3, 90) + r(1, batch - 1)):
                case = {"images": images, "batch": batch, "base": rate, **options}
                yield {**case, "options": {} if base == 4 else options}


def collect(call, case, plan):
    return call(plan, case.images, case.batch, **case.options)


def right(case):
    rate = case.base_rate * case.batch / case.base_batch
    return math.ceil(case.images / case.batch), min(rate, case.limit)


returns = (
    "not-a-pair",
    lambda x, case: isinstance(x, tuple | list) and [*map(type, x)] in ([int, int], [int, float]),
)
mistakes = {
    "wrong-steps": lambda f: f.value[0] != f.right[0] and {"found": f.value[0]},
    "wrong-rate": lambda f: {"found": f.value[1]},
}
hints = """
not-a-pair: `plan` returns {what} instead of a pair: the steps, an int, and the learning rate.
    -> Return two values, separated by a comma.
wrong-steps: For {images} images in batches of {batch}, you plan {found} steps.
    -> A smaller last batch needs a step too. What if there is no remainder?
wrong-rate: For batches of {batch}, your rate is {found:g}; for {base_batch}, it is {base:g}.
    -> By which factor does the batch size grow? So does the rate, up to the limit {limit:g}.
"""
