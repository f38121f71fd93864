"""The checks of lab 04, CIFAR-10 on a GPU."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks.core import Hint, Lab, Trial
from helpers.networks import ClassicNet

lab = Lab("04_cifar10_on_gpu", seconds=20)

_CLASSIC = "The classic script, on the CPU"
_EDITS = "Three edits"
_AWAY = "When the machine is taken away"
_RELOAD = "Save and reload"
_GOOD = "How good is it?"
_CLASSES = "For each class, and a trap"

_Batches = list[tuple[torch.Tensor, torch.Tensor]]


def _close(one: nn.Module, other: nn.Module) -> bool:
    """Whether two networks have the same weights, as far as two devices can agree on them."""
    pairs = zip(one.parameters(), other.parameters(), strict=False)
    return all(torch.allclose(a.cpu(), b.cpu(), rtol=1e-3, atol=2e-4) for a, b in pairs)


def _devices(net: nn.Module) -> set[torch.device]:
    return {parameter.device for parameter in net.parameters()}


# Exercise 1
NOT_A_NET = Hint(
    "not-the-network",
    "`train_classic` returns a {what}; the trained network is asked for.",
    "What does the script that was given return? Keep that line.",
    _CLASSIC,
)
STAYED = Hint(
    "net-on-cpu",
    "There is a GPU, and the network that comes back lies on {found}.",
    "Which line decides where the arithmetic happens, and what is `device` there?",
    _EDITS,
)
ONLY_WITH_GPU = Hint(
    "needs-a-gpu",
    "On a machine without a GPU, `train_classic` {what}.",
    "Name the device inside the function, and ask the machine which one it has. Nothing else in "
    "the script should say which device it is.",
    _EDITS,
)
CARRIED_BACK = Hint(
    "carried-back",
    "Your loop carries {bytes} bytes from the GPU back to the CPU.",
    "Where does the loss compare the answers with the labels? Which of the two has to travel, so "
    "that it does so on the GPU?",
    _EDITS,
)
OTHER_TRAINING = Hint(
    "other-training",
    "The network comes back with other weights than the script that was given would learn.",
    "Three edits are enough, and none of them changes what is computed. Compare the rest with the "
    "script: the optimizer, the order of the lines, how many batches are used.",
    _CLASSIC,
)
NOT_TRAINED = Hint(
    "not-trained",
    "The network comes back with the weights it had before.",
    "Whose parameters did the optimizer get, and are they those of the network that you call?",
    _EDITS,
)


@lab.exercise(1, points=3, right="Three edits, and the same training happens on the GPU.")
def exercise_1(trial: Trial, train_classic: Callable[..., Any]) -> None:
    """`train_classic(net, batches)`: the classic script, on the GPU if there is one."""
    torch.manual_seed(trial.seed)
    net = ClassicNet()
    sizes = [4] * trial.random.randint(2, 4) + [trial.random.randint(1, 3)]
    batches = [(trial.normal(n, 3, 32, 32), trial.integers(0, 10, (n,))) for n in sizes]
    expected = _classic_reference(copy.deepcopy(net), batches)
    on_gpu = copy.deepcopy(net)
    with trial.watch() as watch:
        result = trial.call(train_classic, on_gpu, batches)
    trial.expect_result(result)
    trial.expect(isinstance(result, nn.Module), NOT_A_NET, what=type(result).__name__)
    found = ", ".join(sorted(map(str, _devices(result))))
    trial.expect(all(d.type == "cuda" for d in _devices(result)), STAYED, found=found)
    # A loss is fetched in some ways: four bytes, or eight.
    back = [m.bytes for m in watch.moves if m.source.type == "cuda" and m.bytes > 8]
    trial.expect(not back, CARRIED_BACK, bytes=sum(back))
    trial.expect(not _close(result, net), NOT_TRAINED)
    trial.expect(_close(result, expected), OTHER_TRAINING)
    with trial.machine_with(0):
        outcome = trial.outcome(train_classic, copy.deepcopy(net), batches)
        if outcome.error is not None:
            told = str(outcome.error).splitlines()[0][:120]
            raise ONLY_WITH_GPU.of(what=f"stops with {type(outcome.error).__name__}: {told}")
        trial.expect_result(outcome.value)
        here = _devices(outcome.value)
        trial.expect(here == {torch.device("cpu")}, ONLY_WITH_GPU, what="still wants a GPU")


def _classic_reference(net: nn.Module, batches: _Batches) -> nn.Module:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(inputs), targets).backward()
        optimizer.step()
    return net


# Exercises 2 and 3
class _Judged(nn.Module):
    """A network to evaluate. It notes how it is called: where, in which mode, with gradients."""

    def __init__(self, features: int, classes: int = 10) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.linear = nn.Linear(features, classes)
        self.modes: list[bool] = []
        self.gradients: list[bool] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        return self.linear(self.drop(images.flatten(1)))


def _examination(trial: Trial, sizes: list[int], classes: int = 10) -> tuple[_Judged, _Batches]:
    """A network and batches of which it gets about 6 in 10 right, all in the last two."""
    torch.manual_seed(trial.seed)
    net = _Judged(12, classes).eval()
    batches = []
    for place, size in enumerate(sizes):
        images = trial.normal(size, 3, 2, 2) * 3
        with torch.no_grad():
            labels = net(images).argmax(1)
        wrong = torch.rand(size, generator=trial.generator) < 0.4
        wrong &= torch.tensor(place < len(sizes) - 2)
        labels = torch.where(wrong, (labels + 1) % classes, labels)
        batches.append((images, labels))
    net.modes.clear()
    net.gradients.clear()
    return net, batches


@torch.no_grad()
def _confusion(net: _Judged, batches: _Batches, classes: int = 10) -> torch.Tensor:
    """Counts, row = true class, column = answer; the network lies on the CPU."""
    modes, gradients = list(net.modes), list(net.gradients)
    pairs = torch.cat([labels * classes + net(images).argmax(1) for images, labels in batches])
    net.modes[:], net.gradients[:] = modes, gradients
    return torch.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


NOT_A_SHARE = Hint(
    "not-a-number",
    "`accuracy` returns a {what}; a plain Python number from 0 to 1 is asked for.",
    "A tensor with one number in it is still a tensor on its device. What makes a number of it?",
    _GOOD,
)
IN_PERCENT = Hint(
    "in-percent",
    "`accuracy` returns {found:g}; a share from 0 to 1 is asked for.",
    "Percent are for people. What does the division alone give?",
    _GOOD,
)
TRAINS_WHILE_JUDGED = Hint(
    "train-mode",
    "The network was in training mode while you judged it: its dropout threw away half of what it "
    "saw.",
    "A module has two modes. Which method switches to the one for evaluation, and where must that "
    "line stand?",
    _CLASSES,
)
MODE_LEFT = Hint(
    "mode-left",
    "The network was in {before} mode before the call and is in {after} mode after it.",
    "Whoever called you may want to go on training. Note the mode at the beginning "
    "(`net.training`); what do you do with it at the end?",
    _CLASSES,
)
KEEPS_GRADIENTS = Hint(
    "keeps-gradients",
    "Gradients were being tracked while you judged the network.",
    "Nothing is learnt here. Which block tells torch so, and is the call of the network inside it?",
    _GOOD,
)
JUDGED_ELSEWHERE = Hint(
    "judged-elsewhere",
    "The network was handed in on {before}, and after the call it lies on {after}.",
    "A module moves in place, for everybody who has it. What should travel instead, and to where?",
    _EDITS,
)
MEAN_OF_MEANS = Hint(
    "mean-of-means",
    "Your result is the mean of the batches' accuracies. The last batch is smaller than the "
    "others, and its images should not count for more.",
    "Which two counts does the share of all images need?",
    _GOOD,
)
TOTAL_GUESSED = Hint(
    "total-guessed",
    "You divide by {guessed}, and there are {images} images.",
    "Is every batch as large as the first? Where can you read off how many images it has?",
    _CLASSES,
)
WRONG_SHARE = Hint(
    "wrong-share",
    "The network gets {correct} of {images} images right, and `accuracy` returns {found:.4g}.",
    "Try it by hand on a batch of two images: what are the answers, and which are right?",
    _GOOD,
)
MANY_FETCHES = Hint(
    "many-fetches",
    "For {batches} batches, your function takes numbers from the GPU {fetched} times; {enough}.",
    "Which line in your loop makes a Python number of a tensor, or brings it to the CPU? The sum "
    "can lie where the answers are.",
    _GOOD,
)


@lab.exercise(2, points=3, right="The share is right, and the CPU waits for the GPU once.")
def exercise_2(trial: Trial, accuracy: Callable[..., Any]) -> None:
    """`accuracy(net, batches)`: the share of right answers, counted on the network's device."""
    for device in (trial.device, torch.device("cpu")):
        training = device.type == "cuda"
        full = trial.random.randint(5, 9)
        sizes = [full] * trial.random.randint(4, 6) + [1, trial.random.randint(2, 4)]
        net, batches, shares = _telling_examination(trial, sizes)
        counts = _confusion(net, batches)
        correct, images = int(counts.diagonal().sum()), sum(sizes)
        net.to(device).train(training)
        with trial.watch() as watch:
            found = trial.call(accuracy, net, batches)
        trial.expect_result(found)
        plain = isinstance(found, int | float) and not isinstance(found, bool)
        trial.expect(plain, NOT_A_SHARE, what=type(found).__name__)
        after = _devices(net)
        told = ", ".join(map(str, after))
        trial.expect(after == {device}, JUDGED_ELSEWHERE, before=device, after=told)
        trial.expect(not any(net.modes), TRAINS_WHILE_JUDGED)
        names = {True: "training", False: "evaluation"}
        kept = net.training == training
        trial.expect(kept, MODE_LEFT, before=names[training], after=names[net.training])
        trial.expect(not any(net.gradients), KEEPS_GRADIENTS)
        _judge_share(trial, float(found), correct, images, sizes, shares)
        if device.type != "cpu":
            told = {"batches": len(batches), "fetched": watch.fetched, "enough": "once is enough"}
            # A question whether there was any image at all is forgiven.
            trial.expect(watch.fetched <= 2, MANY_FETCHES, **told)


