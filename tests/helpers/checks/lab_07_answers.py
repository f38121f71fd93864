"""Right and wrong answers to lab 07, with the hint that each wrong one must get."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from helpers.checks import lab_07
from tests.helpers.checks.collection import Answers

answers = Answers(lab_07)

# Exercise 1: training_bytes(net, states)


def block(nbytes):
    return (nbytes + 511) // 512 * 512


def bytes_of(tensors):
    return sum(block(tensor.nbytes) for tensor in tensors)


@answers.right(1)
def with_two_sums(net, states):
    trained = bytes_of(p for p in net.parameters() if p.requires_grad)
    return bytes_of([*net.parameters(), *net.buffers()]) + (1 + states) * trained


@answers.right(1)
def sums_over_tensors(net, states):
    total = 0
    for parameter in net.parameters():
        copies = 2 + states if parameter.requires_grad else 1
        size = parameter.numel() * parameter.element_size()
        total += copies * 512 * -(-size // 512)
    for buffer in net.buffers():
        total += 512 * -(-buffer.numel() * buffer.element_size() // 512)
    return total


@answers.right(1)
def by_state_dict(net, states):
    sizes = {tensor.data_ptr(): block(tensor.nbytes) for tensor in net.state_dict().values()}
    learned = [block(p.nbytes) for p in net.parameters() if p.requires_grad]
    return sum(sizes.values()) + sum(learned) * (states + 1)


@answers.wrong(1, "not-rounded")
def without_rounding(net, states):
    trained = sum(p.nbytes for p in net.parameters() if p.requires_grad)
    total = sum(t.nbytes for t in [*net.parameters(), *net.buffers()])
    return total + (1 + states) * trained


@answers.wrong(1, "rounded-once")
def rounds_the_sum(net, states):
    return block(without_rounding(net, states))


@answers.wrong(1, "wrong-bytes")
def always_adds_a_block(net, states):
    trained = sum(p.nbytes // 512 + 1 for p in net.parameters() if p.requires_grad)
    blocks = sum(t.nbytes // 512 + 1 for t in [*net.parameters(), *net.buffers()])
    return 512 * (blocks + (1 + states) * trained)


@answers.wrong(1, "different-dtype")
def assumes_four_bytes_per_element(net, states):
    def size(tensor):
        return (tensor.numel() * 4 + 511) // 512 * 512

    trained = sum(size(p) for p in net.parameters() if p.requires_grad)
    everything = sum(size(t) for t in [*net.parameters(), *net.buffers()])
    return everything + (1 + states) * trained


@answers.wrong(1, "trained-changed")
def turns_gradients_off(net, states):
    total = with_two_sums(net, states)
    net.requires_grad_(False)
    return total


@answers.wrong(1, "frozen")
def counts_gradients_of_frozen_parameters(net, states):
    return bytes_of(net.buffers()) + (2 + states) * bytes_of(net.parameters())


@answers.wrong(1, "frozen")
def leaves_out_frozen_parameters(net, states):
    trained = bytes_of(p for p in net.parameters() if p.requires_grad)
    return bytes_of(net.buffers()) + (2 + states) * trained


@answers.wrong(1, "buffers")
def forgets_the_buffers(net, states):
    return with_two_sums(net, states) - bytes_of(net.buffers())


@answers.wrong(1, "buffers")
def counts_gradients_of_buffers(net, states):
    return with_two_sums(net, states) + (1 + states) * bytes_of(net.buffers())


@answers.wrong(1, "net-moved")
def moves_the_network(net, states):
    return with_two_sums(net.to("cuda"), states)


@answers.wrong(1, "counted-twice")
def counts_a_shared_weight_twice(net, states):
    total = 0
    for module in net.modules():
        for parameter in module.parameters(recurse=False):
            total += (2 + states if parameter.requires_grad else 1) * block(parameter.nbytes)
        total += bytes_of(module.buffers(recurse=False))
    return total


@answers.wrong(1, "states")
def forgets_the_states(net, states):
    return with_two_sums(net, 0)


@answers.wrong(1, "states")
def assumes_adam(net, states):
    return with_two_sums(net, 2 if states else 0)


@answers.wrong(1, "wrong-bytes")
def forgets_the_gradients(net, states):
    return with_two_sums(net, states - 1)


@answers.wrong(1, "wrong-bytes")
def counts_numbers_not_bytes(net, states):
    return sum(p.numel() for p in net.parameters()) * (2 + states)


@answers.wrong(1, "not-an-int")
def returns_mebibytes(net, states):
    return with_two_sums(net, states) / 2**20


@answers.wrong(1, "no-result")
def prints_the_bytes(net, states):
    print(with_two_sums(net, states))


# Exercise 2: compute_losses(net, batches)


@answers.right(2)
def under_no_grad(net, batches):
    was_training = net.training
    net.eval()
    losses = []
    with torch.no_grad():
        for X, y in batches:
            losses.append(F.cross_entropy(net(X), y).item())
    net.train(was_training)
    return losses


@answers.right(2)
@torch.no_grad()
def with_a_decorator(net, batches):
    was_training = net.training
    try:
        net.eval()
        return [float(F.cross_entropy(net(X), y)) for X, y in batches]
    finally:
        net.train(was_training)


@answers.right(2)
def in_inference_mode(net, batches):
    was_training = net.training
    with torch.inference_mode():
        net.train(False)
        losses = torch.stack([F.cross_entropy(net(X), y) for X, y in batches]).tolist()
    net.train(was_training)
    return losses


def evaluate(net, batches, number=lambda loss: loss.item()):
    was_training = net.training
    net.eval()
    losses = [number(F.cross_entropy(net(X), y)) for X, y in batches]
    net.train(was_training)
    return losses


@answers.wrong(2, "keeps-graph")
def leaves_the_function_unchanged(net, batches):
    losses = []
    for X, y in batches:
        losses.append(F.cross_entropy(net(X), y))
    return losses


@answers.wrong(2, "keeps-graph")
def only_changes_the_mode(net, batches):
    return evaluate(net, batches, lambda loss: loss)


@answers.wrong(2, "builds-graph")
def takes_items_with_a_graph(net, batches):
    return evaluate(net, batches)


@answers.wrong(2, "not-numbers")
def detaches_each_loss(net, batches):
    return evaluate(net, batches, lambda loss: loss.detach())


@answers.wrong(2, "not-numbers")
def keeps_tensors_under_no_grad(net, batches):
    with torch.no_grad():
        return evaluate(net, batches, lambda loss: loss)


@answers.wrong(2, "in-training-mode")
def leaves_dropout_on(net, batches):
    with torch.no_grad():
        return [F.cross_entropy(net(X), y).item() for X, y in batches]


@answers.wrong(2, "different-losses")
def adds_up_the_examples(net, batches):
    was_training = net.training
    net.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(net(X), y, reduction="sum").item() for X, y in batches]
    net.train(was_training)
    return losses


@answers.wrong(2, "mode-changed")
def stays_in_evaluation_mode(net, batches):
    net.eval()
    with torch.no_grad():
        return [F.cross_entropy(net(X), y).item() for X, y in batches]


@answers.wrong(2, "mode-changed")
def always_returns_to_training(net, batches):
    losses = stays_in_evaluation_mode(net, batches)
    net.train()
    return losses


@answers.wrong(2, "gradients-off")
def turns_gradients_off_permanently(net, batches):
    torch.set_grad_enabled(False)
    return evaluate(net, batches)


@answers.wrong(2, "parameters-frozen")
def freezes_the_network(net, batches):
    net.requires_grad_(False)
    return evaluate(net, batches)


@answers.wrong(2, "not-one-per-batch")
def returns_in_the_loop(net, batches):
    return under_no_grad(net, batches)[:1]


@answers.wrong(2, "not-a-list")
def returns_the_mean(net, batches):
    losses = under_no_grad(net, batches)
    return sum(losses) / len(losses)


@answers.wrong(2, "different-losses")
def rounds_the_losses(net, batches):
    return [round(loss, 2) for loss in under_no_grad(net, batches)]


@answers.right(2)
def computes_in_lower_precision(net, batches):
    with torch.autocast(batches[0][0].device.type, dtype=torch.bfloat16):
        return under_no_grad(net, batches)


# Exercise 3: accumulated_step(net, optimizer, X, y, size)


@answers.right(3)
def with_sums(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.right(3)
def with_weighted_means(net, optimizer, X, y, size):
    optimizer.zero_grad(set_to_none=False)
    for start in range(0, len(X), size):
        part, labels = X[start : start + size], y[start : start + size]
        loss = F.cross_entropy(net(part), labels) * (len(part) / len(X))
        loss.backward()
    optimizer.step()


@answers.right(3)
def with_one_example_at_a_time(net, optimizer, X, y, size):
    net.zero_grad()
    for example, label in zip(X, y, strict=True):
        F.cross_entropy(net(example[None]), label[None]).div(len(X)).backward()
    optimizer.step()


@answers.right(3)
def divides_the_gradients(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        F.cross_entropy(net(part), labels, reduction="sum").backward()
    for parameter in net.parameters():
        parameter.grad /= len(X)
    optimizer.step()


@answers.wrong(3, "too-large")
def takes_the_size_as_the_number_of_parts(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part_X, part_y in zip(X.chunk(size), y.chunk(size), strict=True):
        (F.cross_entropy(net(part_X), part_y, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "too-large")
def takes_the_whole_batch(net, optimizer, X, y, size):
    optimizer.zero_grad()
    F.cross_entropy(net(X), y).backward()
    optimizer.step()


@answers.wrong(3, "too-large")
def ignores_the_size(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.chunk(2), y.chunk(2), strict=True):
        (F.cross_entropy(net(part), labels) / 2).backward()
    optimizer.step()


@answers.wrong(3, "all-activations-kept")
def adds_the_losses_before_backward(net, optimizer, X, y, size):
    optimizer.zero_grad()
    parts = zip(X.split(size), y.split(size), strict=True)
    sums = [F.cross_entropy(net(part), labels, reduction="sum") for part, labels in parts]
    (sum(sums) / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "all-activations-kept")
def keeps_each_graph_after_backward(net, optimizer, X, y, size):
    optimizer.zero_grad()
    losses = []
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        losses.append(F.cross_entropy(net(part), labels, reduction="sum") / len(X))
        losses[-1].backward(retain_graph=True)
    optimizer.step()


@answers.wrong(3, "wrong-scale")
def does_not_divide(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        F.cross_entropy(net(part), labels).backward()
    optimizer.step()


@answers.wrong(3, "wrong-scale")
def divides_by_the_size(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels) / size).backward()
    optimizer.step()


@answers.wrong(3, "uneven")
def weights_all_parts_equally(net, optimizer, X, y, size):
    optimizer.zero_grad()
    parts = list(zip(X.split(size), y.split(size), strict=True))
    for part, labels in parts:
        (F.cross_entropy(net(part), labels) / len(parts)).backward()
    optimizer.step()


@answers.wrong(3, "uneven")
def assumes_full_parts(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels) * size / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "many-steps")
def steps_after_each_part(net, optimizer, X, y, size):
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        optimizer.zero_grad()
        F.cross_entropy(net(part), labels).backward()
        optimizer.step()


@answers.wrong(3, "no-step")
def forgets_the_step(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()


@answers.wrong(3, "different-gradient")
def keeps_old_gradients(net, optimizer, X, y, size):
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "different-gradient")
def zeroes_the_gradients_in_the_loop(net, optimizer, X, y, size):
    for part, labels in zip(X.split(size), y.split(size), strict=True):
        optimizer.zero_grad()
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "not-all")
def drops_the_last_part(net, optimizer, X, y, size):
    optimizer.zero_grad()
    for start in range(0, len(X) - size + 1, size):
        part, labels = X[start : start + size], y[start : start + size]
        (F.cross_entropy(net(part), labels, reduction="sum") / len(X)).backward()
    optimizer.step()


@answers.wrong(3, "not-all")
def trains_on_the_first_part_only(net, optimizer, X, y, size):
    optimizer.zero_grad()
    F.cross_entropy(net(X[:size]), y[:size]).backward()
    optimizer.step()


@answers.wrong(3, "evaluation-mode")
def steps_in_evaluation_mode(net, optimizer, X, y, size):
    net.eval()
    with_weighted_means(net, optimizer, X, y, size)


# Exercise 4: checkpointed(layers, X)


@answers.right(4)
def one_checkpoint_per_layer(layers, X):
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=False)
    return X


@answers.right(4)
def with_functions(layers, X):
    for layer in layers:
        X = checkpoint(lambda x, layer=layer: layer(x), X, use_reentrant=False)
    return X


@answers.right(4)
def without_random_state(layers, X):
    result = X
    for index in range(len(layers)):
        result = checkpoint(layers[index], result, use_reentrant=False, preserve_rng_state=False)
    return result


@answers.right(4)
def with_reentrant_checkpoints_and_input_gradients(layers, X):
    if not X.requires_grad:
        X = X.detach().requires_grad_()
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


@answers.wrong(4, "different-gradients")
def detaches_the_input(layers, X):
    return one_checkpoint_per_layer(layers, X.detach())


@answers.wrong(4, "nothing-recomputed")
def without_checkpoints(layers, X):
    for layer in layers:
        X = layer(X)
    return X


@answers.wrong(4, "recomputed-together")
def one_checkpoint_for_all(layers, X):
    return checkpoint(without_checkpoints, layers, X, use_reentrant=False)


@answers.wrong(4, "not-all-recomputed")
def leaves_out_the_last_layer(layers, X):
    return layers[-1](one_checkpoint_per_layer(layers[:-1], X))


@answers.wrong(4, "not-all-recomputed")
def leaves_out_the_first_layer(layers, X):
    return one_checkpoint_per_layer(layers[1:], layers[0](X))


@answers.wrong(4, "not-all-recomputed")
def in_two_segments(layers, X):
    return checkpoint_sequential(nn.Sequential(*layers), 2, X, use_reentrant=False)


@answers.wrong(4, "wrong-order")
def skips_the_last_layer(layers, X):
    return one_checkpoint_per_layer(layers[:-1], X)


@answers.wrong(4, "different-result")
def always_uses_the_first_input(layers, X):
    for layer in layers:
        result = checkpoint(layer, X, use_reentrant=False)
    return result


@answers.wrong(4, "wrong-order")
def reverses_the_layers(layers, X):
    return one_checkpoint_per_layer(list(layers)[::-1], X)


@answers.wrong(4, "no-gradients")
def with_reentrant_checkpoints(layers, X):
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


@answers.wrong(4, "no-gradients")
def under_no_grad_only(layers, X):
    with torch.no_grad():
        return without_checkpoints(layers, X)


@answers.wrong(4, "different-gradients")
def detaches_in_between(layers, X):
    for layer in layers:
        X = checkpoint(layer, X.detach(), use_reentrant=False)
    return X


ACTIVATIONS = []


@answers.wrong(4, "keeps-more")
def keeps_activations_in_a_list(layers, X):
    ACTIVATIONS.clear()
    for layer in layers:
        ACTIVATIONS.append(layer.inner[0](X).detach())
        X = checkpoint(layer, X, use_reentrant=False)
    return X


@answers.wrong(4, "not-scores")
def returns_a_list(layers, X):
    return [checkpoint(layer, X, use_reentrant=False) for layer in layers]


@answers.wrong(4, "evaluation-mode")
def leaves_layers_in_evaluation_mode(layers, X):
    for layer in layers:
        X = checkpoint(layer.eval(), X, use_reentrant=False)
    return X


@answers.wrong(4, "input-changed")
def makes_the_input_require_gradients(layers, X):
    X.requires_grad_()
    for layer in layers:
        X = checkpoint(layer, X, use_reentrant=True)
    return X


# Exercise 5: train(net, X, y)


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=0.003)


def repeat(step, optimizer, count=20):
    for _ in range(count):
        optimizer.zero_grad()
        step()
        optimizer.step()


@answers.right(5)
def by_smaller_batches(net, X, y):
    optimizer = adam(net)
    for _ in range(5):
        for part, labels in zip(X.split(128), y.split(128), strict=True):
            repeat(lambda s=part, t=labels: F.cross_entropy(net(s), t).backward(), optimizer, 1)


@answers.right(5)
def by_accumulation(net, X, y):
    def step():
        for part, labels in zip(X.chunk(4), y.chunk(4), strict=True):
            (F.cross_entropy(net(part), labels) / 4).backward()

    repeat(step, adam(net))


@answers.right(5)
def by_checkpointing(net, X, y):
    def step():
        F.cross_entropy(one_checkpoint_per_layer(net, X), y).backward()

    repeat(step, adam(net))


@answers.right(5)
def by_lower_precision(net, X, y):
    def step():
        with torch.autocast(X.device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(net(X), y)
        loss.backward()

    repeat(step, adam(net))


@answers.right(5)
def by_fewer_states(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=0.2)
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd)


@answers.wrong(5, "too-much")
def trains_without_changes(net, X, y):
    repeat(lambda: F.cross_entropy(net(X), y).backward(), adam(net))


@answers.wrong(5, "too-much")
def adds_momentum_only(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd)


@answers.wrong(5, "too-much")
def empties_the_cache(net, X, y):
    def step():
        torch.cuda.empty_cache()
        F.cross_entropy(net(X), y).backward()

    repeat(step, adam(net))


@answers.wrong(5, "too-much")
def checkpoints_everything_together(net, X, y):
    def step():
        F.cross_entropy(checkpoint(net, X, use_reentrant=False), y).backward()

    repeat(step, adam(net))


@answers.wrong(5, "too-much")
def keeps_the_graph_of_all_parts(net, X, y):
    def step():
        parts = zip(X.chunk(4), y.chunk(4), strict=True)
        sum(F.cross_entropy(net(part), labels) / 4 for part, labels in parts).backward()

    repeat(step, adam(net))


@answers.wrong(5, "not-learned")
def does_not_train(net, X, y):
    pass


@answers.wrong(5, "not-learned")
def never_steps(net, X, y):
    for _ in range(3):
        for part, labels in zip(X.chunk(4), y.chunk(4), strict=True):
            (F.cross_entropy(net(part), labels) / 4).backward()


@answers.wrong(5, "not-learned")
def learns_too_slowly(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=0.0001)
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd)


@answers.wrong(5, "different-type")
def stays_in_bfloat16(net, X, y):
    net.to(torch.bfloat16)
    repeat(lambda: F.cross_entropy(net(X.bfloat16()).float(), y).backward(), adam(net), 2)


@answers.wrong(5, "net-moved")
def trains_on_the_cpu(net, X, y):
    net.cpu()
    X, y = X.cpu(), y.cpu()
    by_accumulation(net, X, y)


@answers.wrong(5, "not-finite")
def uses_a_huge_learning_rate(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=float("inf"))
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd, 2)
