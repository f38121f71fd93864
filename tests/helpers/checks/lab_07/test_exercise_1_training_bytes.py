"""Answers to lab 07, exercise 1: `training_bytes`."""

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_1)


def block(nbytes):
    return (nbytes + 511) // 512 * 512


def bytes_of(tensors):
    return sum(block(tensor.nbytes) for tensor in tensors)


@answers.right
def with_two_sums(net, states):
    trained = bytes_of(p for p in net.parameters() if p.requires_grad)
    return bytes_of([*net.parameters(), *net.buffers()]) + (1 + states) * trained


@answers.right
def by_state_dict(net, states):
    sizes = {tensor.data_ptr(): block(tensor.nbytes) for tensor in net.state_dict().values()}
    learned = [block(p.nbytes) for p in net.parameters() if p.requires_grad]
    return sum(sizes.values()) + sum(learned) * (states + 1)


@answers.wrong("not-rounded")
def without_rounding(net, states):
    trained = sum(p.nbytes for p in net.parameters() if p.requires_grad)
    total = sum(t.nbytes for t in [*net.parameters(), *net.buffers()])
    return total + (1 + states) * trained


@answers.wrong("net-changed")
def turns_gradients_off(net, states):
    total = with_two_sums(net, states)
    net.requires_grad_(False)
    return total


@answers.wrong("frozen")
def counts_gradients_of_frozen_parameters(net, states):
    return bytes_of(net.buffers()) + (2 + states) * bytes_of(net.parameters())


@answers.wrong("buffers")
def forgets_the_buffers(net, states):
    return with_two_sums(net, states) - bytes_of(net.buffers())


@answers.wrong("net-changed")
def moves_the_network(net, states):
    return with_two_sums(net.to("cuda"), states)


@answers.wrong("states")
def forgets_the_states(net, states):
    return with_two_sums(net, 0)


@answers.wrong("wrong-bytes")
def forgets_the_gradients(net, states):
    return with_two_sums(net, states - 1)


@answers.wrong("wrong-bytes")
def counts_a_shared_weight_twice(net, states):
    return sum(with_two_sums(layer, states) for layer in net)


@answers.wrong("not-an-int")
def returns_mebibytes(net, states):
    return with_two_sums(net, states) / 2**20


test_answers = answers.make_test()
