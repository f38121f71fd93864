"""Lab 04, exercise 2: `accuracy`."""

import math

import torch

from helpers.checks.comparing import find_devices
from helpers.checks.descriptions import describe, is_number
from helpers.checks.lab_04.shared import Batches, ObservedNet, confusion, lab, observed_network
from helpers.checks.trial import Answer, Trial
from helpers.language import translate


@lab.exercise(
    2, points=3, success_message="The accuracy is right, and the CPU waits for the GPU once."
)
def exercise_2(trial: Trial, accuracy: Answer) -> None:
    """`accuracy(net, batches)`: the accuracy, counted on the network's device."""
    for device in (trial.device, torch.device("cpu")):
        training = device.type == "cuda"
        full_size = trial.random.randint(5, 9)
        sizes = [full_size] * trial.random.randint(4, 6) + [1, trial.random.randint(2, 4)]
        net, batches, accuracies = _make_distinguishing_batches(trial, sizes)
        counts = confusion(net, batches)
        correct, images = int(counts.diagonal().sum()), sum(sizes)
        net.to(device).train(training)
        with trial.watch() as watch:
            result = trial.result_of(accuracy, net, batches)
        trial.expect(is_number(result), "not-a-number", what=describe(result))
        devices_after = find_devices(net)
        details = ", ".join(map(str, devices_after))
        trial.expect(devices_after == {device}, "net-moved", before=device, after=details)
        others = set(net.devices) - {device}
        details = ", ".join(sorted(map(str, others)))
        trial.expect(not others, "predicted-elsewhere", before=device, after=details)
        trial.expect(not any(net.modes), "train-mode")
        mode_kept = net.training == training
        trial.expect(mode_kept, "mode-not-restored", before=training, after=net.training)
        trial.expect(not any(net.gradients), "keeps-gradients")
        trial.expect(not trial.gradients_disabled, "gradients-left-off")
        _check_accuracy(trial, float(result), correct, images, sizes, accuracies)
        if device.type != "cpu":
            details = {
                "batches": len(batches),
                "fetched": watch.fetches,
                "enough": translate("once is enough"),
            }
            # One more is allowed, to check whether there are any images.
            trial.expect(watch.fetches <= 2, "many-fetches", **details)


def _make_distinguishing_batches(
    trial: Trial, sizes: list[int]
) -> tuple[ObservedNet, Batches, list[float]]:
    """Return a network, batches on which each mistake gives a different result, and accuracies."""
    for _ in range(20):
        net, batches = observed_network(trial, sizes)
        counts = [confusion(net, [batch]).diagonal().sum().item() for batch in batches]
        accuracies = [count / size for count, size in zip(counts, sizes, strict=True)]
        totals = {sum(sizes), *_guesses(sizes)}
        numbers = [sum(accuracies) / len(accuracies), *(sum(counts) / total for total in totals)]
        if len({round(number, 4) for number in numbers}) == len(numbers):
            break
    return net, batches, accuracies


def _guesses(sizes: list[int]) -> set[int]:
    """Return wrong values that students may use as the number of images."""
    count = len(sizes)
    return {count * sizes[0], count * sizes[-1], count * 4, count} - {sum(sizes)}


def _check_accuracy(
    trial: Trial,
    result: float,
    correct: int,
    images: int,
    sizes: list[int],
    accuracies: list[float],
) -> None:
    exact = correct / images
    if math.isclose(result, exact, rel_tol=1e-5):
        return
    trial.expect(not math.isclose(result, 100 * exact, rel_tol=1e-4), "in-percent", found=result)
    mean_of_means = sum(accuracies) / len(accuracies)
    trial.expect(not math.isclose(result, mean_of_means, rel_tol=1e-4), "mean-of-means")
    for guess in _guesses(sizes):
        matches = math.isclose(result, correct / guess, rel_tol=1e-4)
        trial.expect(not matches, "wrong-total", guessed=guess, images=images)
    raise trial.wrong("wrong-fraction", correct=correct, images=images, found=result)