def _telling_examination(trial: Trial, sizes: list[int]) -> tuple[_Judged, _Batches, list[float]]:
    """An examination in which each mistake gives a number of its own; and the batches' shares."""
    for _ in range(20):
        net, batches = _examination(trial, sizes)
        counts = [_confusion(net, [batch]).diagonal().sum().item() for batch in batches]
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        totals = {sum(sizes), *_guesses(sizes)}
        numbers = [sum(shares) / len(shares), *(sum(counts) / total for total in totals)]
        if len({round(number, 4) for number in numbers}) == len(numbers):
            break
    return net, batches, shares


def _guesses(sizes: list[int]) -> set[int]:
    """What students take for the number of images."""
    count = len(sizes)
    return {count * sizes[0], count * sizes[-1], count * 4, count} - {sum(sizes)}


def _judge_share(
    trial: Trial, found: float, correct: int, images: int, sizes: list[int], shares: list[float]
) -> None:
    exact = correct / images
    if math.isclose(found, exact, rel_tol=1e-5):
        return
    trial.expect(not math.isclose(found, 100 * exact, rel_tol=1e-4), IN_PERCENT, found=found)
    means = sum(shares) / len(shares)
    trial.expect(not math.isclose(found, means, rel_tol=1e-4), MEAN_OF_MEANS)
    for guessed in _guesses(sizes):
        same = math.isclose(found, correct / guessed, rel_tol=1e-4)
        trial.expect(not same, TOTAL_GUESSED, guessed=guessed, images=images)
    raise WRONG_SHARE.of(correct=correct, images=images, found=found)


