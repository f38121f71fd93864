"""Answers to lab 02, exercise 3: `run`."""

import torch

from helpers.checks import lab_02
from tests.helpers.checks.answers import Answers

answers = Answers(lab_02.exercise_3)


@torch.no_grad()
def run(net, batches, place=None, center=torch.sub, count_all=False):
    device = next(net.parameters()).device
    means = torch.zeros(len(batches), net.out_features, device=place or device)
    classes = []
    for i, images in enumerate(batches):
        scores = net(images.to(device))
        means[i] = scores.mean(0)
        mean = means[: len(batches) if count_all else i + 1].mean(0)
        classes.append(center(scores, mean).argmax(1))
    return torch.cat(classes)


@answers.right
def creates_the_mean_on_the_device(net, batches):
    return run(net, batches)


@answers.right
def keeps_the_means_in_a_list(net, batches):
    means, classes = [], []
    for images in batches:
        scores = net(images.to(net.weight.device)).detach()
        means.append(scores.mean(0))
        classes += [(scores - sum(means) / len(means)).argmax(1)]
    return torch.cat(classes)


@answers.wrong("device-error")
def is_the_given_program(net, batches):
    return run(net, batches, place="cpu")


@answers.wrong("device-error")
def names_a_gpu(net, batches):
    return run(net, batches, place="cuda:0")


@answers.wrong("moved-at-the-error")
def moves_the_mean_in_the_failing_line(net, batches):
    return run(net, batches, "cpu", center=lambda scores, mean: scores - mean.to(scores.device))


@answers.wrong("result-elsewhere")
def moves_the_scores_in_the_failing_line(net, batches):
    return run(net, batches, "cpu", center=lambda scores, mean: scores.cpu() - mean)


@answers.wrong("moves-more")
def creates_on_the_cpu_and_moves(net, batches):
    zeros = torch.zeros(3000).to(net.weight.device)
    return run(net, batches) + zeros[0].long()


@answers.wrong("net-moved")
def moves_everything_to_the_cpu(net, batches):
    return run(net.cpu(), batches).to("cuda:0")


@answers.wrong("wrong-classes")
def divides_by_the_number_of_all_batches(net, batches):
    return run(net, batches, count_all=True)


@answers.wrong("not-a-tensor")
def returns_a_list(net, batches):
    return run(net, batches).tolist()


test_answers = answers.make_test()
