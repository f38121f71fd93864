"""The checks of lab 06, CIFAR-10 in seconds."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from helpers.checks.core import Hint, Lab, NotRight, Trial

lab = Lab("06_cifar10_in_seconds", seconds=30)

_IMAGES = "Images that never leave the device"
_REST = "The rest of the recipe"
_TRAIN = "Train"


class _Calls(TorchFunctionMode):
    """Counts the operations of a block."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


# Exercises 1 and 2
NOT_IMAGES = Hint(
    "not-images",
    "`{name}` returns {found}; images of {given} are asked for.",
    "Type, shape and order of the axes stay as they are: images, colours, rows, columns.",
    _IMAGES,
)
ELSEWHERE = Hint(
    "elsewhere",
    "The images are on {given}, and what `{name}` returns is on {found}.",
    "A batch on the GPU is to stay there. Where does your code learn on which device to work?",
    _IMAGES,
)
CARRIED = Hint(
    "carried",
    "Your function carries {bytes} bytes between devices.",
    "Random numbers can be drawn where they are needed. Which call draws them, and where?",
    _IMAGES,
)
INPUT_CHANGED = Hint(
    "input-changed",
    "After the call, the images that were handed in are others.",
    "The next epoch needs them as they were. Which line writes into them?",
    _IMAGES,
)
ONE_BY_ONE = Hint(
    "one-by-one",
    "For {small} images your function asks torch for {few} operations, and for {large} images for "
    "{many}.",
    "Each request has its price on a GPU. Where does your code go through the images one by one?",
    _IMAGES,
)
NOT_A_MIRROR = Hint(
    "not-a-mirror",
    "One of the images that come back is neither as it was nor its mirror image from left to "
    "right.",
    "Of the four axes, along which one do left and right lie? Try one image with one white pixel.",
    _IMAGES,
)
ALL_ALIKE = Hint(
    "all-alike",
    "In one batch {what}: all images are treated alike.",
    "One toss of the coin a batch is not one toss an image. How many random numbers do you draw?",
    _IMAGES,
)
WRONG_SHARE = Hint(
    "wrong-share",
    "Of {count} images, {mirrored} were mirrored; half of them should be, more or less.",
    "Draw as many random numbers as there are images, and look at the share of those that say yes.",
    _IMAGES,
)
NO_CHANCE = Hint(
    "no-chance",
    "Two calls with the same images give the same result.",
    "Each epoch is to bring something new. Where does your code fix its random numbers?",
    _IMAGES,
)


@lab.exercise(1, points=2, right="Each image has a toss of its own, and the batch is one piece.")
def exercise_1(trial: Trial, random_flip: Callable[..., Any]) -> None:
    """`random_flip(images)`: each image mirrored from left to right, or not, by chance."""
    torch.manual_seed(trial.seed)
    for device in (trial.device, torch.device("cpu")):
        size = trial.random.randint(5, 9)
        images = trial.normal(128, 3, size, size + 1).to(device)
        result = _changed(trial, random_flip, images)
        kept = (result == images).flatten(1).all(1)
        mirrored = (result == images.flip(3)).flatten(1).all(1)
        trial.expect((kept | mirrored).all().item(), NOT_A_MIRROR)
        count = int(mirrored.sum())
        told = "every image was mirrored" if count else "no image was mirrored"
        again = int((trial.call(random_flip, images) != images).flatten(1).any(1).sum())
        trial.expect(not {count, again} <= {0, 128}, ALL_ALIKE, what=told)
        for each in (count, again):
            trial.expect(34 <= each <= 94, WRONG_SHARE, count=128, mirrored=each)
        _by_chance(trial, random_flip, images)
        _at_once(trial, random_flip, images)