NOT_TEN = Hint(
    "not-ten-numbers",
    "`per_class` returns {what}; a list of ten Python numbers is asked for.",
    "One number a class, in the order of the classes, as plain numbers.",
    _CLASSES,
)
FIXED_BATCH = Hint(
    "fixed-batch",
    "For a batch of {size} images, `per_class` stops with {error}.",
    "The last batch is often smaller, and may even have one image. Which number in your code says "
    "how many there are?",
    _CLASSES,
)
FIRST_FOUR = Hint(
    "first-four",
    "Your function counts the first four images of each batch and no others.",
    "Read the loop over single images again: up to where does it go?",
    _CLASSES,
)
EMPTY_CLASS = Hint(
    "empty-class",
    "No image is of class {label}, and there `per_class` {what}; nan is asked for.",
    "Nothing divided by nothing is no number. What does a tensor make of 0 / 0, and what does "
    "Python?",
    _CLASSES,
)
BY_ANSWERS = Hint(
    "by-answers",
    "You divide by how often the network *answers* a class. Asked for is the share of the images "
    "that *are* of the class.",
    "In the table of true classes against answers: along which side do you add up?",
    _CLASSES,
)
SHARE_OF_ALL = Hint(
    "share-of-all",
    "You divide by the number of all images, so that ten times the share is asked of each class.",
    "How many images of this one class are there?",
    _CLASSES,
)
WRONG_CLASSES = Hint(
    "wrong-share",
    "For class {label}, `per_class` says {found:.3g}; {correct} of {images} are right.",
    "Work out by hand what a batch of three images should add to your counts.",
    _CLASSES,
)


