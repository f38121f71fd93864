"""Answers to lab 04, exercise 5: `train_with_checkpoints`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_5)


def load(net, optimizer, path, **options):
    if not path.exists():
        return 0
    state = torch.load(path, **({"map_location": "cpu"} | options))
    net.load_state_dict(state["net"])
    if optimizer:
        optimizer.load_state_dict(state["optimizer"])
    return state["steps"]


def save(net, optimizer, path, steps):
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "steps": steps}
    torch.save(state, path)


def step(net, optimizer, batch):
    device = next(net.parameters()).device
    optimizer.zero_grad()
    F.cross_entropy(net(batch[0].to(device)), batch[1].to(device)).backward()
    optimizer.step()


@answers.right
def counts_all_steps(net, optimizer, batches_of, epochs, path, load=load, save=save):
    done, number = load(net, optimizer, path), 0
    for epoch in range(epochs):
        for batch in batches_of(epoch):
            number += 1
            if number > done:
                step(net, optimizer, batch)
                save(net, optimizer, path, number)


@answers.right
def with_map_location_of_the_network(net, optimizer, batches_of, epochs, path):
    def load_there(*arguments):
        return load(*arguments, map_location=net.weight.device)

    counts_all_steps(net, optimizer, batches_of, epochs, path, load=load_there)


@answers.right
def lists_the_batches_of_an_epoch_first(net, optimizer, batches_of, epochs, path, less=0):
    done = load(net, optimizer, path)
    for epoch in range(done // 4, epochs):
        for number, batch in enumerate(
            [*batches_of(epoch)][done % 4 if epoch == done // 4 else 0 :]
        ):
            step(net, optimizer, batch)
            save(net, optimizer, path, 4 * epoch + number + 1 - less)


@answers.wrong("needs-its-gpu")
def loads_without_map_location(net, optimizer, batches_of, epochs, path):
    def load_as_saved(*arguments):
        return load(*arguments, map_location=None)

    counts_all_steps(net, optimizer, batches_of, epochs, path, load=load_as_saved)


@answers.wrong("whole-objects")
def saves_the_optimizer_itself(net, optimizer, batches_of, epochs, path):
    def save_objects(net, optimizer, path, steps):
        torch.save({"net": net.state_dict(), "optimizer": optimizer, "steps": steps}, path)

    counts_all_steps(net, optimizer, batches_of, epochs, path, save=save_objects)


@answers.wrong("starts-again")
def saves_only_at_the_end(net, optimizer, batches_of, epochs, path):
    def save_last(net, optimizer, path, steps):
        if steps == 4 * epochs:
            save(net, optimizer, path, steps)

    counts_all_steps(net, optimizer, batches_of, epochs, path, save=save_last)


@answers.wrong("steps-differ")
def repeats_the_interrupted_epoch(net, optimizer, batches_of, epochs, path):
    def save_per_epoch(net, optimizer, path, steps):
        save(net, optimizer, path, steps // 4 * 4)

    counts_all_steps(net, optimizer, batches_of, epochs, path, save=save_per_epoch)


@answers.wrong("weights-differ")
def forgets_the_momentum(net, optimizer, batches_of, epochs, path):
    def load_net(net, optimizer, path):
        return load(net, None, path)

    counts_all_steps(net, optimizer, batches_of, epochs, path, load=load_net)


@answers.wrong("net-moved")
def trains_on_the_cpu(net, optimizer, batches_of, epochs, path):
    counts_all_steps(net.cpu(), optimizer, batches_of, epochs, path)


@answers.wrong("steps-differ")
def saves_every_second_step(net, optimizer, batches_of, epochs, path):
    def save_second(net, optimizer, path, steps):
        if steps % 2 == 0:
            save(net, optimizer, path, steps)

    counts_all_steps(net, optimizer, batches_of, epochs, path, save=save_second)


@answers.wrong("starts-again")
def saves_elsewhere(net, optimizer, batches_of, epochs, path):
    counts_all_steps(net, optimizer, batches_of, epochs, path.with_name("mine.pt"))


test_answers = answers.make_test()