def _changed(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> torch.Tensor:
    """What the student's function makes of the images; everything but the pixels is judged."""
    before = images.clone()
    with trial.watch() as watch:
        result = trial.call(function, images, *others)
    trial.expect_result(result)
    name = trial.name
    trial.expect(torch.equal(images, before), INPUT_CHANGED)
    tensor = isinstance(result, torch.Tensor)
    good = tensor and result.shape == images.shape and result.dtype == images.dtype
    found = f"a {type(result).__name__}"
    found = f"{result.dtype} of shape {tuple(result.shape)}" if tensor else found
    given = f"{images.dtype} and shape {tuple(images.shape)}"
    trial.expect(good, NOT_IMAGES, name=name, found=found, given=given)
    there = result.device == images.device
    trial.expect(there, ELSEWHERE, name=name, given=images.device, found=result.device)
    carried = sum(move.bytes for move in watch.moves)
    trial.expect(not carried, CARRIED, bytes=carried)
    return result


def _by_chance(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> None:
    """Other results from other calls, though a call leaves the random numbers as they were."""
    results = []
    for _ in range(2):
        torch.manual_seed(trial.random.randrange(1 << 30))
        results.append(trial.call(function, images, *others))
    trial.expect(not torch.equal(*results), NO_CHANCE)


def _at_once(
    trial: Trial, function: Callable[..., Any], images: torch.Tensor, *others: Any
) -> None:
    counts = []
    for part in (images[:16], images):
        with _Calls() as calls:
            trial.call(function, part, *others)
        counts.append(calls.count)
    told = {"small": 16, "few": counts[0], "large": len(images), "many": counts[1]}
    trial.expect(counts[1] < 2 * counts[0], ONE_BY_ONE, **told)


NOT_A_SHIFT = Hint(
    "not-a-shift",
    "With `reach` = {reach}, one of the images that come back is not the image moved by at most "
    "that many pixels, with zeros where nothing is left to show.",
    "Try one image that is all ones, and one with a single white pixel: where does it go, and what "
    "comes in at the edge?",
    _IMAGES,
)
AROUND_THE_EDGE = Hint(
    "around-the-edge",
    "What leaves an image on one side comes in on the other.",
    "Some ways to move a tensor go round in a circle. What is asked for at the edge?",
    _IMAGES,
)
SHIFTS_MISSING = Hint(
    "shifts-missing",
    "With `reach` = {reach}, no image of {count} is ever moved by {missing} pixels {axis}.",
    "From -`reach` to `reach`, both included, along both axes: does the upper end belong to what "
    "you draw? Are the two axes drawn apart?",
    _IMAGES,
)
TIED_AXES = Hint(
    "tied-axes",
    "Every image moves by the same number of pixels down as to the right.",
    "How many random numbers does an image need?",
    _IMAGES,
)


@lab.exercise(2, points=3, right="Each image goes its own way, all of them in one gather.")
def exercise_2(trial: Trial, random_shift: Callable[..., Any]) -> None:
    """`random_shift(images, reach)`: each image moved by up to `reach` pixels, zeros behind it."""
    torch.manual_seed(trial.seed)
    for device, reach in ((trial.device, 1), (torch.device("cpu"), 2), (trial.device, 0)):
        size = trial.random.randint(6, 9)
        images = trial.normal(256, 3, size, size).to(device)
        result = _changed(trial, random_shift, images, reach)
        moves = _moves(images, result, reach)
        if (moves < -99).any():
            around = (_moves(images, result, reach, wrap=True) > -99).all()
            raise AROUND_THE_EDGE.of() if around else NOT_A_SHIFT.of(reach=reach)
        if reach == 0:
            continue
        down, right = moves.unbind(1)
        alike = bool((moves == moves[0]).all())
        trial.expect(not alike, ALL_ALIKE, what=f"every image was moved by {moves[0].tolist()}")
        trial.expect(not torch.equal(down, right), TIED_AXES)
        for axis, found in (("up or down", down), ("left or right", right)):
            missing = sorted(set(range(-reach, reach + 1)) - set(found.tolist()))
            told = {"reach": reach, "count": 256, "missing": missing[:1] and missing[0]}
            trial.expect(not missing, SHIFTS_MISSING, axis=axis, **told)
        _by_chance(trial, random_shift, images, reach)
        _at_once(trial, random_shift, images, reach)


def _moves(
    images: torch.Tensor, result: torch.Tensor, reach: int, *, wrap: bool = False
) -> torch.Tensor:
    """By how many pixels each image was moved down and to the right; -100 for none that fits."""
    images, result = images.cpu(), result.cpu()
    found = torch.full((len(images), 2), -100)
    height, width = images.shape[2:]
    padded = F.pad(images, (reach,) * 4)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            if wrap:
                moved = images.roll((down, right), (2, 3))
            else:
                top, left = reach - down, reach - right
                moved = padded[:, :, top : top + height, left : left + width]
            fits = (moved == result).flatten(1).all(1)
            found[fits] = torch.tensor([down, right])
    return found


# Exercise 3
NOT_LOGITS = Hint(
    "not-logits",
    "`predict` returns {found}; the logits, {shape}, are asked for.",
    "Averaging comes before any decision: return what the network gives, averaged.",
    _TRAIN,
)
TRAINING_MODE = Hint(
    "training-mode",
    "The network was asked in training mode.",
    "A network that is being judged is in its other mode. Which method switches to it?",
    _TRAIN,
)
TRACKS_GRADIENTS = Hint(
    "tracks-gradients",
    "Gradients were being tracked while the network answered.",
    "Nothing is learnt here. Which block tells torch so?",
    _TRAIN,
)
ONE_VIEW = Hint(
    "one-view",
    "Your logits are those of {which} alone.",
    "Two views are asked for. What happens to the answer to the first of them?",
    _TRAIN,
)
WRONG_VIEW = Hint(
    "wrong-view",
    "One of the two views is the image turned {how}.",
    "Which axis holds the columns? Try one image with one white pixel.",
    _IMAGES,
)
NOT_AVERAGED = Hint(
    "not-averaged",
    "Your logits are {what} of the two views; their mean is asked for.",
    "Work it out for two logits that you write down by hand: 2 and 4.",
    _TRAIN,
)
AVERAGED_IMAGES = Hint(
    "averaged-images",
    "You average the two images and ask the network once. A picture laid over its mirror image is "
    "none that the network knows.",
    "What is to be averaged: the questions, or the answers?",
    _TRAIN,
)
OTHER_LOGITS = Hint(
    "other-logits",
    "The logits are not the mean of those for the images and those for their mirror images.",
    "Compute both by hand for a batch of one image, and compare.",
    _TRAIN,
)


class _Answering(nn.Module):
    """A small network that notes in which mode it is called, and whether gradients are tracked."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(3 * size * size, 8), nn.Tanh(), nn.Linear(8, 5)
        )
        self.modes: list[bool] = []
        self.gradients: list[bool] = []

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        return self.net(images)


@lab.exercise(3, points=2, right="Two views, one answer, and nothing to train.")
def exercise_3(trial: Trial, predict: Callable[..., Any]) -> None:
    """`predict(net, images)`: the mean of the logits for images and for their mirror images."""
    for device in (trial.device, torch.device("cpu")):
        torch.manual_seed(trial.seed)
        net = _Answering(6).to(device).train(device.type == "cuda")
        images = trial.normal(trial.random.randint(5, 9), 3, 6, 6).to(device)
        before = images.clone()
        found = trial.call(predict, net, images)
        trial.expect_result(found)
        shape = (len(images), 5)
        tensor = isinstance(found, torch.Tensor)
        shown = f"a {type(found).__name__}"
        shown = f"{found.dtype} of shape {tuple(found.shape)}" if tensor else shown
        good = tensor and found.shape == shape and found.is_floating_point()
        trial.expect(good, NOT_LOGITS, found=shown, shape=shape)
        trial.expect(torch.equal(images, before), INPUT_CHANGED)
        trial.expect(not any(net.modes), TRAINING_MODE)
        trial.expect(not any(net.gradients), TRACKS_GRADIENTS)
        net.eval()
        with torch.no_grad():
            ways = _views(net, images)
        hint, told = next(
            (way[:2] for way in ways if _near(found, way[2])), (OTHER_LOGITS, dict[str, str]())
        )
        if hint is not None:
            raise hint.of(**told)


def _views(
    net: nn.Module, images: torch.Tensor
) -> list[tuple[Hint | None, dict[str, str], torch.Tensor]]:
    """The right logits and those of the mistakes that are known."""
    plain, mirror = net(images), net(images.flip(3))
    upside_down, turned = net(images.flip(2)), net(images.flip(2, 3))
    softmax = (plain.softmax(1) + mirror.softmax(1)) / 2
    order = net(images.flip(0))
    return [
        (None, {}, (plain + mirror) / 2),
        (ONE_VIEW, {"which": "the images as they are"}, plain),
        (ONE_VIEW, {"which": "the mirror images"}, mirror),
        (WRONG_VIEW, {"how": "upside down"}, (plain + upside_down) / 2),
        (WRONG_VIEW, {"how": "by half a turn"}, (plain + turned) / 2),
        (WRONG_VIEW, {"how": "into another image of the batch"}, (plain + order) / 2),
        (NOT_AVERAGED, {"what": "the sum"}, plain + mirror),
        (NOT_AVERAGED, {"what": "the mean of the probabilities"}, softmax),
        (NOT_AVERAGED, {"what": "the larger"}, torch.maximum(plain, mirror)),
        (AVERAGED_IMAGES, {}, net((images + images.flip(3)) / 2)),
    ]


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return torch.allclose(one.float().cpu(), other.cpu(), rtol=1e-3, atol=1e-5)


# Exercise 4
NOT_A_RATE = Hint(
    "not-a-rate",
    "`rate_at` returns {found}; a number is asked for.",
    "The learning rate at one step is one plain number.",
    _REST,
)
DIVIDES_BY_ZERO = Hint(
    "divides-by-zero",
    "With `rise` = {rise} and `steps` = {steps}, `rate_at` divides by zero at step {step}.",
    "Without a rise the rate begins at its peak. Which of your two lines is asked then?",
    _REST,
)
TOP_MISSED = Hint(
    "top-missed",
    "At step {step}, where the rise ends, the rate is {found:.4g}; it should be the peak, "
    "{peak:.4g}.",
    "Put the number of this step into both of your lines. Do they meet at the peak?",
    _REST,
)
NOT_RISING = Hint(
    "not-rising",
    "At step {step} of a rise of {rise} steps, the rate is {found:.4g}; a straight line from 0 at "
    "step 0 to {peak:.4g} at step {rise} is asked for.",
    "What share of the rise lies behind this step?",
    _REST,
)
END_MISSED = Hint(
    "end-missed",
    "At step {step} of {steps}, the end of the run, the rate is {found:.4g}; it should be 0.",
    "The end of the line is where most of the accuracy comes from. How many steps does the fall "
    "take?",
    _REST,
)
NOT_FALLING = Hint(
    "not-falling",
    "At step {step} of {steps}, the rate is {found:.4g}; on a straight line from the peak at step "
    "{rise} to 0 at step {steps} it is another.",
    "What share of the fall still lies before this step? Count the steps of the fall alone.",
    _REST,
)


@lab.exercise(4, points=2, right="Up in a straight line, and down to nothing.")
def exercise_4(trial: Trial, rate_at: Callable[..., Any]) -> None:
    """`rate_at(step, steps, peak, rise)`: a straight line up, and another down to 0."""
    draw = trial.random.randint
    for rise in (draw(5, 20), 0):
        steps, peak = rise + draw(30, 90), draw(2, 9) / 16
        places = [rise, 0, steps, rise // 2, steps - 1, rise + 1]
        places += [draw(0, steps) for _ in range(6)]
        for step in places:
            outcome = trial.outcome(rate_at, step, steps, peak, rise)
            if isinstance(outcome.error, ZeroDivisionError):
                raise DIVIDES_BY_ZERO.of(rise=rise, steps=steps, step=step)
            if outcome.error is not None:
                raise trial.why(outcome.error)
            found = outcome.value
            trial.expect_result(found)
            plain = isinstance(found, int | float) and not isinstance(found, bool)
            trial.expect(plain, NOT_A_RATE, found=f"a {type(found).__name__}")
            exact = peak * (step / rise if step < rise else (steps - step) / (steps - rise))
            if math.isclose(found, exact, rel_tol=1e-6, abs_tol=1e-9):
                continue
            told = {"step": step, "found": found, "peak": peak, "rise": rise, "steps": steps}
            trial.expect(step != rise, TOP_MISSED, **told)
            trial.expect(step != steps, END_MISSED, **told)
            raise (NOT_RISING if step < rise else NOT_FALLING).of(**told)


# Exercise 5
NOT_ONE_LOSS = Hint(
    "not-one-loss",
    "`smoothed_loss` returns {found}; a tensor with one number is asked for.",
    "One loss for the whole batch, still a tensor, so that `backward` can follow it.",
    _REST,
)
NO_GRADIENT = Hint(
    "no-gradient",
    "No gradient comes through your loss to the logits.",
    "`.item()`, `.detach()` and a new tensor made of numbers all cut the way back.",
    _REST,
)
NOT_SMOOTHED = Hint(
    "not-smoothed",
    "For a smoothing of {smoothing:g}, your loss is the plain cross-entropy.",
    "What is the target for the right answer now, and what for the others?",
    _REST,
)
OTHERS_ONLY = Hint(
    "others-only",
    "You spread the {smoothing:g} over the wrong classes only. It is to be spread over all "
    "classes, the right one included.",
    "How many classes share it, and what does the right one have in the end?",
    _REST,
)
SUMMED = Hint(
    "summed",
    "Your loss is {times:.3g} times as large as the mean over the images.",
    "By what do you divide, and over which of the two axes?",
    _REST,
)
TEN_CLASSES = Hint(
    "ten-classes",
    "For {classes} classes, `smoothed_loss` {what}.",
    "How many classes there are can be read off the logits.",
    _REST,
)
OVERFLOWS = Hint(
    "overflows",
    "For logits of some hundreds, your loss is {found}.",
    "A probability too small for its type is 0, and its logarithm is infinite. Which function of "
    "torch takes both steps at once?",
    _REST,
)
OTHER_LOSS = Hint(
    "other-loss",
    "For a smoothing of {smoothing:g} and {classes} classes, your loss is {found:.4f}.",
    "Write down the target of one image by hand, with three classes. Does it add up to 1?",
    _REST,
)


@lab.exercise(5, points=3, right="No effort goes into being surer than sure.")
def exercise_5(trial: Trial, smoothed_loss: Callable[..., Any]) -> None:
    """`smoothed_loss(logits, labels, smoothing)`: cross-entropy with smoothed labels."""
    draw = trial.random
    cases = [(10, 0.2, trial.device, 1), (draw.randint(4, 7), 0.3, torch.device("cpu"), 1)]
    cases += [(10, 0.0, trial.device, 1), (draw.randint(12, 19), 0.1, trial.device, 400)]
    for classes, smoothing, device, scale in cases:
        count = draw.randint(20, 30)
        logits = (scale * trial.normal(count, classes)).to(device).requires_grad_()
        labels = trial.integers(0, classes, (count,), device)
        outcome = trial.outcome(smoothed_loss, logits, labels, smoothing)
        if outcome.error is not None:
            shapes = classes != 10 and isinstance(outcome.error, RuntimeError | IndexError)
            shapes = shapes and "device" not in str(outcome.error)
            trial.expect(not shapes, TEN_CLASSES, classes=classes, what="stops with an error")
            raise trial.why(outcome.error)
        loss = outcome.value
        trial.expect_result(loss)
        tensor = isinstance(loss, torch.Tensor)
        found = f"a {type(loss).__name__}"
        found = f"a tensor of shape {tuple(loss.shape)}" if tensor else found
        trial.expect(tensor and loss.numel() == 1, NOT_ONE_LOSS, found=found)
        trial.expect(loss.requires_grad, NO_GRADIENT)
        _judge_loss(trial, loss.item(), logits.detach().cpu().double(), labels.cpu(), smoothing)


def _judge_loss(
    trial: Trial, found: float, logits: torch.Tensor, labels: torch.Tensor, smoothing: float
) -> None:
    count, classes = logits.shape
    exact = F.cross_entropy(logits, labels, label_smoothing=smoothing).item()
    if math.isclose(found, exact, rel_tol=1e-4):
        return
    trial.expect(math.isfinite(found), OVERFLOWS, found=found)
    hard = F.cross_entropy(logits, labels).item()
    told = {"smoothing": smoothing, "classes": classes}
    trial.expect(not math.isclose(found, hard, rel_tol=1e-4), NOT_SMOOTHED, **told)
    every = -logits.log_softmax(1).sum(1).mean().item()
    others = (1 - smoothing) * hard + smoothing * (every - hard) / (classes - 1)
    trial.expect(not math.isclose(found, others, rel_tol=1e-4), OTHERS_ONLY, **told)
    for times in (count, 1 / classes, 1 / count, classes):
        same = math.isclose(found, times * exact, rel_tol=1e-4)
        trial.expect(not same, SUMMED, times=times)
    ten = (1 - smoothing) * hard + smoothing * every / 10
    same = classes != 10 and math.isclose(found, ten, rel_tol=1e-4)
    trial.expect(not same, TEN_CLASSES, classes=classes, what="spreads over ten")
    raise OTHER_LOSS.of(found=found, **told)


# Exercise 6
WANTED, EPOCHS = 0.8, 6
TOO_MANY_PASSES = Hint(
    "too-many-passes",
    "Your training looked at more than {allowed} images: {epochs} passes over {count} are allowed.",
    "More of the same is not the way here. What could each step do better?",
    _TRAIN,
)
NOT_LEARNT = Hint(
    "not-trained",
    "After the call, the network that was handed in has the weights it had before.",
    "The network is trained in place. Whose parameters does your optimizer have, and does it step?",
    _TRAIN,
)
BLOWN_UP = Hint(
    "blown-up",
    "The network's weights are no numbers any more.",
    "Steps that are too long miss the valley, and each next one is longer. Which setting is it?",
    _TRAIN,
)
FEW_STEPS = Hint(
    "few-steps",
    "{accuracy:.0%} of the new images are right; {wanted:.0%} are asked for. Your training makes "
    "{steps} steps in all.",
    "With so few images, what do you gain from large batches, and what do you pay?",
    _TRAIN,
)
SORTED = Hint(
    "sorted",
    "{accuracy:.0%} of the new images are right; {wanted:.0%} are asked for. The images come "
    "sorted by class, and your batches have one class each, or hardly more.",
    "A step along one class forgets the others. In which order should an epoch visit the images?",
    _TRAIN,
)
SHORT_STEPS = Hint(
    "short-steps",
    "{accuracy:.0%} of the new images are right; {wanted:.0%} are asked for. The weights have "
    "hardly changed.",
    "The network is on its way, and there is no time to walk slowly. Which setting says how far a "
    "step goes?",
    _REST,
)
TOO_LOW = Hint(
    "too-low",
    "{accuracy:.0%} of the new images are right; {wanted:.0%} are asked for.",
    "Print the mean loss after each pass. Does it fall, jump about, or stand still?",
    _REST,
)


@lab.exercise(6, points=4, right="As well as asked for, in as few passes as allowed.", seconds=60)
def exercise_6(trial: Trial, learn: Callable[..., Any]) -> None:
    """`learn(net, images, labels, epochs)`: 80 % of new images right after six passes."""
    torch.manual_seed(trial.seed)
    images, labels = _stripes(trial, 120)
    images, labels = images.to(trial.device), labels.to(trial.device)
    net = nn.Sequential(
        nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Conv2d(12, 16, 3), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(16, 3),
    ).to(trial.device)  # fmt: skip
    before = copy.deepcopy(net)
    count, allowed = len(images), EPOCHS * len(images)
    told = {"epochs": EPOCHS, "count": count, "allowed": allowed}
    seen = _seen_by(net, images, TOO_MANY_PASSES.of(**told))
    trial.call(learn, net, images, labels, EPOCHS)
    # Code that catches errors has gone on all the same.
    trial.expect(sum(map(len, seen)) <= allowed, TOO_MANY_PASSES, **told)
    pairs = list(zip(before.parameters(), net.parameters(), strict=True))
    trial.expect(not all(torch.equal(a, b) for a, b in pairs), NOT_LEARNT)
    trial.expect(all(b.isfinite().all() for _, b in pairs), BLOWN_UP)
    new_images, new_labels = _stripes(trial, 100)
    with torch.no_grad():
        answers = net.eval()(new_images.to(trial.device)).argmax(1).cpu()
    accuracy = (answers == new_labels).double().mean().item()
    if accuracy >= WANTED:
        return
    told = {"accuracy": accuracy, "wanted": WANTED, "steps": len(seen)}
    trial.expect(len(seen) >= 30, FEW_STEPS, **told)
    classes = labels.cpu()
    mixed = [len(set(classes[batch].tolist())) > 1 for batch in seen if (batch >= 0).all()]
    trial.expect(not mixed or sum(mixed) > len(mixed) / 3, SORTED, **told)
    moved = max(((a - b).norm() / a.norm()).item() for a, b in pairs)
    trial.expect(moved > 0.25, SHORT_STEPS, **told)
    raise TOO_LOW.of(**told)


def _stripes(trial: Trial, each: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Drawn images, sorted by class: stripes that lie, that stand, and that slope."""
    size = 10
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    labels = torch.arange(3).repeat_interleave(each)
    across = torch.stack([y, x, x + y])[labels].float()
    phase = 6.3 * torch.rand(len(labels), 1, 1, generator=trial.generator)
    waves = (across * 1.6 + phase).sin()[:, None]
    colours = 0.5 + torch.rand(len(labels), 3, 1, 1, generator=trial.generator)
    return waves * colours + 0.4 * trial.normal(len(labels), 3, size, size), labels


def _seen_by(net: nn.Module, images: torch.Tensor, too_many: NotRight) -> list[torch.Tensor]:
    """A list that grows with each call of `net`: which images it got, -1 for changed ones.

    The call that goes beyond what is allowed raises `too_many`.
    """
    seen: list[torch.Tensor] = []
    numbers = {pixel: place for place, pixel in enumerate(images[:, 0, 0, 0].tolist())}

    def note(net: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        pixels = inputs[0][:, 0, 0, 0].tolist()
        seen.append(torch.tensor([numbers.get(pixel, -1) for pixel in pixels]))
        if sum(map(len, seen)) > too_many.values["allowed"]:
            raise too_many

    net.register_forward_pre_hook(note)
    return seen
