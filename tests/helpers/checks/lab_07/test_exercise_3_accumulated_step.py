"""Answers to lab 07, exercise 3: `accumulated_step`."""

from torch.nn import functional as F

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_3)


@answers.right
def with_sums(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.right
def with_weighted_means(net, optimizer, X, y, size):
    optimizer.zero_grad(set_to_none=False)
    for start in range(0, len(X), size):
        part, labels = X[start : start + size], y[start : start + size]
        loss = F.cross_entropy(net(part), labels) * (len(part) / len(X))
        loss.backward()
    optimizer.step()


@answers.wrong("all-activations-kept")
def adds_the_losses_before_backward(net, optimizer, X, y, size):
    optimizer.zero_grad()
    parts = zip(X.split(size), y.split(size), strict=True)
    sums = [F.cross_entropy(net(part), labels, reduction="sum") for part, labels in parts]
    (sum(sums) / len(X)).backward()
    optimizer.step()


@answers.wrong("wrong-scale")
def does_not_divide(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        F.cross_entropy(net(part), labels).backward()
    optimizer.step()


@answers.wrong("uneven")
def assumes_full_parts(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels) * size / len(X)).backward()
    optimizer.step()


@answers.wrong("many-steps")
def steps_after_each_part(net, optimizer, X, y, size):
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        optimizer.zero_grad()
        F.cross_entropy(net(part), labels).backward()
        optimizer.step()


@answers.wrong("different-gradient")
def keeps_old_gradients(net, optimizer, X, y, size):
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.wrong("evaluation-mode")
def steps_in_evaluation_mode(net, optimizer, X, y, size):
    net.eval()
    with_weighted_means(net, optimizer, X, y, size)


test_answers = answers.make_test()
