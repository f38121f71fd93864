"""Answers to lab 09, exercise 1: `share`."""

import itertools

import torch
from torch.utils.data import DistributedSampler

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_1)


@answers.right
def by_positions(order, rank, world_size):
    count = -(-len(order) // world_size)
    return [order[(rank + i * world_size) % len(order)] for i in range(count)]


@answers.right
def with_a_cycle(order, rank, world_size):
    total = -(-len(order) // world_size) * world_size
    return list(itertools.islice(itertools.cycle(order), rank, total, world_size))


@answers.right
def pads_a_copy(order, rank, world_size):
    longer = list(order)
    while len(longer) % world_size:
        longer.append(longer[len(longer) - len(order)])
    return longer[rank::world_size]


@answers.wrong("too-few")
def pads_only_once(order, rank, world_size):
    missing = -len(order) % world_size
    return (order + order[:missing])[rank::world_size]


@answers.wrong("contiguous-block")
def takes_a_block(order, rank, world_size):
    count = -(-len(order) // world_size)
    return (order * world_size)[rank * count : (rank + 1) * count]


@answers.wrong("different-examples")
def counts_ranks_from_one(order, rank, world_size):
    return by_positions(order, rank + 1, world_size)


@answers.wrong("input-changed")
def pads_the_callers_list(order, rank, world_size):
    while len(order) % world_size:
        order.append(order[0])
    return order[rank::world_size]


@answers.wrong("not-a-list")
def returns_a_tensor(order, rank, world_size):
    return torch.tensor(by_positions(order, rank, world_size))


@answers.wrong("uses-the-sampler")
def with_the_sampler(order, rank, world_size):
    return [order[i] for i in DistributedSampler(order, world_size, rank, shuffle=False)]


test_answers = answers.make_test()
