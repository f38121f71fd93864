"""Answers to lab 07, exercise 4: `checkpointed`."""

from torch.utils.checkpoint import checkpoint

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_4)


@answers.right
def one_checkpoint_per_layer(layers, X):
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=False)
    return X


@answers.right
def with_reentrant_checkpoints_and_input_gradients(layers, X):
    if not X.requires_grad:
        X = X.detach().requires_grad_()
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


@answers.wrong("not-recomputed-alone")
def without_checkpoints(layers, X):
    for layer in layers:
        X = layer(X)
    return X


@answers.wrong("not-recomputed-alone")
def one_checkpoint_for_all(layers, X):
    return checkpoint(without_checkpoints, layers, X, use_reentrant=False)


@answers.wrong("different-result")
def reverses_the_layers(layers, X):
    return one_checkpoint_per_layer(list(layers)[::-1], X)


@answers.wrong("no-gradients")
def with_reentrant_checkpoints(layers, X):
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


@answers.wrong("different-gradients")
def detaches_the_input(layers, X):
    return one_checkpoint_per_layer(layers, X.detach())


@answers.wrong("different-result")
def returns_a_list(layers, X):
    return [checkpoint(layer, X, use_reentrant=False) for layer in layers]


@answers.wrong("input-changed")
def makes_the_input_require_gradients(layers, X):
    X.requires_grad_()
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


@answers.wrong("mode-not-restored")
def leaves_the_layers_in_evaluation_mode(layers, X):
    return one_checkpoint_per_layer(layers.eval(), X)


@answers.wrong("other-random-numbers")
def forgets_the_random_state(layers, X):
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=False, preserve_rng_state=False)
    return X


@answers.wrong("not-recomputed-alone")
def nests_checkpoints(layers, X):
    *others, last = layers
    return (
        last(checkpoint(nests_checkpoints, others, X, use_reentrant=False)) if others else last(X)
    )


KEPT = []


@answers.wrong("keeps-more")
def keeps_activations_in_a_list(layers, X):
    KEPT.clear()
    for layer in layers:
        KEPT.append(layer[0](X).detach())
        X = checkpoint(layer, X, use_reentrant=False)
    return X


test_answers = answers.make_test()
