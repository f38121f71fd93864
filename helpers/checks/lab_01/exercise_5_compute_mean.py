"""Lab 01, exercise 5: `compute_mean`."""

import torch

from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_01.shared import lab
from helpers.checks.trial import Answer, Trial


@lab.exercise(5, points=3, success_message="The mean is right, and the CPU waits for the GPU once.")
def exercise_5(trial: Trial, compute_mean: Answer) -> None:
    """`compute_mean(batches)`: the mean of all numbers, with one read from the GPU."""
    for device in trial.devices:
        full_size, last_size = trial.random.randint(5, 9), trial.random.randint(1, 3)
        count = trial.random.randint(4, 8)
        sizes = [full_size] * count + [last_size]
        batches = [trial.normal(n, 3, device=device) + 5 * i for i, n in enumerate(sizes, start=1)]
        exact = torch.cat([b.cpu().double() for b in batches]).mean().item()
        mean_of_means = sum(b.cpu().double().mean().item() for b in batches) / len(batches)
        copies = [b.clone() for b in batches]
        with trial.watch() as watch:
            result = trial.result_of(compute_mean, batches)
        is_plain = is_number(result)
        trial.expect(is_plain, "not-a-number", what=describe(result))
        unchanged = len(batches) == len(copies) and all(map(torch.equal, batches, copies))
        trial.expect(unchanged, "input-changed")
        is_mean_of_means = abs(result - mean_of_means) <= 1e-3 * abs(mean_of_means)
        trial.expect(not is_mean_of_means, "mean-of-means")
        close = abs(result - exact) <= 1e-4 * abs(exact)
        trial.expect(close, "wrong-mean", sizes=", ".join(str(3 * n) for n in sizes))
        if device.type != "cpu":
            one_fetch = watch.fetches <= 1
            trial.expect(one_fetch, "many-fetches", batches=len(batches), fetched=watch.fetches)