@lab.exercise(3, points=3, right="Every image counts, in batches of any size.")
def exercise_3(trial: Trial, per_class: Callable[..., Any]) -> None:
    """`per_class(net, batches)`: for each of ten classes, the share of its images that is right."""
    draw = trial.random.randint
    for device, sizes in (
        (trial.device, [draw(20, 30)] * 4 + [1, draw(5, 9)]),
        (torch.device("cpu"), [draw(6, 9)] * 5 + [draw(2, 3), 1]),
    ):
        net, batches = _examination(trial, sizes)
        missing = draw(0, 9)
        for _, labels in batches:
            labels[labels == missing] = (missing + 1) % 10
        counts = _confusion(net, batches)
        four = _confusion(net, [(images[:4], labels[:4]) for images, labels in batches])
        net.to(device)
        with trial.watch() as watch:
            outcome = trial.outcome(per_class, net, batches)
        if outcome.error is not None:
            if isinstance(outcome.error, ZeroDivisionError):
                raise EMPTY_CLASS.of(label=missing, what="divides by zero")
            fixed = isinstance(outcome.error, IndexError)
            fixed = fixed or "0-d tensor" in str(outcome.error)
            error = f"{type(outcome.error).__name__}: {outcome.error}".rstrip(".")
            trial.expect(not fixed, FIXED_BATCH, size=min(sizes), error=error)
            raise trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        _judge_classes(trial, found, counts, four, missing)
        trial.expect(not any(net.gradients), KEEPS_GRADIENTS)
        if device.type != "cpu":
            told = {"batches": len(batches), "fetched": watch.fetched}
            told["enough"] = "two tables of counts need two at most"
            trial.expect(watch.fetched <= 2, MANY_FETCHES, **told)


def _judge_classes(
    trial: Trial, found: Any, counts: torch.Tensor, four: torch.Tensor, missing: int
) -> None:
    what = f"a {type(found).__name__}"
    if isinstance(found, list):
        kinds = {type(value).__name__ for value in found}
        what = f"a list of {len(found)} ({', '.join(sorted(kinds))})"
    good = isinstance(found, list) and len(found) == 10
    plain = good and all(isinstance(v, int | float) and not isinstance(v, bool) for v in found)
    trial.expect(plain, NOT_TEN, what=what)
    right = counts.diagonal().double()
    if _same_classes(found, right / counts.sum(1)):
        return
    trial.expect(not _same_classes(found, four.diagonal() / four.sum(1)), FIRST_FOUR)
    trial.expect(not _same_classes(found, right / counts.sum(0)), BY_ANSWERS)
    trial.expect(not _same_classes(found, right / counts.sum()), SHARE_OF_ALL)
    for label in (*range(10), missing):
        correct, images = int(right[label]), int(counts[label].sum())
        if images and not math.isclose(found[label], correct / images, rel_tol=1e-4):
            told = {"label": label, "found": found[label], "correct": correct, "images": images}
            raise WRONG_CLASSES.of(**told)
    raise EMPTY_CLASS.of(label=missing, what=f"says {found[missing]}")


def _same_classes(found: list[float], exact: torch.Tensor) -> bool:
    # A class that nobody answers, or that four of a batch do not show, may count as anything.
    pairs = list(zip(found, exact.tolist(), strict=True))
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
        for a, b in pairs
    )


