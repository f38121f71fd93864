"""Lab 01, exercise 5: the mean of all numbers, with one read from the GPU."""

import torch

from helpers.checks.plain import PlainTensor, is_number

answers = "compute_mean(batches)"
points = 3
success = "The mean is right, and the CPU waits for the GPU once."
section = "Hidden waiting"
tolerance = 1e-4


def cases(draw):
    for device in draw.devices:
        full_size, last_size = draw.randint(5, 9), draw.randint(1, 3)
        sizes = [full_size] * draw.randint(4, 8) + [last_size]
        values = [draw.normal(n, 3).values + 5 * i for i, n in enumerate(sizes, start=1)]
        batches = [PlainTensor(value, device) for value in values]
        yield {"batches": batches, "device": device, "sizes": ", ".join(str(3 * n) for n in sizes)}


def right(case):
    return torch.cat([batch.values.double() for batch in case.batches]).mean().item()


def mean_of_means(case):
    return torch.stack([batch.values.double().mean() for batch in case.batches]).mean().item()


questions = ["input-changed"]
returns = ("not-a-number", lambda value, case: is_number(value))
wrong_outcomes = {"mean-of-means": mean_of_means}
mistakes = {"wrong-mean": True}
costs = {
    "many-fetches": lambda f: f.waits > 1 and {"batches": len(f.case.batches), "fetched": f.waits}
}
hints = """
mean-of-means: Your result is the mean of the batch means: the smaller last batch counts too much.
    -> Which two totals does the mean of all numbers need?
wrong-mean: For batches of {sizes} numbers, the result is not their mean.
    -> Try it with two batches, of 1 and of 3 numbers, whose mean you can compute in your head.
"""
