"""Answers to lab 01, exercise 3: `run_epochs`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_3)


def normalize(images):
    return (images.float() / 255 - 0.5) / 0.5


@answers.right
def moves_bytes_once(images, device, epochs, step):
    resident = images.to(device)
    for _ in range(epochs):
        step(normalize(resident))


@answers.right
def normalizes_once(images, device, epochs, step):
    X = images.to(device) / 127.5 - 1
    [step(X) for _ in range(epochs)]


@answers.right
def with_a_mean_on_the_device(images, device, epochs, step):
    mean = torch.tensor([127.5] * 3, device=device).reshape(3, 1, 1)
    resident = images.to(device, non_blocking=True)
    for _ in range(epochs):
        step(resident.sub(mean).div_(mean))


@answers.wrong("moved-in-every-epoch")
def moves_bytes_in_every_epoch(images, device, epochs, step):
    for _ in range(epochs):
        step(normalize(images.to(device)))


@answers.wrong("moved-in-every-epoch")
def moves_floats_in_every_epoch(images, device, epochs, step):
    for _ in range(epochs):
        step(normalize(images).to(device))


@answers.wrong("moves-more")
def moves_half_precision_once(images, device, epochs, step):
    X = normalize(images).half().to(device).float()
    for _ in range(epochs):
        step(X)


@answers.wrong("wrong-step")
def drops_the_result_of_to(images, device, epochs, step):
    images.to(device)
    for _ in range(epochs):
        step(normalize(images))


@answers.wrong("wrong-step")
def passes_bytes(images, device, epochs, step):
    for _ in range(epochs):
        step(images.to(device))


@answers.wrong("wrong-numbers")
def normalizes_again_in_place(images, device, epochs, step):
    X = images.to(device).float()
    for _ in range(epochs):
        step(X.div_(255).sub_(0.5).div_(0.5))


@answers.wrong("wrong-steps")
def steps_once(images, device, epochs, step):
    step(normalize(images.to(device)))


@answers.wrong("input-changed")
def changes_the_images(images, device, epochs, step):
    moves_bytes_once(images, device, epochs, step)
    images.zero_()


test_answers = answers.make_test()