# Exercise 4
NO_FILE = Hint(
    "no-file",
    "After `save(path, ...)` there is no file at `path`.",
    "Which function of torch writes to a file, and where do you tell it the file's name?",
    _RELOAD,
)
NOT_PLAIN = Hint(
    "not-plain",
    "`torch.load(path, weights_only=True)` refuses your file: {error}.",
    "A whole module or optimizer is a pickle that needs its code. What does a `state_dict` hold "
    "instead?",
    _RELOAD,
)
NOT_FILLED = Hint(
    "not-filled",
    "After `resume`, the network does not have the weights that were saved.",
    "Giving a name inside your function to something else leaves the caller's network as it was. "
    "Which method copies values into the parameters that are there?",
    _RELOAD,
)
MOMENTUM_LOST = Hint(
    "momentum-lost",
    "The weights are back, but training goes on differently from where it stopped.",
    "What besides the weights does the next step depend on, with momentum? Where does it lie?",
    _AWAY,
)
WRONG_EPOCH = Hint(
    "wrong-epoch",
    "You saved after epoch {saved}, and `resume` returns {found}.",
    "The number goes into the file with the rest, and comes out as it went in.",
    _AWAY,
)
SAVED_NEEDS_GPU = Hint(
    "needs-the-gpu",
    "On a machine without a GPU, `resume` stops: {error}.",
    "The file remembers where its tensors lay. Which argument of `torch.load` says where they go?",
    _RELOAD,
)
NET_CARRIED_OFF = Hint(
    "net-carried-off",
    "The network lay on {before}, and after `{name}` it lies on {after}.",
    "Neither saving nor loading needs the network anywhere else. What moves it?",
    _RELOAD,
)


@lab.exercise(4, points=3, right="A run in two parts ends where a run in one does.")
def exercise_4(trial: Trial, save: Callable[..., Any], resume: Callable[..., Any]) -> None:
    """`save(path, net, optimizer, epoch)` and `resume(path, net, optimizer)`, which gives epoch."""
    device = trial.device
    torch.manual_seed(trial.seed)
    first, second = (
        [(trial.normal(5, 6, device=device), trial.integers(0, 3, (5,), device)) for _ in range(4)]
        for _ in range(2)
    )
    net, optimizer = _small_net(device)
    _epoch_reference(net, optimizer, first)
    epoch = trial.random.randint(3, 90)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "checkpoint.pt"
        trial.call(save, path, net, optimizer, epoch)
        trial.expect(path.is_file(), NO_FILE)
        _stays(trial, net, device, "save")
        saved = copy.deepcopy(net)
        _epoch_reference(net, optimizer, second)  # what was saved must not change with it
        try:
            torch.load(path, weights_only=True, map_location="cpu")
        except Exception as error:
            told = str(error).split(". ")[0].splitlines()[0][:150].rstrip(". ")
            raise NOT_PLAIN.of(error=told) from None
        other, its_optimizer = _small_net(device)
        found = trial.call(resume, path, other, its_optimizer)
        _stays(trial, other, device, "resume")
        trial.expect(_close(other, saved), NOT_FILLED)
        trial.expect_result(found)
        whole = isinstance(found, int)
        told = found if whole else f"a {type(found).__name__}"
        trial.expect(whole and found == epoch, WRONG_EPOCH, saved=epoch, found=told)
        _epoch_reference(other, its_optimizer, second)
        trial.expect(_close(other, net), MOMENTUM_LOST)
        with trial.machine_with(0):
            other, its_optimizer = _small_net(torch.device("cpu"))
            outcome = trial.outcome(resume, path, other, its_optimizer)
            if outcome.error is not None:
                told = str(outcome.error).split(". ")[0].splitlines()[0].rstrip(". ")
                raise SAVED_NEEDS_GPU.of(error=told)
            _stays(trial, other, torch.device("cpu"), "resume")
            trial.expect(_close(other, saved), NOT_FILLED)


def _small_net(device: torch.device) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def _epoch_reference(
    net: nn.Module, optimizer: torch.optim.Optimizer, batches: _Batches, *, zero: bool = True
) -> float:
    """One epoch as it should be; the mean loss. Without `zero`, gradients pile up."""
    total, count = 0.0, 0
    optimizer.zero_grad()
    for inputs, targets in batches:
        if zero:
            optimizer.zero_grad()
        loss = F.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
        count += len(targets)
    return total / count


def _stays(trial: Trial, net: nn.Module, device: torch.device, name: str) -> None:
    after = ", ".join(sorted(map(str, _devices(net))))
    trial.expect(_devices(net) == {device}, NET_CARRIED_OFF, before=device, after=after, name=name)


# Exercise 5
EVALUATION_MODE = Hint(
    "evaluation-mode",
    "The network was handed in in evaluation mode, and it was trained in that mode: its BatchNorm "
    "learnt nothing of the images.",
    "Who says that training begins? Do not rely on the mode that the network happens to be in.",
    _CLASSES,
)
PILED_UP = Hint(
    "gradients-pile-up",
    "Each step goes along the gradients of all batches so far, and not of its own alone.",
    "`backward` adds to the gradients that are there. How often are they cleared, and how often "
    "is that needed?",
    _CLASSIC,
)
NO_STEP = Hint(
    "no-step",
    "After the epoch the network has the weights it had before.",
    "Go through one step in the order of the lines: when are the gradients made, used, cleared?",
    _CLASSIC,
)
NOT_A_LOSS = Hint(
    "keeps-the-graph",
    "`train_epoch` returns a {what}; the mean loss as a Python number is asked for.",
    "A loss that is added up as a tensor keeps all that it was computed from, batch after batch, "
    "until the memory is full. What turns it into a plain number?",
    _EDITS,
)
MEAN_OF_BATCHES = Hint(
    "mean-of-batches",
    "The loss is the mean over the batches. The last batch is smaller, and the mean over the "
    "images is asked for.",
    "By what do you multiply a batch's mean loss to get the sum over its images?",
    _CLASSES,
)
WRONG_LOSS = Hint(
    "wrong-loss",
    "The mean loss over all images is {exact:.4f}; `train_epoch` returns {found:.4f}.",
    "Print what you add up after each batch, and by what you divide in the end.",
    _CLASSIC,
)
STEPS_EARLY = Hint(
    "steps-early",
    "The optimizer changes the weights between the forward and the backward pass of a batch, and "
    "torch refuses: the gradient belongs to the weights that were used.",
    "Go through one step in the order of the lines: when are the gradients made, used, cleared?",
    _CLASSIC,
)
OTHER_STEPS = Hint(
    "other-steps",
    "After the epoch the network has other weights than one step a batch would give it.",
    "One step a batch, with the optimizer that was handed in, in the order in which the batches "
    "come. What does your loop do more, or less?",
    _CLASSIC,
)


@lab.exercise(5, points=3, right="All three are mended, and the loss is that of the images.")
def exercise_5(trial: Trial, train_epoch: Callable[..., Any]) -> None:
    """`train_epoch(net, batches, optimizer)`: one epoch where the network lies; the mean loss."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        sizes = [8] * trial.random.randint(3, 5) + [2]
        batches = [(trial.normal(n, 6) * 2, trial.integers(0, 4, (n,))) for n in sizes]
        batches[-1] = batches[-1][0] * 4, batches[-1][1]
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        expected, piled, untouched = (copy.deepcopy(net) for _ in range(3))
        exact = _epoch_reference(expected, _momentum(expected, batches[0]), batches)
        _epoch_reference(piled, _momentum(piled, batches[0]), batches, zero=False)
        net.to(device)
        optimizer = _momentum(net, tuple(tensor.to(device) for tensor in batches[0]))
        start = copy.deepcopy(net)
        modes = _modes_of(net.eval())
        outcome = trial.outcome(train_epoch, net, batches, optimizer)
        if outcome.error is not None:
            early = "modified by an inplace operation" in str(outcome.error)
            raise STEPS_EARLY.of() if early else trial.why(outcome.error)
        found = outcome.value
        trial.expect_result(found)
        trial.expect(modes and all(modes), EVALUATION_MODE)
        trial.expect(not _close(net, start), NO_STEP)
        trial.expect(not _close(net, piled), PILED_UP)
        plain = isinstance(found, int | float) and not isinstance(found, bool)
        what = "tensor that keeps its graph" if getattr(found, "requires_grad", False) else None
        trial.expect(plain, NOT_A_LOSS, what=what or type(found).__name__)
        trial.expect(_close(net, expected), OTHER_STEPS)
        means = _batch_losses(untouched, batches)
        same = math.isclose(found, sum(means) / len(means), rel_tol=1e-3)
        trial.expect(not same, MEAN_OF_BATCHES)
        close = math.isclose(found, exact, rel_tol=1e-3)
        trial.expect(close, WRONG_LOSS, exact=exact, found=float(found))


def _momentum(net: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.optim.Optimizer:
    """An optimizer that has already taken a step, so that a new one in its place shows."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    F.cross_entropy(net(batch[0]), batch[1]).backward()
    optimizer.step()
    optimizer.zero_grad()
    return optimizer


def _modes_of(net: nn.Module) -> list[bool]:
    """A list that grows with every call of `net`: whether it was in training mode."""
    modes: list[bool] = []
    net.register_forward_hook(lambda net, *_: modes.append(net.training))
    return modes


def _batch_losses(net: nn.Module, batches: _Batches) -> list[float]:
    """The loss of each batch of an epoch."""
    optimizer = _momentum(net, batches[0])
    return [_epoch_reference(net, optimizer, [batch]) for batch in batches]
